"""ask, reply and questions: a question, its task and the answer change together."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from gitworker import clock
from gitworker.errors import Conflict, GitWorkerError, Invalid, NotFound, Refused
from gitworker.journal.settle import settle
from gitworker.observe.inbox.read_inbox import read_inbox
from gitworker.observe.workers.show import read_show
from gitworker.questions.ask import ask
from gitworker.questions.question_list import json_questions, read_questions, render_questions
from gitworker.questions.reply import Replied, json_replied, reply
from gitworker.service.service import open_repository
from gitworker.states.question import Question
from gitworker.store.records.runs import find_prompt
from gitworker.workers.cancel import cancel
from gitworker.workers.start import resume, start
from tests.cli.kit import ok, run
from tests.store.support import opened
from tests.workers.world import World, wait_until

KILLED = -9


def asking(world: World, text: str = "Which port?", **options: object) -> Question | None:
    """Ask as auth and wait no time; return the question if it is answered already."""
    session = world.session(identity="auth")
    with contextlib.suppress(Conflict):
        return ask(session, text, **{"wait_s": 0, **options})  # type: ignore[arg-type]
    return None


def answer(world: World, text: str, name: str = "login", number: int | None = None) -> Replied:
    """Answer as hq."""
    return reply(world.session(), name, text, number=number)


def states(world: World) -> list[str]:
    """Return the states of all questions, oldest first."""
    return [row[0] for row in world.query("SELECT state FROM questions ORDER BY id")]


def newest_seq(world: World) -> int:
    """Return the position of the newest message."""
    return int(world.query("SELECT MAX(seq) FROM messages")[0][0])


@pytest.fixture
def auth(world: World) -> World:
    """A worker at work on login."""
    world.spawn("auth", "login", text="Build it")
    start(world.session(), "auth", pid=os.getpid())
    open_repository(str(world.root), identity="auth").ack(newest_seq(world))
    return world


def test_a_question_is_answered(auth: World) -> None:
    """The task waits for the answer, and `ask` returns exactly that."""
    found: list[Question] = []
    service = open_repository(str(auth.root), identity="auth")
    thread = threading.Thread(
        target=lambda: service.ask("Which port?", timeout_s=60, hand_over=found.append)
    )
    thread.start()
    wait_until(lambda: states(auth) == ["open"])
    assert auth.states("auth", "login") == ("WORKING", "WAITING_INPUT")
    replied = open_repository(str(auth.root)).reply("login", "  8080: yes  ")
    thread.join(60)
    assert [one.answer for one in found] == ["  8080: yes  "]
    assert replied.next == "git worker show auth"
    assert json_replied(replied)["task_status"] == "IN_PROGRESS"
    assert auth.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    # the answer was handed over, so neither the inbox nor another `ask` gets it
    assert read_inbox(auth.session(identity="auth")).items == ()
    assert asking(auth) is None
    assert states(auth) == ["answered", "open"]


def test_the_same_words_find_the_question_and_its_answer(auth: World) -> None:
    """A killed `ask` that is repeated asks nothing twice and gets a later answer."""
    assert (asking(auth), asking(auth), states(auth)) == (None, None, ["open"])
    answer(auth, "8080", name="auth")
    inbox = read_inbox(auth.session(identity="auth"))
    assert [(one.kind, one.text) for one in inbox.items] == [("x-answer", "8080")]
    again = asking(auth)
    assert again is not None
    assert (again.answer, again.answered_by) == ("8080", "hq")
    with auth.session().store.read() as reader:
        prompt = find_prompt(reader, "login")
    assert prompt.endswith("- You asked: Which port?\n  The answer: 8080")


@pytest.mark.parametrize("options", [(), ("red", "blue or green")])
def test_an_open_question_is_shown_with_its_command(auth: World, options: tuple[str, ...]) -> None:
    """status, list, show, inbox and `questions` name the command that answers, and it works."""
    asking(auth, "Which?", options=options)
    session = auth.session()
    command = "git worker reply auth <text>"
    wanted, asked = "git worker reply login <text>", "Which?"
    asked += " (red, blue or green)" if options else ""
    service = open_repository(str(auth.root))
    (line,) = service.status().workers
    assert (line.news, line.next_command) == (f"asks: {asked}", command)
    shown = read_show(session, auth.worker("auth"))
    assert (shown.waits_for, shown.next_command) == ("an answer", command)
    assert [one.next_command for one in open_repository(str(auth.root)).list_workers().workers] == [
        command
    ]
    (item,) = read_inbox(session).items
    assert (item.kind, item.text, item.command) == ("question", asked, command)
    listed = read_questions(session)
    (one,) = json_questions(listed)["questions"]
    assert (one["task"], one["worker"], one["state"]) == ("login", "auth", "open")
    assert (one["command"], one["options"]) == (wanted, list(options))
    assert "Which?" in render_questions(listed, width=80, color=False)
    answer(auth, "red")
    assert read_inbox(auth.session()).items == ()
    assert read_questions(auth.session()).questions == ()
    assert render_questions(read_questions(auth.session()), width=80, color=False)


def test_only_an_option_is_an_answer(auth: World) -> None:
    """An answer that is not an option is refused with the list, and changes nothing."""
    asking(auth, "Which?", options=("red", "green"))
    with pytest.raises(Refused) as caught:
        answer(auth, "blue")
    assert caught.value.code == "not_an_option"
    assert "red, green" in caught.value.message
    assert caught.value.hint == "git worker reply login red"
    with pytest.raises(Invalid):
        answer(auth, " \n")
    assert states(auth) == ["open"]
    assert answer(auth, "red\n").question.answer == "red"


@pytest.mark.parametrize("options", [("a", "a"), ("",), ("x" * 201,)])
def test_bad_questions_are_refused(auth: World, options: tuple[str, ...]) -> None:
    """Empty, long and repeated options, and an empty text, are refused before anything is asked."""
    for text, given in (("Which?", options), (" ", ()), ("x" * 20_001, ())):
        with pytest.raises(Invalid):
            ask(auth.session(identity="auth"), text, options=given)
    assert states(auth) == []


def test_only_a_worker_at_work_asks_and_another_answers(auth: World) -> None:
    """hq cannot ask, a worker in review cannot, and the asking worker cannot answer."""
    with pytest.raises(NotFound):
        ask(auth.session(), "Which?", wait_s=0)
    with pytest.raises(Refused) as caught:
        answer(auth, "8080")
    assert caught.value.code == "no_question"
    asking(auth)
    with pytest.raises(Refused) as caught:
        reply(auth.session(identity="auth"), "login", "8080")
    assert caught.value.code == "not_allowed"
    with pytest.raises(NotFound):
        answer(auth, "8080", name="unknown")
    auth.commit("auth", {"a.txt": "a\n"})
    auth.submit("auth")  # the work was finished without the answer
    assert states(auth) == ["withdrawn"]
    assert read_inbox(auth.session()).items[0].kind == "review"
    with pytest.raises(Refused) as caught:
        ask(auth.session(identity="auth"), "Which?", wait_s=0)
    assert caught.value.code == "invalid_transition"


def test_without_an_answer_in_time_the_task_is_paused(auth: World) -> None:
    """A time-out pauses the task until resume_after; a late answer lets it go on at once."""
    with pytest.raises(Conflict) as caught:
        ask(auth.session(identity="auth"), "Which port?", timeout_s=0)
    assert (caught.value.code, caught.value.status) == ("timeout", 3)
    assert (caught.value.hint or "").startswith("git worker resume auth")
    assert auth.states("auth", "login") == ("WORKING", "PAUSED")
    resume_after = auth.task("login").resume_after_ms
    assert resume_after is not None
    assert resume_after > clock.now_ms() + 3_500_000
    (listed,) = json_questions(read_questions(auth.session()))["questions"]
    assert listed["state"] == "late"
    assert read_inbox(auth.session()).items[0].kind == "question"
    replied = answer(auth, "8080")
    assert replied.next == "git worker resume auth"
    assert (auth.task("login").resume_after_ms or 0) <= clock.now_ms()
    resume(auth.session(identity="auth"), "auth")
    assert auth.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    again = asking(auth)
    assert again is not None
    assert again.answer == "8080"


def test_a_late_answer_names_the_command_that_goes_on(auth: World) -> None:
    """Until the paused task continues, each view says that the answer has come."""
    assert asking(auth, timeout_s=0) is None
    asked = "its agent asks: Which port?: git worker reply auth <text>"
    assert ok(auth.root, "task", "why", "login") == f"login: it is paused: {asked}"
    answer(auth, "8080")
    assert auth.states("auth", "login") == ("WORKING", "PAUSED")
    session, words, command = auth.session(), "its question is answered", "git worker resume auth"
    (line,) = open_repository(str(auth.root)).status().workers
    assert (line.news, line.next_command) == (words, command)
    assert read_show(session, auth.worker("auth")).next_command == command
    assert [one.next_command for one in open_repository(str(auth.root)).list_workers().workers] == [
        command
    ]
    (item,) = read_inbox(session).items
    assert (item.kind, item.text, item.command) == ("blocked", words, command)
    why = ok(auth.root, "task", "why", "login")
    assert why == f"login: it is paused: {words}: {command}"
    ok(auth.root, *command.split()[2:])
    assert read_inbox(auth.session()).items == ()
    assert auth.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_a_task_that_goes_on_no_longer_waits(auth: World) -> None:
    """A resumed task withdraws its late question; a cancelled one its open question."""
    asking(auth, timeout_s=0)
    resume(auth.session(identity="auth"), "auth")
    assert states(auth) == ["withdrawn"]
    with pytest.raises(Conflict) as caught:
        ask(
            auth.session(identity="auth"), "Which port?",
            check=lambda: cancel(auth.session(), "auth"),
        )  # fmt: skip
    assert (caught.value.code, caught.value.hint) == ("withdrawn", "git worker show login")
    assert states(auth) == ["withdrawn", "withdrawn"]
    assert read_questions(auth.session()).questions == ()


def test_another_command_ends_the_time_of_a_killed_ask(auth: World) -> None:
    """A question whose `ask` was killed becomes late by the next command after its time."""
    asking(auth, timeout_s=0.05)
    wait_until(lambda: states(settled(auth)) == ["late"])
    assert auth.task("login").status == "PAUSED"


def test_a_question_without_a_limit_gets_that_of_the_next_ask(auth: World) -> None:
    """The same words with a time limit wait that long only, also without a limit before."""
    asking(auth)
    with pytest.raises(Conflict) as caught:
        ask(auth.session(identity="auth"), "Which port?", timeout_s=0)
    assert caught.value.code == "timeout"
    assert (states(auth), auth.task("login").status) == (["late"], "PAUSED")


def settled(world: World) -> World:
    """Return the world after a command has settled it."""
    settle(world.session())
    return world


def test_an_answer_by_a_plain_message_counts(auth: World) -> None:
    """Any client of the bus can answer, by a message in reply to the question."""
    asking(auth)
    asking(auth, "Why?")
    ids = [row[0] for row in auth.query("SELECT message_id FROM questions ORDER BY id")]
    service = open_repository(str(auth.root))
    service.send_note("auth", "8080", reply_to=ids[0])
    service.send("x-note", '{"port": 1}', to="auth", reply_to=ids[1])
    settle(auth.session())
    assert auth.query("SELECT answer, answered_by FROM questions ORDER BY id") == [
        ("8080", "hq"), ('{"port":1}', "hq"),
    ]  # fmt: skip
    assert auth.task("login").status == "IN_PROGRESS"


def test_one_of_several_questions_is_named(auth: World) -> None:
    """With two open questions an answer names one; the task goes on after the last."""
    asking(auth)
    asking(auth, "Why?")
    with pytest.raises(Refused) as caught:
        answer(auth, "8080")
    assert (caught.value.code, caught.value.hint) == (
        "ambiguous", "git worker reply -q 1 login <text>",
    )  # fmt: skip
    assert "2: Why?" in caught.value.detail
    answer(auth, "8080", number=1)
    assert auth.task("login").status == "WAITING_INPUT"
    answer(auth, "Because")
    assert auth.task("login").status == "IN_PROGRESS"
    with pytest.raises(Refused) as caught:
        answer(auth, "x", number=1)
    assert caught.value.code == "no_question"


DRIVER = """
import sys
from gitworker.service.service import open_repository
service = open_repository(sys.argv[1], identity=sys.argv[2])
print(service.ask("Which port?", wait_s=0).answer if sys.argv[2] == "auth"
      else service.reply("login", "8080").question.answer)
"""


def driven(world: World, identity: str, at: str) -> int:
    """Ask as auth, or answer as hq, in a process that is killed at a point; return its status."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(world.root), identity], check=False,
        env={**os.environ, "GITWORKER_CRASH_AT": at}, capture_output=True, timeout=60,
    )  # fmt: skip
    return done.returncode


@pytest.mark.whole
def test_a_kill_loses_neither_question_nor_answer(auth: World) -> None:
    """After a kill at any step, the same command again leads to the same result, once."""
    assert driven(auth, "auth", "question-asked") == KILLED
    assert (asking(auth), states(auth)) == (None, ["open"])
    assert driven(auth, "hq", "answer-recorded") == KILLED
    assert states(auth) == ["open"]
    assert driven(auth, "hq", "answer-committed") == KILLED
    with pytest.raises(Refused):
        answer(auth, "9090")
    again = asking(auth)
    assert again is not None
    assert again.answer == "8080"
    assert len(auth.messages("x-question")) == len(auth.messages("x-answer")) == 1


@pytest.mark.whole
def test_a_kill_after_a_plain_message_counts_it_once(auth: World) -> None:
    """A command that is killed while it takes an answer has taken it wholly, and once."""
    asking(auth)
    ((asked,),) = auth.query("SELECT message_id FROM questions")
    open_repository(str(auth.root)).send_note("auth", "8080", reply_to=asked)
    killed = run(auth.root, "recover", env={"GITWORKER_CRASH_AT": "question-settled"})
    assert killed.status == KILLED
    settle(auth.session())
    assert auth.query("SELECT answer, state FROM questions") == [("8080", "answered")]
    assert auth.task("login").status == "IN_PROGRESS"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM questions", "not deleted"),
        ("UPDATE questions SET text = 'x'", "keeps its words"),
        ("UPDATE questions SET state = 'withdrawn'", "illegal state"),
        ("UPDATE questions SET answer = 'x'", "an answer is given once"),
        ("UPDATE questions SET state = 'lost'", "illegal state"),
        (
            "INSERT OR REPLACE INTO questions (id, task_id, worker_id, text, message_id,"
            " asked_at_ms) VALUES (1, 'a', 'b', 'c', 'd', 1)", "exists already",
        ),
        (
            "INSERT INTO questions (task_id, worker_id, text, message_id, asked_at_ms, state)"
            " VALUES ('a', 'b', 'c', 'd', 1, 'late')", "begins open",
        ),
    ],
)  # fmt: skip
def test_the_table_guards_its_rows(auth: World, statement: str, words: str) -> None:
    """Triggers refuse changed words, a second answer, a wrong state and a deletion."""
    asking(auth)
    answer(auth, "8080")
    with opened(Path(auth.session().paths.database)) as store, pytest.raises(
        (GitWorkerError, apsw.Error)
    ) as caught, store.write():  # fmt: skip
        store.execute(statement)
    assert words in str(caught.value)
