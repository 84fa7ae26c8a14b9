"""A review on the page: comments at their lines, viewed marks, rounds, and the refusals."""

import re
from urllib.parse import quote

from gitworker.lifecycle.moves import advance
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.observe.inbox.inbox import render_inbox
from gitworker.review.page.shown_changes import key_of
from gitworker.service import Service, open_repository
from gitworker.states.comment_machine import CommentState
from gitworker.store.workers import load_worker, set_stale_from
from tests.web.kit import Answer, Page
from tests.workers.world import World

FILE = "src/login.py"


def row_of(text: str, comment: int) -> str:
    """Return the line of code above a comment, without its colours."""
    before = text[: text.index(f'id="comment-{comment}"')]
    return re.sub("<.*?>", "", re.findall(r'<td class="code">(.*?)</td>', before)[-1])


def add(page: Page, lines: str, text: str, **fields: str) -> Answer:
    """Add a draft on lines of the worker's file."""
    return page.press("/workers/auth/comment", path=FILE, lines=lines, text=text, **fields)


def author(world: World) -> Service:
    """Return the service as the worker uses it."""
    return open_repository(str(world.root), identity="auth")


def inbox_of(world: World) -> str:
    """Return the inbox as the worker reads it."""
    return render_inbox(author(world).inbox(), width=None, color=False)


def test_a_draft_is_at_its_line(world: World, page: Page) -> None:
    """A draft is shown below its last line, and can be changed and deleted there."""
    assert add(page, "1-2", "Why\r\ntrue?").status == 200
    shown = page.see("/workers/auth")
    assert "return True" in row_of(shown, 1)
    assert "1 to send" in re.sub(r"<.?b>", "", shown)
    (stored,) = open_repository(str(world.root)).review_comments("auth").comments
    assert stored.comment.text == "Why\ntrue?"
    changed = page.press("/workers/auth/edit", number="1", text="Why not <b>?")
    assert "Why not &lt;b&gt;?" in changed.text
    assert page.press("/workers/auth/drop", number="1").status == 200
    assert 'id="comment-1"' not in page.see("/workers/auth")


def test_an_answer_is_the_changed_part(world: World, page: Page) -> None:
    """A script gets only the file of the comment, the notice, and the element to show."""
    world.commit("auth", {"other.txt": "x\n"})
    world.submit("auth")
    whole = page.see("/workers/auth")
    (key,) = re.findall(r'id="name-(\w+)"[^>]*>src/login.py', whole)
    done = add(page, "2", "Why?", file=key)
    assert done.text.count('<article class="file"') == 1
    assert f'id="file-{key}"' in done.text
    assert "comment 1 is a draft" in done.text
    assert "comment-1" in done.headers["hx-trigger-after-settle"]
    refused = add(page, "99", "Why?", file=key)
    assert (refused.status, refused.headers["hx-retarget"]) == (400, "#notice")
    assert "src/login.py has 2 lines" in refused.text


def test_without_scripts(page: Page) -> None:
    """A browser without scripts is led back to the comment, or to the file of a mark."""
    forms = {
        "comment": (f"path={quote(FILE)}&lines=2&text=Why", "/workers/auth#comment-1"),
        "viewed": (f"path={quote(FILE)}&file=abc", "/workers/auth#name-abc"),
        "review": ("verdict=commented", "/workers/auth"),
    }
    for verb, (fields, location) in forms.items():
        body = f"csrf={page.csrf}&{fields}".encode()
        answer = page.send("POST", f"/workers/auth/{verb}", body=body)
        assert (answer.status, answer.headers.get("location")) == (303, location)


def test_a_review_in_two_rounds(world: World, page: Page) -> None:
    """Drafts are sent at once, handled by the agent, and resolved or reopened on the page."""
    assert "Changes since your last look" not in page.see("/workers/auth")
    add(page, "1", "Name it sign_in")
    add(page, "2", "Why true?")
    fields = {"verdict": "changes_requested", "tip": world.tip("auth/login")}
    sent = page.press("/workers/auth/review", note="Two remarks", **fields)
    assert "sent back with your request, with 3 comments" in sent.text
    assert world.worker("auth").state is WorkerState.WORKING
    assert "Name it sign_in" in inbox_of(world)
    world.commit("auth", {FILE: "def sign_in():\n    return True\n"})
    author(world).handle_comment(1)
    author(world).handle_comment(2, answer="It is a <stub>")
    world.submit("auth")
    shown = page.see("/workers/auth")
    assert '/workers/auth/rounds/1..2">Changes since your last look' in shown
    assert "return True" in row_of(shown, 2)
    assert "It is a &lt;stub&gt;" in shown
    outdated = shown[shown.index('id="comment-1"') :]
    assert "outdated" in outdated[:400]
    assert ">def login():</pre>" in outdated
    assert "def sign_in" in page.see("/workers/auth/rounds/1..2")
    assert "Changes since your last look" in page.see("/workers/auth")  # also after a reload
    page.press("/workers/auth/resolve", number="1")
    page.press("/workers/auth/reopen", number="2", text="Then say so")
    page.press("/workers/auth/review", verdict="commented")
    assert "Then say so" in inbox_of(world)
    states = {
        one.comment.id: one.comment.state
        for one in open_repository(str(world.root)).review_comments("auth").comments
    }
    assert states[1] is CommentState.RESOLVED
    assert states[2] is CommentState.REOPENED


def test_an_approval_sends_the_drafts(world: World, page: Page) -> None:
    """An approval on the page sends the drafts, too; a refused one sends nothing."""
    add(page, "1", "Nice name")
    seen = world.tip("auth/login")
    world.commit("auth", {"later.txt": "x\n"})
    world.submit("auth")
    assert page.press("/workers/auth/approve", at=seen).status == 409
    drafts = open_repository(str(world.root)).review_comments("auth").comments
    assert [one.comment.state for one in drafts] == [CommentState.DRAFT]
    done = page.press("/workers/auth/approve", at=world.tip("auth/login"))
    assert "auth is approved, with 1 comment" in done.text
    sent = open_repository(str(world.root)).review_comments("auth").comments
    assert [one.comment.state for one in sent] == [CommentState.SENT]


def test_the_size_is_above_the_changes(world: World, page: Page) -> None:
    """The top of the page has the number of files and lines, with a link to the changes."""
    text = re.sub(r"<[^>]*>", "", page.see("/workers/auth"))
    assert "Changes 1 file +2 −0" in text
    world.spawn("docs", "manual")
    world.git("commit", "-q", "--allow-empty", "-m", "Build again", cwd=world.path("docs"))
    world.submit("docs")
    shown = page.see("/workers/docs")
    assert "the commits change no file" in shown
    assert 'id="to-changes"' not in shown


def test_viewed_marks_fold(world: World, page: Page) -> None:
    """A viewed file is folded, and unfolded by the next round that changes it."""
    assert '<details class="body" open>' in page.see("/workers/auth")
    done = page.press("/workers/auth/viewed", path=FILE)
    assert "1 of 1 part viewed" in done.text
    assert '<details class="body" open>' not in page.see("/workers/auth")
    (hunk,) = re.findall(r'name="hunk" value="(\w+)"', done.text)
    assert "0 of 1 part viewed" in page.press("/workers/auth/unviewed", hunk=hunk).text
    assert "1 of 1 part viewed" in page.press("/workers/auth/viewed", hunk=hunk).text
    world.commit("auth", {FILE: "def login():\n    return False\n"})
    world.submit("auth")
    assert '<details class="body" open>' in page.see("/workers/auth")


def test_changes_on_an_older_round(world: World, page: Page) -> None:
    """A mark is refused; a comment is kept, and the page goes on showing its round."""
    (old,) = set(re.findall(r'name="tip" value="(\w+)"', page.see("/workers/auth")))
    world.commit("auth", {FILE: "def login():\n    return False\n"})
    world.submit("auth")
    refused = page.press("/workers/auth/viewed", path=FILE, tip=old)
    assert "round 2 of auth was handed in meanwhile" in refused.text
    added = add(page, "2", "Why?", tip=old)
    assert "comment 1 is a draft" in added.text
    assert "<article" not in added.text
    assert "0 of 1 part viewed" in page.see("/workers/auth")


def test_a_review_that_takes_long(world: World, page: Page) -> None:
    """Work that has waited for long can still be approved, and no agent is offered to start."""
    worker = world.worker("auth")
    with world.session().store.write() as writer:
        set_stale_from(writer, "auth", worker.state)
        advance(writer, load_worker(writer, "auth"), WorkerEvent.REVIEW_TIMEOUT, actor="hq")
    shown = page.see("/workers/auth")
    assert "Approve" in shown
    assert "Start its agent again" not in shown
    tip = re.findall(r'name="at" value="(\w+)"', shown)[0]
    assert "auth is approved" in page.press("/workers/auth/approve", at=tip).text


def test_a_draft_with_other_spaces(world: World, page: Page) -> None:
    """The field of a draft holds its text as it was written."""
    add(page, "2", "Pourquoi\u00a0?\u3000Non")
    assert "Pourquoi\u00a0?\u3000Non</textarea>" in page.see("/workers/auth")


def test_unverified_work_names_the_command(world: World, page: Page) -> None:
    """Work without a verdict names the command that verifies it, if there is something to run."""
    assert "git worker verify" not in page.see("/workers/auth")
    world.git("config", "worker.verify.commands", "true")
    assert "git worker verify auth" in page.see("/workers/auth")


def test_a_mark_sends_no_lines_again(world: World, page: Page) -> None:
    """The answer to a mark leaves out the lines on the screen; a mark on older ones is refused."""
    (tip,) = set(re.findall(r'name="tip" value="(\w+)"', page.see("/workers/auth")))
    kept = page.press("/workers/auth/viewed", path=FILE, tip=tip).text
    assert "hx-preserve></table>" in kept
    assert "def" not in kept
    world.commit("auth", {FILE: "def login():\n    return False\n"})
    world.submit("auth")
    assert page.press("/workers/auth/viewed", path=FILE, tip=tip).status == 409


def test_the_parts_of_a_renamed_file(world: World, page: Page) -> None:
    """The page says that a new name is a part beside the hunks, and folds a large deletion."""
    text = "".join(f"line {number}\n" for number in range(100))
    world.advance({"old.txt": text, "gone.txt": text.upper()})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.git("mv", "old.txt", "new.txt", cwd=world.path("auth"))
    world.git("rm", "-q", "gone.txt", cwd=world.path("auth"))
    world.commit("auth", {"new.txt": text.replace("line 50", "line fifty")})
    world.submit("auth")
    shown = page.see("/workers/auth")
    assert "0 of 4 parts viewed" in shown
    assert "1 hunk and its new name or mode</summary>" in shown
    assert '<details class="body"><summary>1 hunk, large deletion</summary>' in shown


def test_words_that_differ_are_marked(world: World, page: Page) -> None:
    """A line that replaces a similar one has a mark on the words that differ."""
    world.advance({"src/app.py": "print('hello')\nname = load(one, two)\n"})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.commit("auth", {"src/app.py": "print('hello')\nname = load(one, <three>)\n"})
    world.submit("auth")
    shown = re.sub("</?span.*?>", "", page.see("/workers/auth"))
    assert "load(one, <mark>two</mark>)" in shown
    assert "&lt;" in shown[shown.index("load(one, <mark>", shown.index("two</mark>")) :][:40]


def test_a_name_that_is_no_utf8(world: World, page: Page) -> None:
    """A file whose name is not UTF-8 can be marked and commented."""
    name = "b\udcff.txt"
    world.commit("auth", {name: "x\n"})
    world.submit("auth")
    shown = page.see("/workers/auth")
    assert 'value="b%FF.txt"' in shown
    assert "1 of 2 parts viewed" in page.press("/workers/auth/viewed", path="b%FF.txt").text
    done = page.press("/workers/auth/comment", path="b%FF.txt", lines="1", text="x?")
    assert done.status == 200, done.text


REFUSALS = (
    ("review", {"verdict": "commented"}, 409, "there is no draft"),
    ("review", {"verdict": "approved"}, 400, "choose: request changes, or send as comments"),
    ("comment", {"path": FILE, "lines": "2"}, 400, "the text is empty"),
    ("comment", {"path": FILE, "lines": "x", "text": "Why?"}, 400, "is not FILE:LINE"),
    ("comment", {"path": "none", "lines": "1", "text": "Why?"}, 404, "does not exist"),
    ("comment", {"path": "../x", "lines": "1", "text": "Why?"}, 400, "not a path"),
    ("edit", {"number": "1", "text": "x"}, 404, "comment 1 does not exist"),
    ("drop", {"number": "²"}, 400, "no number"),
    ("drop", {"number": "9" * 19}, 400, "no number"),
    ("resolve", {"number": "7"}, 404, "comment 7 does not exist"),
    ("viewed", {}, 400, "no file"),
    ("viewed", {"path": "none"}, 404, "no file or hunk"),
)


def test_refusals(page: Page) -> None:
    """Each change is refused as on the command line; fields that are missing are refused, too."""
    for verb, fields, status, words in REFUSALS:
        refused = page.press(f"/workers/auth/{verb}", **fields)
        assert (refused.status, words in refused.text) == (status, True), (verb, fields, refused)


def test_rounds_that_do_not_exist(page: Page) -> None:
    """A comparison with an unknown round, or of other words, has the command's refusal."""
    assert "Nothing has changed" in page.see("/workers/auth/rounds/1..1")
    assert page.send("GET", "/workers/auth/rounds/4..5").status == 404
    assert page.send("GET", "/workers/auth/rounds/a..b").status == 400
    assert page.send("GET", "/workers/auth/rounds/look").status == 404
    page.see("/workers/auth")
    assert "Nothing has changed" in page.see("/workers/auth/rounds/look")


def test_two_columns(world: World, page: Page) -> None:
    """Side by side, a replaced line shares a row with its new version, until that is changed."""
    world.advance({"old.py": "def one():\n    return False\n\n\ndef old():\n    pass\n"})
    world.in_review("docs", "guide", {"old.py": "def one():\n    return True\n\n\nnew = 1\n"})
    assert 'class="diff"' in page.see("/workers/docs")
    chosen = page.send("GET", "/workers/docs?view=sides")
    assert chosen.headers["set-cookie"].startswith("view=sides;")
    rows = [
        [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", row)]
        for row in re.findall("<tr.*?</tr>", chosen.text)
    ]
    assert ["2", "    return False", "2", "    return True"] in rows
    assert ["5", "def old():", "5", "new = 1"] in rows
    assert ["6", "    pass", "", ""] in rows
    page.cookie = f"{page.cookie}; view=sides"
    added = page.press(
        "/workers/docs/comment", path="old.py", lines="6", side="old", text="Why?",
        file=key_of("old.py"),
    )  # fmt: skip
    for text in (added.text, page.see("/workers/docs")):
        assert '<tr class="said"><td colspan="4">' in text
        assert 'class="diff sides"' in text
    assert 'class="diff"' in page.see("/workers/docs?view=one")


def test_a_request_for_changes_is_for_the_round_on_the_page(world: World, page: Page) -> None:
    """A page from before the first hand-in, and a form without a commit, send no work back."""
    world.working("css", "theme", {"a.css": "a\n"})
    (seen,) = re.findall(r'name="tip" value="(\w+)"', page.see("/workers/css"))
    world.commit("css", {"b.css": "b\n"})
    world.submit("css")
    fields = {"verdict": "changes_requested", "note": "x"}
    assert page.press("/workers/css/review", tip=seen, **fields).status == 409
    assert page.press("/workers/css/review", tip="", **fields).status == 400
    assert world.worker("css").state is WorkerState.IN_REVIEW


def test_a_changed_draft_does_not_mix_two_rounds(world: World, page: Page) -> None:
    """After a newer hand-in the answer to an edit is its notice, without the newer lines."""
    seen = world.tip("auth/login")
    add(page, "1", "Why?")
    world.commit("auth", {FILE: "def login():\n    return False\n"})
    world.submit("auth")
    fields = {"number": "1", "file": key_of(FILE), "tip": seen}
    done = page.press("/workers/auth/edit", text="Why true?", **fields)
    assert "comment 1 is changed" in done.text
    assert "<article" not in done.text
    assert f'name="tip" value="{world.tip("auth/login")}"' in page.see("/workers/auth")


def test_a_comment_on_the_old_name_of_a_file(world: World, page: Page) -> None:
    """A comment on a line before the change of a renamed file uses its old name."""
    world.advance({"old.txt": "".join(f"line {one}\n" for one in range(20))})
    path = world.path("auth")
    world.git("rebase", "-q", "main", cwd=path)
    world.git("mv", "old.txt", "new.txt", cwd=path)
    (path / "new.txt").write_text("".join(f"line {one}\n" for one in range(21)))
    world.git("commit", "-qam", "Rename it", cwd=path)
    world.submit("auth")
    shown = page.see("/workers/auth")
    assert 'name="old_path" value="old.txt"' in shown
    done = page.press(
        "/workers/auth/comment", path="new.txt", old_path="old.txt", side="old", lines="3",
        text="Was this needed?",
    )  # fmt: skip
    assert done.status == 200, done.text


def test_an_open_comment_keeps_its_hunk_open(world: World, page: Page) -> None:
    """A hunk that is viewed begins folded only if each comment on it is resolved."""
    add(page, "1", "Why?")
    page.press("/workers/auth/review", verdict="commented")
    page.press("/workers/auth/viewed", path=FILE)
    service = open_repository(str(world.root))
    assert re.search(r'<details open><summary data-item id="hunk-', page.see("/workers/auth"))
    author(world).handle_comment(1, answer="It is needed.")
    service.resolve_comment(1)
    assert re.search(r'<details><summary data-item id="hunk-', page.see("/workers/auth"))
