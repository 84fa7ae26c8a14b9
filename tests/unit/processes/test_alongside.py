"""A function that runs beside its caller."""

import threading

import pytest

from gitworker.processes.alongside import Alongside


def test_the_result_is_the_value_of_the_function() -> None:
    """The function runs in another thread at once, and its value can be read twice."""
    gate = threading.Event()
    found = Alongside(lambda: (gate.wait(60), threading.current_thread()))
    gate.set()
    assert found.result() == found.result()
    waited, thread = found.result()
    assert waited
    assert thread is not threading.current_thread()


def test_the_error_of_the_function_is_raised() -> None:
    """An error is raised where the result is needed, and nowhere else."""
    failing = Alongside(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing.result()
