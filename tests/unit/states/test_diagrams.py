"""The generated pages: the committed text equals the text from the tables."""

from pathlib import Path

import pytest

from gitworker.states.diagrams import render_diagram, render_lifecycle_md, render_states_md
from gitworker.states.log.log_rules import RULES
from gitworker.states.log.log_schema import METADATA
from gitworker.states.task_moves import WorkerTaskEvent
from tests.unit.states import tables

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ["states", "lifecycle"])
def test_docs_do_not_drift(name: str) -> None:
    """The page in docs/ is the generated one; `make docs` rewrites it."""
    rendered = {"states": render_states_md, "lifecycle": render_lifecycle_md}[name]()
    page = DOCS / f"{name}.md"
    assert page.read_text(encoding="utf-8") == rendered, "make docs"


def test_a_diagram_is_mermaid() -> None:
    """A diagram begins at the machine's initial state and ends at its final states."""
    assert render_diagram("a", {("a", "b"): "go / run", ("b", "c"): "end"}) == (
        "```mermaid\nstateDiagram-v2\n    [*] --> a\n    a --> b: go / run\n"
        "    b --> c: end\n    c --> [*]\n```\n"
    )


@pytest.mark.parametrize("table", ["WORKER", "TASK", "WORKSTREAM", "AGENT"])
def test_every_row_is_drawn(table: str) -> None:
    """Each row of each machine is on an arrow of the page."""
    arrows = {}
    for text in render_states_md().splitlines():
        step, mark, label = text.strip().partition(": ")
        if " --> " in step and mark:
            arrows[step] = label.split(" / ")
    for start, event, end in tables.rows(getattr(tables, table)):
        assert event in arrows[f"{start} --> {end}"]


def test_every_word_is_explained() -> None:
    """Each event of a worker, metadata key and rule is on its page."""
    states, lifecycle = render_states_md(), render_lifecycle_md()
    for task_event in WorkerTaskEvent:
        assert f"| `{task_event}` |" in states
    for name in (*RULES, *METADATA):
        assert f"| `{name}` |" in lifecycle
