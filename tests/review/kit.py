"""A worker in review whose change has several hunks, and the calls of its reviewer and author."""

from gitworker.review.page.page import ReviewPage, read_page
from gitworker.store.reviewing.comments import Comment, comments_of
from gitworker.store.workers import find_worker
from tests.workers.world import World

LINES = [f"line {number}" for number in range(1, 41)]


def text(lines: list[str]) -> str:
    """Return the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def edited(**changes: str) -> str:
    """Return the file with other lines: `l5="new"` replaces line 5, "" removes it."""
    lines = list(LINES)
    for name, line in changes.items():
        lines[int(name[1:]) - 1] = line
    return text([line for line in lines if line])


def begin(world: World) -> None:
    """Bring auth into review with an edit of lines 5 and 30 of a file of 40 lines."""
    world.advance({"code.py": text(LINES)}, "The file")
    world.in_review("auth", "login", {"code.py": edited(l5="five", l30="thirty")})


def page(world: World, identity: str | None = None) -> ReviewPage:
    """Return the page of auth, as a reader sees it."""
    session = world.session(identity=identity)
    with session.store.read() as reader:
        worker = find_worker(reader, "auth")
    assert worker is not None
    return read_page(session, worker)


def comments(world: World) -> list[Comment]:
    """Return the comments on auth's task, drafts included."""
    with world.session().store.read() as reader:
        return comments_of(reader, "auth", "login")
