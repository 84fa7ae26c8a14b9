"""Commands of the user in the main checkout while work lands there."""

from pathlib import Path

from fixtures.agents import user
from tests.concurrency.processes import at_work, exists, require_linear, run_together
from tests.workers.world import World, is_at_work, wait_until


def test_edits_while_work_lands(world: World) -> None:
    """A file that the user keeps editing has the user's last bytes when everything has landed."""
    names = [f"w{number}" for number in range(4)]
    for name in names:
        world.approved(name, f"t-{name}", {name: "1\n"})
    world.advance({"theirs": "1\n"})
    with at_work(world, user.__file__, "edit", "README") as said:
        done = run_together(world, *(("merge", name) for name in names))
    assert [status for status, _ in done] == [0] * 4, done
    assert (world.root / "README").read_text() == f"{said[-1]}\n"
    assert world.git("status", "--porcelain").split() == ["M", "README"]
    assert world.git("stash", "list") == ""
    require_linear(world, names)


def test_clean_while_everything_runs(world: World) -> None:
    """`git clean -fdx` in the main checkout, run again and again, deletes nothing of ours."""
    names = [f"w{number}" for number in range(4)]
    places = {name: world.in_review(name, f"t-{name}", {name: "1\n"}) for name in names}
    world.in_review("kept", "t-kept", {"kept": "1\n"})
    (places["w0"] / "precious").write_text("uncommitted\n")
    with at_work(world, user.__file__, "clean"):
        for verb in ("approve", "merge"):
            done = run_together(world, *((verb, name) for name in names))
            assert [status for status, _ in done] == [0] * 4, done
        # git itself may lose its half-made worktree to the clean: then the spawn fails whole.
        status, errors = run_together(world, ("spawn", "late", "t-late"))[0]
    assert status == 0 or errors.startswith("git_failed: git worktree failed"), errors
    assert ("refs/heads/late/t-late" in world.refs()) is (status == 0)
    # A background job creates the link again.
    wait_until(lambda: not is_at_work(world.root))
    world.git("clean", "-fdxq")
    assert not exists(world.root / ".worker-state")
    assert world.drive("recover_all").returncode == 0
    assert Path(world.root / ".worker-state").resolve() == world.state_dir.resolve()
    assert (world.path("kept") / "kept").read_text() == "1\n"
    wait_until(lambda: not is_at_work(world.root))  # the trees of the others are being deleted
    (tree,) = (world.root / "worktrees").glob(".trash/[!.]*/tree")
    assert (tree / "precious").read_text() == "uncommitted\n"
    require_linear(world, names)
