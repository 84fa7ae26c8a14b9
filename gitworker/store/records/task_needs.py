"""The dependencies of tasks, as stored. Triggers count the open ones of each task."""

from collections.abc import Iterable

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need, OpenNeed
from gitworker.store.api import Reader, Writer


def needs_of(reader: Reader, task: str) -> list[Need]:
    """Return the needs of a task by id."""
    return [Need(row["task"], row["until"]) for row in reader.rows("task_needs.of_task", task=task)]


def open_needs_of(reader: Reader, task: str) -> list[OpenNeed]:
    """Return the needs of a task that are neither satisfied nor waived, by id."""
    return [
        OpenNeed(row["id"], row["until"], TaskStatus(row["status"]) if row["status"] else None)
        for row in reader.rows("tasks.open_dependencies", task=task)
    ]


def all_open_needs(reader: Reader) -> dict[str, list[OpenNeed]]:
    """Return the open needs of all tasks that have some."""
    found: dict[str, list[OpenNeed]] = {}
    for row in reader.rows("task_needs.every_open"):
        status = TaskStatus(row["status"]) if row["status"] else None
        found.setdefault(row["task_id"], []).append(OpenNeed(row["id"], row["until"], status))
    return found


def stacked_needs_of(reader: Reader, task: str) -> list[str]:
    """Return the handed-in tasks, not landed yet, on which a task is to be stacked."""
    return [row["task"] for row in reader.rows("task_needs.stacked", task=task)]


def dependents_of(reader: Reader, task: str) -> list[Need]:
    """Return the tasks that need a task, by id, each with the time until which it waits."""
    rows = reader.rows("task_needs.dependents", task=task)
    return [Need(row["task"], row["until"]) for row in rows]


def all_needs(reader: Reader) -> dict[str, list[Need]]:
    """Return the needs of all tasks that have some."""
    found: dict[str, list[Need]] = {}
    for row in reader.rows("task_needs.every"):
        found.setdefault(row["task_id"], []).append(Need(row["depends_on"], row["until"]))
    return found


def leads_to(reader: Reader, task: str, other: str) -> bool:
    """Return whether a task needs another one, directly or not, or is that one."""
    return reader.row("task_needs.leads_to", task=task, other=other) is not None


def change_needs(writer: Writer, task: str, needs: Iterable[Need]) -> bool:
    """Give a task these needs and no others; return whether that changed any."""
    wanted, known = set(needs), set(needs_of(writer, task))
    for need in sorted(known - wanted):
        writer.run("task_needs.delete", task=task, on=need.task)
    insert_needs(writer, task, sorted(wanted - known))
    return wanted != known


def insert_needs(writer: Writer, task: str, needs: Iterable[Need]) -> None:
    """Give a task further needs; a trigger refuses one that it has."""
    for need in needs:
        writer.run("task_needs.insert", task=task, on=need.task, until=need.until)
