"""The dependency check: the graph from a task to the tasks it depends on must have no cycle.

Iterative, since a chain of 100,000 tasks is ordinary data and deeper than Python's stack.
"""

from collections.abc import Iterable, Iterator, Mapping

from gitworker.errors import Refused

GRAY, BLACK = 1, 2  # on the current path; finished. A node without a mark was not visited.


class CyclicDependencyError(Refused):
    """A task would depend on itself, directly or through other tasks."""

    code = "cyclic_dependency"

    def __init__(self, cycle: tuple[str, str] | None = None) -> None:
        super().__init__(
            f"{cycle[0]} -> {cycle[1]}" if cycle else "Cyclic dependency detected",
            "git worker list   # remove one dependency of the cycle",
        )
        self.cycle = cycle

    def __reduce__(self) -> tuple[type["CyclicDependencyError"], tuple[object, ...]]:
        """Pickle by the constructor's argument."""
        return type(self), (self.cycle,)


def validate_dag(dependencies: Mapping[str, Iterable[str]]) -> None:
    """Raise CyclicDependencyError with the edge that closes a cycle, if there is one."""
    marks: dict[str, int] = {}
    for root in dependencies:
        if root not in marks:
            _visit(root, dependencies, marks)


def validate_dag_with_new_edge(
    dependencies: Mapping[str, Iterable[str]], task_id: str, depends_on: str
) -> None:
    """Raise CyclicDependencyError if a dependency of `task_id` on `depends_on` closes a cycle.

    The given graph is not changed.
    """
    extended = {task: set(needed) for task, needed in dependencies.items()}
    extended.setdefault(task_id, set()).add(depends_on)
    validate_dag(extended)


def _visit(root: str, graph: Mapping[str, Iterable[str]], marks: dict[str, int]) -> None:
    """Mark every task reachable from `root`, depth first, with an explicit stack."""
    marks[root] = GRAY
    path: list[tuple[str, Iterator[str]]] = [(root, iter(graph.get(root, ())))]
    while path:
        node, rest = path[-1]
        for needed in rest:
            mark = marks.get(needed)
            if mark == GRAY:
                raise CyclicDependencyError((node, needed))
            if mark is None:
                marks[needed] = GRAY
                path.append((needed, iter(graph.get(needed, ()))))
                break
        else:
            marks[node] = BLACK
            path.pop()
