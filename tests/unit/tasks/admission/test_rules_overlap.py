"""A task waits while one runs that changes the same paths."""

from gitworker.tasks.admission.rules_overlap import Area, find_overlap, without_overlaps


def test_tasks_that_meet_start_one_after_another() -> None:
    """A READY task waits for a running one and for an earlier one; without paths none waits."""
    ready = [
        Area("docs", ("docs/**",)), Area("menu", ("src/ui",)), Area("form", ("src/ui/form.py",)),
        Area("free", ()),
    ]  # fmt: skip
    running = [Area("guide", ("docs/guide.md",))]
    assert without_overlaps(ready, running, number=5) == (
        ["menu", "free"], {"docs": "guide", "form": "menu"}
    )  # fmt: skip
    assert without_overlaps(ready, running, number=1) == (["menu"], {"docs": "guide"})


def test_a_pattern_that_is_no_path_meets_itself_only() -> None:
    """A bad pattern in a task stops nothing, and a task does not wait for itself."""
    assert find_overlap(Area("a", ("../x",)), [Area("b", ("src",))]) is None
    assert find_overlap(Area("a", ("../x",)), [Area("b", ("../x",))]) == "b"
    assert find_overlap(Area("a", ("src",)), [Area("a", ("src",))]) is None
