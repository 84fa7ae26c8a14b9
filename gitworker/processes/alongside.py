"""Run one function in a thread while the caller works; most of its time is git's."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Alongside(Generic[T]):
    """A function that runs in a thread of its own; it must write nothing."""

    def __init__(self, run: Callable[[], T]) -> None:
        self._run = run
        self._values: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def result(self) -> T:
        """Wait for the end of the function; return its value or raise its error."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._values[0]

    def _work(self) -> None:
        try:
            self._values.append(self._run())
        except Exception as error:  # noqa: BLE001 - `result` raises it
            self._error = error
