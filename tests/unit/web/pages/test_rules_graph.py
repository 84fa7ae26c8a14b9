"""The places of tasks in the picture."""

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need
from gitworker.tasks.views.rules_graph import GraphTask
from gitworker.web.pages.rules_graph import TASKS_AT_MOST, picture

READY = TaskStatus.READY


def test_picture() -> None:
    """A task is right of those that it needs; a long curve passes between the rows."""
    tasks = [
        GraphTask("a", "", READY, ()), GraphTask("b", "t" * 40, READY, (Need("a", "landed"),)),
        GraphTask("c", "", TaskStatus.COMPLETED, (Need("b", "done"), Need("a", "landed"))),
        GraphTask("d", "", READY, (Need("absent", "landed"),)),
    ]  # fmt: skip
    found = picture(tasks)
    a, b, c, d = found.nodes
    assert a.x < b.x < c.x
    assert (d.x, d.y > a.y) == (a.x, True)
    assert (a.title, b.title[-1], c.kind) == ("ready to start", "…", "done")
    assert [edge.is_dotted for edge in found.edges] == [False, True, False]
    assert " L" in found.edges[2].path
    assert found.width > c.x
    assert picture([]).nodes == ()


def test_the_limit() -> None:
    """Tasks after the limit are counted."""
    tasks = [GraphTask(f"t{at}", "", READY, ()) for at in range(TASKS_AT_MOST + 3)]
    assert picture(tasks).left_out == 3
