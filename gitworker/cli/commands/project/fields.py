"""The options for the fields of a project, which `project add` and `project edit` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitworker.cli.options import Number, Tokens, require_utf8
from gitworker.model.project import RepoSourceType
from gitworker.tasks.projects.rules_project import ProjectFields

if TYPE_CHECKING:
    AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

SOURCES = {one.value.lower(): one for one in RepoSourceType}


def field_options(function: AnyFunction) -> AnyFunction:
    """Add the options for the fields of a project."""
    for option in (
        click.option("--source", type=click.Choice([*SOURCES]),
                     help="The origin of this repository; default: clone if it has a remote."),
        click.option("--notify", metavar="URL",
                     help="The target of its notifications, a URL of Apprise; '' for none."),
        click.option("--budget", type=Tokens(), metavar="TOKENS",
                     help="Start nothing once it has used TOKENS, such as 2M; 0 for no limit."),
        click.option("--max-agents", "agents", type=Number(min=0), metavar="N",
                     help="Run at most N of its agents at once; default: 2."),
        click.option("--weight", type=float, metavar="W",
                     help="Its share of agent time relative to other projects; default: 1."),
        click.option("--name", metavar="TEXT", help="A name for people."),
    ):  # fmt: skip
        function = option(function)
    return function


def read_fields(options: dict[str, Any]) -> tuple[ProjectFields, RepoSourceType | None]:
    """Return the fields that the options give, and the origin of the repository."""
    source = options.pop("source")
    for name in ("name", "notify"):
        if options[name] is not None:
            require_utf8(options[name], f"--{name}")
    return ProjectFields(**options), SOURCES[source] if source else None
