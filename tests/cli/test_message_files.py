"""Messages from a file or standard input, and other forms of words that a user writes first."""

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run

NOTE = b'\nTwo\nlines: $HOME "quoted"\n'
TEXT = 'Two\nlines: $HOME "quoted"'


def test_a_text_from_a_file_or_standard_input(scene: Scene) -> None:
    """-F takes a text whole, as git does: for send, done, reject and fail."""
    worktree = scene.working()
    (worktree / "note").write_bytes(NOTE)
    ok(worktree, "msg", "poll")
    ok(scene.root, "send", "auth", "-F", str(worktree / "note"))
    ok(scene.root, "send", "auth", "-", stdin=NOTE)
    texts = [one["payload"].get("text") for one in run(worktree, "msg", "poll", "--mine").lines]
    assert texts == [TEXT, TEXT]
    ok(worktree, "done", "--commit", "-F", "note")
    assert ok(worktree, "show", "--json").count('\\"quoted\\"')
    ok(scene.root, "reject", "auth", "-F", "-", stdin=NOTE)
    note = run(scene.root, "show", "auth", "--json").document["review"]["note"]
    assert note == TEXT
    ok(worktree, "fail", "-F", "-", stdin=NOTE)
    assert run(scene.root, "fail", "auth").err.startswith("error: Missing option '-m'")
    assert run(scene.root, "send", "auth", "x", "-F", "-").status == 2


def test_words_too_many(scene: Scene) -> None:
    """`sync` takes a worker as other commands do; a word that means an option names it."""
    scene.spawn("auth", "t1")
    assert "auth/t1 is at" in ok(scene.root, "sync", "auth")
    assert "hint: git worker pool --fill\n" in run(scene.root, "pool", "fill").err
    assert "hint: git worker pool -h\n" in run(scene.root, "pool", "all").err
    assert "hint: git worker inbox\n" in run(scene.root, "land").err
