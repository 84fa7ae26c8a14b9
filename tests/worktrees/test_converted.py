"""Bytes that git's conversions strip exist in the worktree alone, and are not deleted with it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures.repos import Content
from gitworker import clock
from gitworker.journal.gc.gc import gc, gc_request, preview_gc
from gitworker.journal.gc.rules_gc import GcRequest
from gitworker.journal.undo.undo import undo
from gitworker.repo.pool.parked import list_parked
from gitworker.workers.cancel import cancel
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from tests.landing.test_merge_cleanup import trashed
from tests.workers.world import World, wait_until

WEEK_S = 7 * 24 * 60 * 60
STORE = """\
#!/bin/sh
# A filter like git-lfs: content goes into a store, git gets its name.
mkdir -p "{store}"
case $1 in
clean) cat >"{store}/new" && name=$(git hash-object "{store}/new") &&
    mv "{store}/new" "{store}/$name" && echo "pointer $name" ;;
smudge) read -r word name && cat "{store}/$name" ;;
esac
"""


@dataclass(frozen=True)
class Case:
    """A conversion: its settings and attributes, and a file as an agent leaves it."""

    content: bytes
    attributes: str = ""
    settings: tuple[str, ...] = ()
    name: str = "nb.txt"
    shared: Mapping[str, str] = field(default_factory=dict)  # files of the repository's directory


STRIP = ("filter.strip.clean=sed -e /OUTPUT/d", "filter.strip.smudge=cat")
NOTEBOOK = b"code\nOUTPUT 42\n"
LOSSY = {
    "a clean filter": Case(NOTEBOOK, "*.txt filter=strip\n", STRIP),
    "a clean filter alone": Case(NOTEBOOK, "*.txt filter=strip\n", STRIP[:1]),
    "a required filter": Case(
        NOTEBOOK, "*.txt filter=strip\n", (*STRIP, "filter.strip.required=1")
    ),
    "a secret of the same length": Case(
        b"key=abc\n", "*.txt filter=hide\n",
        ("filter.hide.clean=sed -e s/abc/xyz/", "filter.hide.smudge=cat"),
    ),
    "attributes of the repository": Case(
        NOTEBOOK, settings=STRIP, shared={"info/attributes": "*.txt filter=strip\n"}
    ),
    "attributes of the user": Case(
        NOTEBOOK, settings=(*STRIP, "core.attributesFile=~/attributes")
    ),
    "an odd name": Case(NOTEBOOK, "*.txt filter=strip\n", STRIP, name='a "b\\\n\té.txt'),
    "ident": Case(b"$Id: my own notes $\n", "*.txt ident\n"),
    "text=auto": Case(b"one\r\ntwo\r\n", "* text=auto\n"),
    "eol": Case(b"one\ntwo\r\n", "*.txt text eol=lf\n"),
    "autocrlf": Case(b"one\r\ntwo\r\n", settings=("core.autocrlf=input",)),
    "a byte order mark": Case(
        b"\xfe\xff" + "code\n".encode("utf-16-be"), "*.txt working-tree-encoding=UTF-16\n"
    ),
}  # fmt: skip
LOSSLESS = {
    "an encoding": Case("code\n".encode("utf-16-be"), "*.txt working-tree-encoding=UTF-16BE\n"),
    "ident": Case(b"$Id$\n", "*.txt ident\n"),
    "text=auto": Case(b"one\ntwo\n", "* text=auto\n"),
    "a binary file": Case(b"\0one\r\ntwo\r\n", "* text=auto\n"),
    "no conversion": Case(b"one\r\ntwo\r\n", "*.txt -text -diff\n*.png binary\n"),
    "carriage returns": Case(b"one\r\ntwo\r\n", "*.txt text eol=crlf\n"),
    "autocrlf": Case(b"one\r\ntwo\r\n", settings=("core.autocrlf=true",)),
    "a filter that strips nothing": Case(b"code\n", "*.txt filter=strip\n", STRIP),
    "a filter without a program": Case(b"code\n", "*.txt filter=none\n"),
    "a store": Case(
        b"large\0content" * 999, "*.txt filter=store\n",
        ("filter.store.clean=~/store.sh clean", "filter.store.smudge=~/store.sh smudge",
         "filter.store.required=true"),
    ),
}  # fmt: skip


def prepare(world: World, case: Case) -> Path:
    """Approve a worker's work on a file that git converts; return its worktree."""
    home = Path(os.environ["HOME"])
    (home / "attributes").write_text("*.txt filter=strip\n")
    (home / "store.sh").write_text(STORE.format(store=home / "store"))
    (home / "store.sh").chmod(0o755)
    for setting in case.settings:
        key, _, value = setting.partition("=")
        world.git("config", "--global", key, value.replace("~", str(home)))
    for name, text in case.shared.items():
        (world.root / ".git" / name).parent.mkdir(exist_ok=True)
        (world.root / ".git" / name).write_text(text)
    files: dict[str, Content] = {case.name: case.content}
    if case.attributes:
        world.advance({".gitattributes": case.attributes})
    place = world.approved("auth", "login", files)
    assert world.git("status", "--porcelain", cwd=place) == ""
    assert (place / case.name).read_bytes() == case.content
    return place


def is_marked(tree: Path) -> bool:
    """Return whether a worktree in the trash waits for its week to end."""
    return (tree.parent / "landed").exists()


@pytest.mark.parametrize("name", LOSSY)
def test_stripped_bytes_are_kept(world: World, name: str) -> None:
    """After a landing a file's stripped bytes stay in the trash, and undo brings them back."""
    place = prepare(world, LOSSY[name])
    world.land("auth")
    (tree,) = trashed(world)
    wait_until(lambda: is_marked(tree))
    assert (tree / LOSSY[name].name).read_bytes() == LOSSY[name].content
    undo(world.session())
    assert (place / LOSSY[name].name).read_bytes() == LOSSY[name].content


@pytest.mark.parametrize("name", LOSSLESS)
def test_bytes_that_a_checkout_would_have_are_deleted(world: World, name: str) -> None:
    """A landed worktree whose bytes a fresh checkout would have is deleted at once."""
    prepare(world, LOSSLESS[name])
    world.land("auth")
    wait_until(lambda: trashed(world) == [])


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_stripped_bytes_behind_a_flag(world: World, flag: str) -> None:
    """A flag of the index does not hide stripped bytes."""
    place = prepare(world, LOSSY["a clean filter"])
    world.git("update-index", flag, "nb.txt", cwd=place)
    world.land("auth")
    (tree,) = trashed(world)
    wait_until(lambda: is_marked(tree))
    assert (tree / "nb.txt").read_bytes() == NOTEBOOK


def write_again(path: Path, text: str) -> None:
    """Write a file of the same size in a later second, its old time kept."""
    before = path.stat()
    path.write_text(text)
    wait_until(lambda: path.write_text(text) and int(path.stat().st_ctime) > before.st_ctime)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path, text: str) -> None:
    """Replace a file by another of the same size and time."""
    other = path.with_name("other")
    other.write_text(text)
    before = path.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ("core.checkStat=minimal", replace),
        ("core.checkStat=minimal", write_again),
        ("core.trustctime=false", write_again),
    ],
)
def test_a_change_that_the_times_do_not_show(
    world: World, setting: str, change: Callable[[Path, str], None]
) -> None:
    """A change of the same size with the old time is found, whatever times git trusts."""
    for one in {setting, "core.trustctime=false"}:
        world.git("config", *one.split("="))
    place = world.approved("auth", "login", {"a": "1\n"})
    os.utime(place / "a", (1_000_000_000, 1_000_000_000))
    world.git("status", cwd=place)
    change(place / "a", "2\n")
    assert world.git("status", "--porcelain", cwd=place) == ""
    world.land("auth")
    world.approved("web", "page", {"b": "1\n"})
    world.land("web")
    wait_until(lambda: not [tree for tree in trashed(world) if "web" in str(tree)])
    (tree,) = trashed(world)
    assert (tree / "a").read_text() == "2\n"


def test_a_week_later_it_is_deleted(world: World) -> None:
    """A later landing deletes a worktree with stripped bytes when its mark is a week old."""
    prepare(world, LOSSY["a clean filter"])
    world.land("auth")
    (tree,) = trashed(world)
    wait_until(lambda: is_marked(tree))
    mark = tree.parent / "landed"
    old = mark.stat().st_mtime - WEEK_S - 120
    os.utime(mark, (old, old))
    world.approved("web", "page", {"b": "1\n"})
    world.land("web")
    wait_until(lambda: trashed(world) == [])


@pytest.mark.parametrize("ending", ["land", "cancel"])
@pytest.mark.parametrize("name", ["a clean filter", "ident", "text=auto"])
def test_gc_keeps_them_for_a_week(
    world: World, name: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gc of any age keeps stripped bytes for a week, names the file, and deletes them later."""
    prepare(world, LOSSY[name])
    if ending == "land":
        world.land("auth")
        wait_until(lambda: is_marked(trashed(world)[0]))
    else:
        cancel(world.session(), "auth")
    gc(world.session(), gc_request(world.session(), days=0))
    held = preview_gc(world.session(), gc_request(world.session(), days=0)).choice.held
    assert [item.holds for item in held if item.kind == "trash"] == [
        f"bytes of {LOSSY[name].name} that git strips, so no ref keeps them"
    ]
    (tree,) = trashed(world)
    assert (tree / LOSSY[name].name).read_bytes() == LOSSY[name].content
    later_ms = clock.now_ms() + (WEEK_S + 60) * 1000
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: later_ms)
    found = preview_gc(world.session(), GcRequest(None, max_bytes=1)).choice
    assert [item.kind for item in found.selected if item.kind == "trash"] == ["trash"]


def test_gc_deletes_bytes_that_a_checkout_would_have(world: World) -> None:
    """gc deletes a cancelled worktree whose files a filter changes without loss."""
    prepare(world, LOSSLESS["a store"])
    cancel(world.session(), "auth")
    gc(world.session(), gc_request(world.session(), days=0))
    assert trashed(world) == []


def test_the_pool_does_not_lend_them(world: World) -> None:
    """A landed worktree with stripped bytes does not become a parked one."""
    world.git("config", "worker.worktree.pool", "1")
    world.git("config", "worker.worktree.reuse", "true")
    prepare(world, LOSSY["a clean filter"])
    world.land("auth")
    keep_pool(world.session())
    for parked in list_parked(open_pool(world.session())):
        assert b"OUTPUT" not in (Path(parked.tree) / "nb.txt").read_bytes()
    (tree,) = trashed(world)
    assert (tree / "nb.txt").read_bytes() == NOTEBOOK
