"""The tasks: a list with their states or the tree of their dependencies; one task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
from gitworker.model.task import TaskStatus
from gitworker.service.outcome_words import Outcome
from gitworker.states.task_machine import has_ended
from gitworker.tui.keys import TASKS
from gitworker.tui.rows.task_rows import TaskKey, shown_task_rows, task_rows, tree_rows
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TASKS_SHOWN = 200
OPEN = tuple(one for one in TaskStatus if not has_ended(one))
VERBS = {
    "hold": "Keep {} from being started", "release": "Let {} be started again",
    "restart": "Put {} back into the queue", "stop": "Stop the work on {}",
    "skip": "Record {} as completed without its work", "cancel": "Withdraw {}",
}  # fmt: skip


class TasksView(View):
    """All tasks that have not ended, or all."""

    KEYS = TASKS
    BINDINGS: ClassVar[list[Any]] = bindings(TASKS)

    def __init__(self) -> None:
        super().__init__()
        self._every = self._is_tree = False
        self._words = ""

    def title_text(self) -> str:
        """Return the name, with the filter if there is one."""
        name = "Graph of tasks" if self._is_tree else "Tasks"
        return f"{name}, only {self._words}" if self._words and not self._is_tree else name

    def read(self, width: int) -> Loaded:
        """Return the list or the tree."""
        del width
        service = self.room.service
        if self._is_tree:
            return Loaded(tree_rows(service.task_graph(every=self._every)))
        words = self._words.split()
        limit = None if words else TASKS_SHOWN
        found = service.list_tasks(() if self._every else OPEN, limit=limit)
        return Loaded(task_rows(found, words=words, now_ms=clock.now_ms()))

    def action_open(self) -> None:
        """Show the task under the cursor."""
        key = self.body.key
        if isinstance(key, TaskKey):
            self.room.push_screen(TaskView(key.task))

    def action_graph(self) -> None:
        """Show the tree of the dependencies, or the list again."""
        self._is_tree = not self._is_tree
        self.load()

    def action_old(self) -> None:
        """Show or hide the tasks that have ended."""
        self._every = not self._every
        self.load()

    def action_filter(self) -> None:
        """Ask for words, and show only the tasks that have them."""
        from gitworker.tui.screens.ask import AskScreen

        heading = ["Show only the tasks with these words in id, title, worker or project"]
        self.room.push_screen(AskScreen(heading, text=self._words), self._end_filter)

    def _end_filter(self, text: str | None) -> None:
        if text is not None:
            self._words, self._is_tree = text, False
            self.load()

    def action_back(self) -> None:
        """Remove the notice, or the filter, or go back."""
        if self.room.outcome is None and self._words:
            self._end_filter("")
            return
        super().action_back()

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the keys of the screen."""
        for one in TASKS:
            yield one.effect.capitalize(), f"key {one.shown}", getattr(self, f"action_{one.action}")


class TaskView(View):
    """One task: its fields, why it does not run, its text, and the tasks around it."""

    STOPS_EVERYWHERE = True

    def __init__(self, task: str) -> None:
        super().__init__()
        self._task_id = task

    def title_text(self) -> str:
        """Return the task."""
        return f"Task {self._task_id}"

    def read(self, width: int) -> Loaded:
        """Return the task and the tree around it."""
        del width
        service = self.room.service
        found = service.show_task(self._task_id)
        return Loaded(shown_task_rows(found, service.task_graph(self._task_id)), found)

    def action_open(self) -> None:
        """Show the other task under the cursor, or else the review of the worker."""
        key = self.body.key
        if isinstance(key, TaskKey) and key.task != self._task_id:
            self.room.push_screen(TaskView(key.task))
        elif self.data is not None and self.data.worker:
            self.room.show_worker(self.data.worker)

    def commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield the changes of the task."""
        for verb, words in VERBS.items():
            yield words.format(self._task_id), "", partial(self._change, verb)

    def _change(self, verb: str) -> None:
        service, name = self.room.service, self._task_id

        def change() -> Outcome:
            if verb in ("hold", "release"):
                service.hold_task(name, held=verb == "hold")
                return Outcome(f"{name} is {'held' if verb == 'hold' else 'released'}")
            changed = getattr(service, f"{verb}_task")(name)
            later = "; its agent was sent the order to stop" if changed.is_ordered else ""
            return Outcome(f"{changed.in_words}{later}")

        self.room.change(f"{verb} {name}", change)
