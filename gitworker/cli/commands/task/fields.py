"""The options for the fields of a task, which `task add` and `task edit` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitworker.cli.commands.task.text_options import read_text, text_options
from gitworker.cli.options import Number, Seconds, Text, Tokens, require_utf8
from gitworker.tasks.queue.rules_fields import VERIFY_WORDS, TaskFields

if TYPE_CHECKING:
    AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

LISTS = {
    "criteria": "acceptance_criteria",
    "tests": "test_commands",
    "context": "attached_context",
    "paths": "paths",
    "capabilities": "capabilities",
}


def field_options(function: AnyFunction) -> AnyFunction:
    """Add the options for the fields of a task."""
    for option in (
        click.option("--critical/--not-critical", default=None,
                     help="Whether its failure fails its workstream; default: critical."),
        click.option("--workstream", type=Text(), metavar="NAME",
                     help="The workstream that it belongs to."),
        click.option("--agent", metavar="NAME", help="The agent that does it; '' for any."),
        click.option("--capability", "capabilities", type=Text(), multiple=True, metavar="NAME",
                     help="A capability that its agent must have; repeatable."),
        click.option("--budget", type=Tokens(), metavar="TOKENS",
                     help="Stop its agent, and start none, once TOKENS are used; 0: no limit."),
        click.option("--project", metavar="PROJECT", help="Its project; default: default."),
        click.option("--timeout", "timeout_s", type=Seconds(min=0), metavar="S",
                     help="The time limit of one attempt in seconds; 0 for none."),
        click.option("--path", "paths", type=Text(), multiple=True, metavar="PATTERN",
                     help="Files that the task will change; repeatable."),
        click.option("--context", type=Text(), multiple=True, metavar="TEXT",
                     help="More text for the agent, such as a note; repeatable."),
        click.option("--accept", "criteria", type=Text(), multiple=True, metavar="TEXT",
                     help="A condition that defines done; repeatable."),
        click.option("--test", "tests", type=Text(), multiple=True, metavar="CMD",
                     help="A command that tests the work; repeatable."),
        click.option("--requires-approval/--no-approval", default=None,
                     help="Whether a person must approve it; default: no."),
        click.option("--max-retries", type=Number(min=0), metavar="N",
                     help="Retries after a failure; default: task.max-retries."),
        click.option("--verify", type=click.Choice([*VERIFY_WORDS]),
                     help="Verify by tests, by another agent or by a person; default: auto."),
        click.option("--priority", type=click.IntRange(-(10**9), 10**9), metavar="N",
                     help="Lower numbers come first; default: 100."),
        text_options,
        click.option("--title", type=Text(), metavar="TEXT", help="The task's title."),
    ):  # fmt: skip
        function = option(function)
    return function


def read_fields(options: dict[str, Any]) -> TaskFields:
    """Return the fields that the options give; the options that it reads are removed."""
    text = read_text(options.pop("message"), options.pop("file"))
    verify = options.pop("verify")
    timeout_s = options.pop("timeout_s")
    agent = options.pop("agent")
    workstream = options.pop("workstream")
    values = {name: options.pop(name) for name in (
        "title", "priority", "max_retries", "requires_approval", "critical",
    )}  # fmt: skip
    for option, field in LISTS.items():
        values[field] = options.pop(option) or None
    return TaskFields(
        **values,
        text=text,
        verification_type=VERIFY_WORDS[verify] if verify else None,
        timeout_s=None if timeout_s is None else int(timeout_s),
        agent=None if agent is None else require_utf8(agent, "--agent"),
        project_id=options.pop("project"),
        workstream_id=workstream,
        budget_tokens=options.pop("budget"),
    )
