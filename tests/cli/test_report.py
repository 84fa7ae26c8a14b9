"""A bug of ours: status 70 and a report to paste."""

from gitworker import __version__
from tests.cli.conftest import Scene
from tests.cli.kit import run
from tests.hints.following import note

BREAK = {"GITWORKER_CLOCK_MS": "not a number"}


def test_report(scene: Scene) -> None:
    """An uncaught exception ends with 70, the versions and the traceback."""
    scene.spawn("auth", "t1")
    for words in (("status",), ("heartbeat", "auth")):
        answer = run(scene.root, *words, env=BREAK)
        assert (answer.status, answer.out) == (70, ""), words
        assert answer.err.startswith("error: this is a bug in gitworker: ValueError: "), words
        for part in (
            f"command   git worker {' '.join(words)}",
            f"gitworker {__version__}",
            "git       git version ",
            "sqlite    apsw ",
            "Traceback (most recent call last):",
        ):
            assert part in answer.err, (words, part)
        assert "hint: git worker recover   # " in answer.err
    assert run(scene.root, "recover").status == 0
    note("git worker recover", answer.err)


def test_report_as_json(scene: Scene) -> None:
    """With --json the result is a document, and the report is on standard error."""
    scene.spawn("auth", "t1")
    answer = run(scene.root, "status", "--json", env=BREAK)
    assert answer.status == 70
    assert answer.document["error"]["code"] == "internal"
    assert "Traceback" in answer.err
