"""The dependency check."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.errors import Refused
from gitworker.states.dag import CyclicDependencyError, validate_dag, validate_dag_with_new_edge

Graph = dict[str, set[str]]
NODES = st.sampled_from("abcdef")
GRAPHS = st.dictionaries(NODES, st.sets(NODES))


def has_cycle(graph: Graph) -> bool:
    """Return whether tasks remain after removing those without open dependencies."""
    open_tasks = {node: set(needed) for node, needed in graph.items()}
    while free := {node for node, needed in open_tasks.items() if not needed & set(open_tasks)}:
        open_tasks = {node: rest for node, rest in open_tasks.items() if node not in free}
    return bool(open_tasks)


@given(GRAPHS)
def test_finds_exactly_the_graphs_with_a_cycle(graph: Graph) -> None:
    """A graph is refused if and only if its tasks cannot be put in an order."""
    before = copy.deepcopy(graph)
    if has_cycle(graph):
        with pytest.raises(CyclicDependencyError) as caught:
            validate_dag(graph)
        node, needed = str(caught.value).split(" -> ")
        assert needed in graph[node]
    else:
        validate_dag(graph)
    assert graph == before


@given(GRAPHS, NODES, NODES)
def test_new_edge_is_checked_on_a_copy(graph: Graph, task: str, needed: str) -> None:
    """An edge is refused if the graph with it has a cycle, and the graph does not change."""
    before = copy.deepcopy(graph)
    extended = copy.deepcopy(graph)
    extended.setdefault(task, set()).add(needed)
    if has_cycle(extended):
        with pytest.raises(CyclicDependencyError):
            validate_dag_with_new_edge(graph, task, needed)
    else:
        validate_dag_with_new_edge(graph, task, needed)
    assert graph == before


def test_names_the_edge_that_closes_the_circle() -> None:
    """The error's text is the two tasks of the back edge."""
    with pytest.raises(CyclicDependencyError) as caught:
        validate_dag({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert str(caught.value) == "c -> a"
    assert caught.value.cycle == ("c", "a")
    assert isinstance(caught.value, Refused)


def test_a_task_cannot_need_itself() -> None:
    """A loop of one is a cycle."""
    with pytest.raises(CyclicDependencyError, match=r"^a -> a$"):
        validate_dag_with_new_edge({}, "a", "a")


def test_without_a_path_the_text_is_general() -> None:
    """An error without an edge has the general text, also after a pickle."""
    assert str(CyclicDependencyError()) == "Cyclic dependency detected"
    assert str(pickle.loads(pickle.dumps(CyclicDependencyError(("a", "b"))))) == "a -> b"


def test_a_diamond_is_not_a_cycle() -> None:
    """Two paths to one dependency are allowed."""
    validate_dag({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}})


@pytest.mark.parametrize("closed", [False, True])
def test_long_chains_are_ordinary(closed: bool) -> None:
    """A chain of 100,000 tasks is checked without recursion, closed to a circle or not."""
    chain = {str(number): {str(number + 1)} for number in range(100_000)}
    if closed:
        with pytest.raises(CyclicDependencyError, match=r"^99999 -> 0$"):
            validate_dag({**chain, "99999": {"0"}})
    else:
        validate_dag(chain)
