"""The page of a review: evidence, order, comments inline, marks that survive a rebase."""

from typing import Any

import pytest

from gitworker import clock
from gitworker.review.comments.anchors import find_anchors
from gitworker.review.comments.draft import comment
from gitworker.review.compare import compare
from gitworker.review.page.evidence import read_evidence
from gitworker.review.page.page import NO_FILES, read_page
from gitworker.review.page.page_json import json_page
from gitworker.review.page.page_text import render_page
from gitworker.review.page.rules_order import GENERATED
from gitworker.review.viewed_marks import view
from gitworker.store.reviewing.rounds import rounds_of
from tests.cli.kit import ok
from tests.review.kit import LINES, begin, comments, edited, page, text
from tests.workers.world import World, wait_until


def test_a_page_shows_files_by_risk(world: World) -> None:
    """Files in conflict come first, generated ones last and folded; comments are inline."""
    world.advance({
        "code.py": text(LINES), "a.py": "1\n", "gen.txt": "1\n",
        ".gitattributes": "gen.txt linguist-generated\n",
    })  # fmt: skip
    world.working("docs", "guide", {"code.py": edited(l30="of docs")})
    world.in_review(
        "auth", "login", {"code.py": edited(l30="thirty"), "a.py": "2\n", "gen.txt": "2\n"}
    )
    (world.path("auth") / "left.txt").write_text("x")
    comment(world.session(), "auth", "code.py:30", text="why \x1b[31m?")
    comment(world.session(), "auth", "code.py:1", text="outside")
    found = page(world)
    assert [(one.patch.path, one.risks, one.folded) for one in found.files] == [
        ("code.py", ("conflicts with docs",), None), ("a.py", (), None), ("gen.txt", (), GENERATED),
    ]  # fmt: skip
    assert found.evidence.uncommitted == ("left.txt",)
    shown = render_page(found, width=None, color=False)
    assert "\x1b" not in shown
    assert "+thirty\n  ┃ 1 draft: you on code.py:30\n  ┃ why \\x1b[31m?\n" in shown
    assert "  ┃ 2 draft: you on code.py:1\n  ┃ > line 1\n  ┃ outside" in shown
    assert "gen.txt  (+1 -1, generated, folded)" in shown
    data = json_page(found)
    assert [one["number"] for one in data["comments"]] == [1, 2]
    assert data["evidence"]["conflicts"] == [{"name": "docs", "files": ("code.py",)}]


def test_marks_stay_on_unchanged_hunks(world: World) -> None:
    """After a rebase all marks are valid; after an edit of one hunk only its own is lost."""
    begin(world)
    assert view(world.session(), "auth").viewed == 2
    world.advance({"code.py": text(["top", *LINES])})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.submit("auth")
    found = page(world)
    assert found.round.number == 2
    assert found.viewed == set(found.files[0].patch.ids)
    assert compare(world.session(), "auth", "1..2").text == ""
    world.commit("auth", {"code.py": "top\n" + edited(l5="five!", l30="thirty")})
    world.submit("auth")
    found = page(world)
    first, second = found.files[0].patch.hunks
    assert found.viewed == {second.id}
    assert "+five!" in first.lines
    assert "five!" in compare(world.session(), "auth", "2").text


def test_comments_follow_their_lines(world: World) -> None:
    """A comment moves with its lines through later rounds, or is outdated and keeps its words."""
    begin(world)
    for place in ("code.py:30", "code.py:5", "code.py:39-40"):
        comment(world.session(), "auth", place, text="why?")
    comment(world.session(), "auth", "code.py:30", text="old", is_old=True)
    world.advance({"code.py": text(["top", *LINES])})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.submit("auth")
    world.commit("auth", {"code.py": "top\nnext\n" + edited(l5="other", l30="thirty")})
    world.submit("auth")
    session = world.session()
    with session.store.read() as reader:
        rounds = rounds_of(reader, "auth", "login")
    anchors = find_anchors(session.git, comments(world), rounds)
    assert [one.lines and one.lines[1:] for one in anchors] == [(32, 32), None, (41, 42), (31, 31)]
    assert [one.is_outdated for one in anchors] == [False, True, False, False]
    place = anchors[1].comment.place
    assert place is not None
    assert place.quoted == ("five",)
    world.commit("auth", {"code.py": "top\nnext\n" + edited(l5="other")})
    world.submit("auth")
    assert [one.is_outdated for one in page(world).comments] == [True, True, False, True]


def test_the_last_look(world: World) -> None:
    """The changes since a reviewer's last look; nothing without later ones."""
    begin(world)
    session = world.session()
    from_page = page(world)
    assert from_page.round.number == 1
    worker = world.worker("auth")
    read_page(session, worker, records_look=True)
    assert compare(world.session(), "auth").text == ""
    world.commit("auth", {"code.py": edited(l5="five", l30="THIRTY")})
    world.submit("auth")
    found = compare(world.session(), "auth")
    assert (found.old, found.new) == ("your last look", 2)
    assert "THIRTY" in found.text


def test_a_second_look_at_a_round_writes_nothing(world: World) -> None:
    """A reviewer who reads the same round again does not write to the store, so wakes nobody."""
    begin(world)
    read_page(world.session(), world.worker("auth"), records_look=True)
    watcher = world.session().store
    before = watcher.change_mark()
    read_page(world.session(), world.worker("auth"), records_look=True)
    assert watcher.change_mark() == before


def test_a_page_names_the_round_of_the_last_look(world: World) -> None:
    """A page has the number of the round that its reader saw before, also if it is read again."""
    begin(world)
    worker = world.worker("auth")
    assert read_page(world.session(), worker, records_look=True).looked is None
    world.commit("auth", {"code.py": edited(l5="five", l30="THIRTY")})
    world.submit("auth")
    looked = [read_page(world.session(), worker, records_look=True).looked for _ in range(3)]
    assert looked == [1, 1, 1]
    assert "THIRTY" in compare(world.session(), "auth").text
    world.commit("auth", {"code.py": edited(l5="five", l30="thirty")})
    world.submit("auth")
    assert read_page(world.session(), worker, records_look=True).looked == 2
    assert "+thirty" in compare(world.session(), "auth").text


def test_a_round_that_comes_while_another_is_read_was_not_seen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next round is compared with the one that was shown, not with the one that came then."""
    begin(world)

    def hand_in_meanwhile(*arguments: Any) -> Any:
        begun_ms = clock.now_ms()
        wait_until(lambda: clock.now_ms() > begun_ms)
        world.commit("auth", {"code.py": edited(l5="five")})
        world.submit("auth")
        return read_evidence(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("gitworker.review.page.page.read_evidence", hand_in_meanwhile)
        assert read_page(world.session(), world.worker("auth"), records_look=True).round.number == 1
    world.commit("auth", {"code.py": edited(l5="five", l30="thirty")})
    world.submit("auth")
    assert read_page(world.session(), world.worker("auth")).looked == 1


def test_work_that_was_read_before_its_first_round(world: World) -> None:
    """The first round is compared with the commits that were read before it was handed in."""
    world.spawn("auth", "login")
    world.commit("auth", {"code.py": text(LINES)})
    assert read_page(world.session(), world.worker("auth"), records_look=True).round.number == 0
    world.commit("auth", {"code.py": edited(l5="five")})
    world.submit("auth")
    for _ in range(2):
        shown = read_page(world.session(), world.worker("auth"), records_look=True)
        assert (shown.round.number, shown.looked) == (1, None)
        assert "+five" in compare(world.session(), "auth").text


def test_work_without_files(world: World) -> None:
    """A page says that the commits change no file."""
    world.spawn("auth", "login")
    world.git("commit", "-q", "--allow-empty", "-m", "Build again", cwd=world.path("auth"))
    world.submit("auth")
    assert render_page(page(world), width=None, color=False).endswith(f"\n{NO_FILES}")


def test_work_without_a_verify_run(world: World) -> None:
    """The page names the command that verifies the work, and then shows its verdict."""
    world.git("config", "worker.verify.commands", "true")
    begin(world)
    command = "no verify run on this commit: git worker verify auth"
    assert command in ok(world.root, "review", "auth")
    ok(world.root, "verify", "auth")
    assert "verify passed" in ok(world.root, "review", "auth")


def test_odd_files(world: World) -> None:
    """Binary files, modes, links, renames and lines without a newline have ids of their own."""
    world.advance({
        "b": b"\0one", "moved": text(LINES), "run": "x\n", "link": "x\n", "crlf": "a\r\n",
    })  # fmt: skip
    place = world.working("auth", "login", {"b": b"\0two", "crlf": "a\r\nb"})
    world.git("mv", "moved", "new name", cwd=place)
    (place / "run").chmod(0o755)
    (place / "link").unlink()
    (place / "link").symlink_to("run")
    world.git("commit", "-qam", "Odd", cwd=place)
    world.submit("auth")
    found = page(world)
    files = {one.patch.path: one.patch for one in found.files}
    assert set(files) == {"b", "crlf", "new name", "run", "link"}
    assert files["b"].is_binary
    assert files["new name"].change.old_path == "moved"
    assert files["link"].change.status == "T"
    assert all(one.ids for one in files.values())
    assert len({id for one in files.values() for id in one.ids}) == sum(
        len(one.ids) for one in files.values()
    )
    assert files["crlf"].hunks[0].lines[1:] == ("+b", "\\ No newline at end of file")
    shown = render_page(found, width=None, color=False)
    assert "moved → new name" in shown
    assert "mode 100644 → 100755" in shown
