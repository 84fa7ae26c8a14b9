"""The global options and the parameter types that commands share."""

import os
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from gitworker import clock
from gitworker.cli.call import CommandLine
from gitworker.cli.command_list import aliases_of
from gitworker.cli.hot.words import SECONDS_MAX, is_number
from gitworker.errors import GitWorkerError, Invalid, Unavailable
from gitworker.model.ids import parse_agent_id, parse_task_id, parse_worker_id
from gitworker.model.ref_names import short_name

if TYPE_CHECKING:
    TextType = click.ParamType[str]
else:
    TextType = click.ParamType  # generic only since click 8.4

NUMBER_MAX = 10**9
HELP = {"help_option_names": ["-h", "--help"]}


class WorkerId(TextType):
    """A worker id, as passed to spawn."""

    name = "worker"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; raise Invalid for anything else."""
        return parse_worker_id(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        """Offer the existing workers."""
        return offer_workers(ctx, param, incomplete)


class TaskId(TextType):
    """A task id."""

    name = "task"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id; raise Invalid for anything else."""
        return parse_task_id(value)


class WorkerName(WorkerId):
    """A name for a worker: its id, its task's id, or its branch."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; raise Invalid if no worker can have it."""
        return parse_worker_name(value)


class SettingKey(TextType):
    """The key of a setting."""

    name = "key"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        """Offer the keys."""
        from gitworker.cli.shell.completion import complete_settings  # 1 ms, for the shell only

        return complete_settings(incomplete)


class Text(TextType):
    """Text from a person: UTF-8, and not only white space."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; raise Invalid if it is blank or not UTF-8."""
        label = param.opts[-1] if param and param.opts else "the text"
        if not value.strip():
            command = ctx.command_path.removeprefix("git worker ") if ctx else ""
            raise Invalid(f"{label} is empty", f"git worker {command} -h".strip(), code="usage")
        return require_utf8(value, label)


class Number(click.IntRange):
    """A number within bounds, and at most NUMBER_MAX, which the database can hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; fail for more than NUMBER_MAX."""
        number = int(super().convert(value, param, ctx))
        if number > NUMBER_MAX:
            self.fail(f"{number} is more than {NUMBER_MAX}.", param, ctx)
        return number


class Tokens(TextType):
    """A number of tokens: 1500, 500k, 2M."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; raise Invalid for another text."""
        from gitworker.model.tokens.budget import parse_tokens  # 1 ms, only for a budget

        return parse_tokens(value)


class Seconds(click.FloatRange):
    """A duration within bounds: neither NaN nor too large to add to a clock."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds; fail if the value is not a duration."""
        seconds = float(super().convert(value, param, ctx))
        if not seconds <= SECONDS_MAX:
            self.fail(f"{value} is not a valid number of seconds.", param, ctx)
        return seconds


class Moment(click.ParamType):  # type: ignore[type-arg,unused-ignore] # as of TextType
    """A moment in the past: an age such as 30m, or a date with a time or without."""

    name = "time"
    units = MappingProxyType({"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800})

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return epoch milliseconds; raise Invalid for another text."""
        number, unit = value[:-1], value[-1:]
        if is_number(number) and unit in self.units:
            return max(0, clock.now_ms() - int(number) * self.units[unit] * 1000)
        found = clock.find_time_ms(value)
        if found is None:
            raise Invalid(
                f"{ascii(value)[:80]} is not a time", "git worker log --since 2h", code="usage"
            )
        return found


class GitworkerCommand(click.Command):
    """A command that also takes the global options after its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", HELP)
        super().__init__(*args, **kwargs)
        self.params += [option for option in global_options() if option.name != "directory"]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the command's aliases, if it has any."""
        aliases = aliases_of(ctx.command_path.removeprefix("git worker "))
        if aliases:
            formatter.write_paragraph()
            formatter.write_text(f"Other names: {', '.join(aliases)}")


def offer_workers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Return the existing workers for a shell that completes a word."""
    from gitworker.cli.shell.completion import complete_workers  # 1 ms, for the shell only

    return complete_workers(incomplete)


def parse_worker_name(text: str) -> str:
    """Return a worker's name; raise Invalid if it is neither an id nor a branch."""
    short = short_name(text)
    worker, slash, task = short.partition("/")
    try:
        if slash:
            parse_agent_id(worker)  # `verifier` was not always reserved
            parse_task_id(task)
        else:
            parse_task_id(short)  # every worker id is also a valid task id
    except GitWorkerError:
        shown = ascii(text)
        shown = shown if len(shown) <= 80 else shown[:60] + "…'"
        raise Invalid(
            f"{shown} is not a valid worker id, task id or branch",
            "git worker list",
        ) from None
    return short


def require_utf8(text: str, label: str) -> str:
    """Return the text; raise Invalid if its bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{label} is not valid UTF-8", code="usage") from None
    return text


def worker_argument(*, required: bool = True) -> Callable[[Any], Any]:
    """Return the argument WORKER: the id, task or branch of an existing worker."""
    return click.argument("worker", type=WorkerName(), required=required)


def global_options() -> list[click.Parameter]:
    """Return fresh copies of the options that every command takes."""
    return [
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            help="Print one JSON document.",
            callback=_set_json,
        ),
        click.Option(
            ["--as", "identity"],
            metavar="ID",
            expose_value=False,
            help="Act as this worker (or hq); default: GITWORKER_ID, the worktree's worker, hq.",
            callback=_set_identity,
            shell_complete=offer_workers,
        ),
        click.Option(
            ["-C", "directory"],
            metavar="DIR",
            expose_value=False,
            help="Run as if started in DIR.",
            callback=_change_directory,
            is_eager=True,
        ),
    ]


def _set_json(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.ensure_object(CommandLine).as_json = True


def _set_identity(ctx: click.Context, _: click.Parameter, identity: str | None) -> None:
    if identity is not None:
        ctx.ensure_object(CommandLine).identity = identity


def _change_directory(_ctx: click.Context, _: click.Parameter, directory: str | None) -> None:
    if directory:
        try:
            os.chdir(directory)
        except OSError as error:
            raise Unavailable(
                f"cannot change to {directory}: {error.strerror}",
                "git worker -C . status",
            ) from error
