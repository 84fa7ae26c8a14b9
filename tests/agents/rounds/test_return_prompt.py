"""The agent of work that was sent back gets the reason as its prompt, also by `resume`."""

from pathlib import Path

from gitworker.agents.rounds.return_prompt import find_return_prompt
from gitworker.review.comments.send import reject
from gitworker.workers.start import resume
from tests.agents.supervised import COMMIT, SupervisedWorker
from tests.cli.kit import ok, run
from tests.workers.world import World

SCRIPT = """\
cat "$GITWORKER_PROMPT_FILE" && printf %s "$1" | cmp - "$GITWORKER_PROMPT_FILE" && echo same
git commit -q --allow-empty -m Work"""


def test_until_the_next_commit(tmp_path: Path) -> None:
    """The prompt has note and task, also after a run without a commit; work at hand has none."""
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "login", title="Add a form")
    world.commit("auth", {"a": "1\n"})
    world.submit("auth")
    assert find_return_prompt(world.session(), world.worker("auth")) is None
    reject(world.session(), "auth", note="Use better names")
    first = find_return_prompt(world.session(), world.worker("auth"))
    assert first is not None
    assert "changes were requested.\n\nUse better names\n" in first
    assert first.endswith("The task was:\n\nAdd a form\n")
    resume(world.session(), "auth", binds_caller=False)
    assert find_return_prompt(world.session(), world.worker("auth")) == first
    world.commit("auth", {"a": "2\n"})
    assert find_return_prompt(world.session(), world.worker("auth")) is None


def test_of_any_command(auth: SupervisedWorker) -> None:
    """`resume` gives the note to a plain command, in its words and in the file."""
    root = auth.world.root
    words = ("sh", "-c", SCRIPT, "sh", "{prompt}")
    ok(root, "cancel", "auth")
    ok(root, "spawn", "docs", "t2", "-m", "Write it", "--", *words)
    ok(root, "reject", "docs", "-m", "Use better names")
    answer = run(root, "resume", "docs")
    assert "changes were requested.\n\nUse better names\n" in answer.out
    assert answer.out.endswith("The task was:\n\nWrite it\nsame\n")
    assert auth.world.worker("docs").state == "IN_REVIEW"


def test_an_answer(auth: SupervisedWorker) -> None:
    """`resume` gives the answer to a question that the ended agent asked, in the prompt."""
    root = auth.world.root
    known = 'grep -q "answer: 80[8]0" "$GITWORKER_PROMPT_FILE"'
    auth.exec(f"if {known}; then {COMMIT}; else git worker ask 'Which port?' --timeout 0; true; fi")
    assert ok(root, "reply", "t1", "8080").endswith("next: git worker resume auth")
    ok(root, "resume", "auth")
    assert auth.world.states("auth", "t1")[0] == "IN_REVIEW"
