"""House rule: a command calls the service; it imports no use case itself."""

from collections.abc import Iterator

from tests.architecture.house import Module, imports, modules, require_clean, snippet

COMMANDS = "gitworker/cli/commands/"
OPEN_ROOMS = {"cli", "clock", "errors", "model", "progress", "rules_text", "service", "session"}
# Functions that only format.
RENDERS = (
    "json_", "render_", "claim_fields", "last_lines", "table", "age_text", "one_line", "describe",
    "listed",
)  # fmt: skip
# Commands that still reach below the service, and the reason. This list only gets shorter.
DIRECT = {
    "msg/request.py": "its payload is read as by `msg send`, from words, a file or standard input",
    "repair/validate.py": "it reads a file and needs no repository",
    "work/heartbeat.py": "it shares its code with the fast path without click",
    "work/repeat_heartbeat.py": "it keeps the connection of the fast path open",
}


def use_cases(module: Module) -> Iterator[str]:
    """Complain about each function that a command imports from a room below the service."""
    for name, statement in imports(module.tree):
        parts = name.split(".")
        if parts[0] != "gitworker" or len(parts) < 3 or parts[1] in OPEN_ROOMS:
            continue
        if parts[-1][0].isupper() or parts[-1].startswith(RENDERS):
            continue  # a type, a constant, or a function that only formats
        yield f"{module.at(statement)}: imports {name}"


def commands() -> list[Module]:
    """Return the files of all commands."""
    return [module for module in modules("gitworker") if module.path.startswith(COMMANDS)]


def test_commands_call_the_service() -> None:
    """A command's file imports no use case."""
    checked = [one for one in commands() if one.path.removeprefix(COMMANDS) not in DIRECT]
    require_clean(use_cases, checked, "add a method to gitworker/service and call it")


def test_the_list_only_gets_shorter() -> None:
    """Every exception is still necessary."""
    found = {one.path.removeprefix(COMMANDS) for one in commands() if list(use_cases(one))}
    assert set(DIRECT) - found == set(), "How to fix: delete these lines of DIRECT"


def test_the_rule_bites() -> None:
    """The rule finds a use case, and accepts types, formatters and the service."""
    assert list(use_cases(snippet("from gitworker.workers.start import start\n")))
    assert list(use_cases(snippet("def f():\n    from gitworker.journal.undo.undo import undo\n")))
    allowed = (
        "from gitworker.workers.approve import NotApproved\n"
        "from gitworker.observe.workers.list import json_list, render_list\n"
        "from gitworker.service.results import to_json\n"
    )
    assert not list(use_cases(snippet(allowed)))
