"""The group `git worker`, which imports a command's module only when the command runs."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

from gitworker import __version__
from gitworker.cli.command_list import (
    ALIASES,
    COMMANDS,
    DEFAULTS,
    SUBCOMMANDS,
    SUGGESTIONS,
    WITH_ARGUMENT,
    Sections,
    help_sections,
    module_of,
)
from gitworker.cli.options import HELP, global_options, offer_workers
from gitworker.cli.output import narrate
from gitworker.errors import Invalid
from gitworker.rules_text import quoted

PROGRAM = "git worker"
USAGE = 2
SIMILAR, MISTYPED = (
    0.6,
    0.8,
)  # ratios of difflib: two letters of "cancel" in another order have 0.83
DESCRIPTION = """\
Let many coding agents work on one repository at the same time.

Each worker gets a branch and a worktree of its own. Work reaches the target branch only by review,
rebase and fast-forward. No work of a worker is ever lost.

\b
  cd "$(git worker spawn auth login-form)"   a worktree for worker auth
  git commit -am 'Add the form'              as often as needed
  git worker done                            hand in the work
  git worker diff auth                       review it, from outside
  git worker land auth                       approve it, and land it
"""


class LazyGroup(click.Group):
    """A group that finds its commands in the table of `cli.command_list`."""

    def __init__(
        self, name: str, sections: Sections, *, group: str = "", description: str = ""
    ) -> None:
        super().__init__(
            name,
            help=description,
            context_settings=HELP,
            params=global_options(),
            no_args_is_help=False,
            invoke_without_command=False,
        )
        self.sections = sections
        self.group_name = group

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [name for section in self.sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or return None if it does not exist."""
        name = cmd_name if self.group_name else ALIASES.get(cmd_name, cmd_name)
        if name not in self.list_commands(ctx):
            return None
        if not self.group_name and name in SUBCOMMANDS:
            return _subgroup(name)
        module = import_module(module_of(name, group=self.group_name))
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the words name; suggest similar names if it does not exist."""
        command = self.get_command(ctx, args[0])
        if command is None and self.group_name in WITH_ARGUMENT:
            return self.resolve_command(ctx, [DEFAULTS[self.group_name], *args])
        if command is None and not ctx.resilient_parsing:
            raise _unknown(self.group_name, args, known=self.list_commands(ctx))
        return (command.name if command else None), command, args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer the commands; and the workers, if the group takes the name of one."""
        found: list[Any] = super().shell_complete(ctx, incomplete)
        if self.group_name in WITH_ARGUMENT:
            found += offer_workers(ctx, self.params[0], incomplete)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options; without a command, print the help and exit with the usage status."""
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            if ctx.obj is not None and ctx.obj.as_json:
                path = f"{PROGRAM} {self.group_name}".rstrip()
                raise Invalid(f"{path} needs a command", f"{path} -h", code="usage")
            narrate(ctx.get_help())
            raise click.exceptions.Exit(USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections from the table without importing a command."""
        width = max(len(name) for name in self.list_commands(ctx))
        for title, section in self.sections.items():
            rows = [(name.ljust(width), summary) for name, summary in section.items()]
            with formatter.section(title):
                formatter.write_dl(rows)


def _subgroup(name: str) -> LazyGroup:
    (summary,) = (section[name] for section in COMMANDS.values() if name in section)
    group = LazyGroup(name, SUBCOMMANDS[name], group=name, description=summary)
    if name in DEFAULTS:
        _set_default(group, import_module(module_of(DEFAULTS[name], group=name)).command)
    return group


def _set_default(group: LazyGroup, command: click.Command) -> None:
    """Let a group without a command run this one, with its options."""
    known = {option.name for option in group.params}
    group.params += [
        option
        for option in command.params
        if option.name not in known and isinstance(option, click.Option)
    ]
    group.invoke_without_command = True
    group.callback = _unless_named(command)


def _unless_named(command: click.Command) -> Callable[..., Any]:
    def run(**values: Any) -> Any:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            return context.invoke(command, **values)
        for option in command.params:
            if option.name in values and _is_given(context, option.name):
                raise Invalid(
                    f"{option.opts[-1]} must be behind {context.invoked_subcommand}", code="usage"
                )
        return None

    return run


def _is_given(context: click.Context, option: str) -> bool:
    return context.get_parameter_source(option) is ParameterSource.COMMANDLINE


def near_words(word: str, known: Iterable[str], *, similar: float = SIMILAR) -> list[str]:
    """Return at most three similar words, the most similar first."""
    from difflib import get_close_matches  # 1 ms, only for an unknown word

    return get_close_matches(word, list(dict.fromkeys(known)), n=3, cutoff=similar)


def _unknown(group: str, args: list[str], *, known: list[str]) -> Invalid:
    """Return the error for a word without a command; its hint is the command to use instead."""
    path, words = f"{PROGRAM} {group}".rstrip(), f"{group} {args[0]}".lstrip()
    message = f"there is no command {words!r}"
    hint = SUGGESTIONS.get(words)
    if hint is not None:
        worker = next((quoted(word) for word in args[1:] if word[:1] != "-"), "<worker>")
        return Invalid(message, hint.replace("{worker}", worker), code="usage")
    if not group and _is_worker(args[0]):
        return Invalid(f"{message}: it is a worker", f"{PROGRAM} show {words}", code="usage")
    near = near_words(args[0], known if group else [*known, *ALIASES])
    if not near:
        return Invalid(message, f"{path} -h", code="usage")
    message += f"; did you mean {', '.join(near)}?"
    is_same = sorted(args[0]) == sorted(near[0])  # with letters in another order
    if not is_same and not near_words(args[0], near[:1], similar=MISTYPED):
        return Invalid(message, f"{path} -h", code="usage")  # a word of its own, for another verb
    return Invalid(message, f"{path} {' '.join(map(quoted, [near[0], *args[1:]]))}", code="usage")


def _is_worker(word: str) -> bool:
    from gitworker.cli.shell.completion import complete_workers  # 1 ms, only for an unknown word

    return any(item.value == word for item in complete_workers(word))


GROUP = LazyGroup("git-worker", help_sections(), description=DESCRIPTION)
GROUP.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Print the version.",
        callback=lambda ctx, _, wanted: _print_version(ctx, wanted=wanted),
    )
)


def _print_version(ctx: click.Context, *, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from gitworker.cli.output import answer

        answer(f"git-worker {__version__}")
        ctx.exit()
