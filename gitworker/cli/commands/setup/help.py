"""git worker help."""

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.group import near_words
from gitworker.cli.options import GitworkerCommand
from gitworker.cli.pages import FORMATS, TOPICS, load_page
from gitworker.errors import Invalid


@click.command("help", cls=GitworkerCommand)
@click.argument("words", nargs=-1, metavar="[TOPIC|COMMAND]")
@click.option(
    "--format", "form", type=click.Choice(FORMATS),
    help="Print a topic as text, as a section for AGENTS.md, or as a skill file.",
)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...], form: str | None) -> None:
    """Explain a topic or a command.

    The topics are agent, the page for coding agents, and protocol, which describes how programs in
    other languages join the bus. For a command, prints the same text as its -h.

    \b
      git worker help agent
      git worker help agent --format agents-md >> AGENTS.md
      git worker help agent --format skill > SKILL.md
      git worker help protocol
      git worker help msg send
    """
    call: CommandLine = ctx.obj
    topic = " ".join(words)
    if topic in TOPICS:
        text = load_page(topic, form or "text")
    elif form is not None:
        raise Invalid("--format requires a topic", "git worker help agent", code="usage")
    else:
        text = _explanation(ctx, words)
    if call.as_json:
        output.document({"topic": topic, "text": text})
    else:
        output.answer(text)


def _explanation(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return a command's own help; without words, the main help and the topics."""
    root = ctx.find_root()
    context, found = root, root.command
    for word in words:
        inner = found.get_command(context, word) if isinstance(found, click.Group) else None
        if inner is None:
            raise Invalid(_unknown(found, context, word), "git worker help", code="usage")
        context = click.Context(inner, info_name=inner.name, parent=context, obj=ctx.obj)
        found = inner
    text = found.get_help(context)
    if words:
        return text
    topics = "\n".join(f"  {name:<12}{summary}" for name, summary in TOPICS.items())
    return f"{text}\n\nTopics (git worker help TOPIC):\n{topics}"


def _unknown(found: Any, context: click.Context, word: str) -> str:
    is_group = isinstance(found, click.Group)
    known = found.list_commands(context) if is_group else []
    near = near_words(word, [*known, *TOPICS] if context.parent is None else known)
    return f"there is no topic or command {word!r}" + (
        f"; did you mean {', '.join(near)}?" if near else ""
    )
