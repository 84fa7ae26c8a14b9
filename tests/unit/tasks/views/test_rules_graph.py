"""The graph of tasks as text."""

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need
from gitworker.tasks.views.rules_graph import (
    GraphTask,
    chosen_tasks,
    mermaid_lines,
    tree_lines,
)

S = TaskStatus
TASKS = [
    GraphTask("a", "Form", S.COMPLETED, ()),
    GraphTask("b", "", S.IN_PROGRESS, (Need("a"),)),
    GraphTask("c", 'Say "hi"', S.READY, (Need("a", "done"),)),
    GraphTask("d", "", S.DEFINED, (Need("a"), Need("b"), Need("lost"))),
    GraphTask("z", "", S.CANCELLED, ()),
]


def test_the_tree() -> None:
    """Each task is drawn once, below the last task that it needs."""
    assert tree_lines(TASKS) == [
        "a  completed  Form",
        "  b  in progress",
        "    d  waits for other tasks  (needs a, b, lost)",
        '  c  ready to start  Say "hi"',
        "z  cancelled",
    ]


def test_a_long_chain() -> None:
    """A chain of 20,000 tasks has one line each, and its indentation has an end."""
    chain = [
        GraphTask(f"t{i}", "", S.DEFINED, (Need(f"t{i - 1}"),) if i else ()) for i in range(20_000)
    ]
    lines = tree_lines(chain)
    assert len(lines) == 20_000
    assert max(map(len, lines)) < 100


def test_the_choice() -> None:
    """Without `every` ended tasks are left out; with a root only the tasks around it are drawn."""
    names = [task.id for task in chosen_tasks(TASKS, root=None, every=False)]
    assert names == ["b", "c", "d"]
    assert len(chosen_tasks(TASKS, root=None, every=True)) == 5
    assert [task.id for task in chosen_tasks(TASKS, root="d", every=False)] == ["a", "b", "d"]
    assert [task.id for task in chosen_tasks(TASKS, root="b", every=False)] == ["a", "b", "d"]


def test_mermaid() -> None:
    """A diagram has a node for each task and an arrow for each need; labels are escaped."""
    lines = mermaid_lines(TASKS)
    assert lines[:4] == [
        "graph TD",
        '  t0["a: Form"]:::done',
        '  t1["b"]:::work',
        '  t2["c: Say #34;hi#34;"]:::ready',
    ]
    assert "  t0 --> t1" in lines
    assert "  t0 -.-> t2" in lines
    assert lines[-1].startswith("  classDef")
