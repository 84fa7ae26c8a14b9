"""The tables that describe agents: their fields, and the words that they make. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitworker.errors import Invalid

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
ACP = "acp"
STREAMS = ("text", "claude", "codex", "gemini", "opencode", "pi", ACP)
INPUTS = ("", "prompt")
LISTS = ("command", "resume", "env", "version", "probe", "permissions", "budget")
ATTACH = "{attach}"
OPTIONS = "{options}"
BUDGET = "{budget}"
MODEL = "--model"
COMMAND = "{command}"
ATTACHED = ("", "claude", "codex", "qwen", "opencode")
# Of the Agent Client Protocol: the kinds of tools, and our answers to requests for them.
KINDS = (
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other",
)  # fmt: skip
DECISIONS = ("allow", "ask", "deny")
PERMISSION = re.compile(rf"({'|'.join(KINDS)})=({'|'.join(DECISIONS)})")
QUOTED_PATH = re.compile(r"\{toml:([a-z_]+)((?:/[a-z]+)?)\}")


class Adapter(NamedTuple):
    """A known agent; `adapters.toml` explains the fields."""

    name: str
    command: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    input: str = ""
    stream: str = "text"
    attach: str = ""
    env: tuple[str, ...] = ()
    install: str = ""
    version: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    mode: str = ""
    budget: tuple[str, ...] = ()

    @property
    def has_program(self) -> bool:
        """Return whether the table names the program, not the words after `--`."""
        return self.command[0] != OPTIONS

    @property
    def speaks_acp(self) -> bool:
        """Return whether the agent speaks the Agent Client Protocol; a client of ours runs it."""
        return self.stream == ACP

    @property
    def reads_input(self) -> bool:
        """Return whether the prompt is the agent's standard input, or that of our client."""
        return self.input == "prompt" or self.speaks_acp

    @property
    def can_resume(self) -> bool:
        """Return whether the agent can continue a session, as far as is known before."""
        return bool(self.resume) or self.speaks_acp

    @property
    def prompt_words(self) -> tuple[str, ...]:
        """Return the words of a new run, with the prompt if it is the standard input."""
        return (*self.command, "{prompt}") if self.reads_input else self.command

    def client_options(self, session: str | None) -> list[str]:
        """Return the options of our client for an agent that speaks ACP."""
        found = ["--session", session] if session else []
        found += ["--mode", self.mode] if self.mode else []
        return [*found, *(word for one in self.permissions for word in ("--permission", one))]

    def words(
        self,
        *,
        options: Sequence[str],
        session: str | None,
        paths: Mapping[str, str],
        attached: Sequence[str] = (),
        budget_usd: float | None = None,
    ) -> list[str]:
        """Return the words of a run; `session` continues an earlier one, if the agent can.

        `attached` are the words that attach our MCP server and our hooks. With `budget_usd` the
        agent gets its own limit in dollars, unless the options contain one.
        """
        chosen = self.resume if session is not None and self.resume else self.command
        has_own = any(one.partition("=")[0] in self.budget[:1] for one in options)
        budget = () if budget_usd is None or has_own else self.budget
        usd = f"{budget_usd or 0:.2f}"
        inserted = {
            OPTIONS: options, ATTACH: attached,
            BUDGET: [one.replace("{usd}", usd) for one in budget],
        }  # fmt: skip
        return _filled(chosen, inserted, {**paths, "session": session or ""})

    def probe_words(self, command: Sequence[str], paths: Mapping[str, str]) -> list[str]:
        """Return the words that run a command in the agent's sandbox, or the command as it is."""
        return _filled(self.probe or (COMMAND,), {COMMAND: command}, paths)

    def variables(self) -> dict[str, str]:
        """Return the variables that are set unless the caller has set them."""
        return {name: value for name, _, value in (entry.partition("=") for entry in self.env)}


def parse_adapter(
    name: str, table: Mapping[str, object], base: Adapter | None, *, origin: str
) -> Adapter:
    """Return the adapter of a table, which adds to `base` or replaces its fields.

    Raises Invalid, with `origin`, for an unknown field, a value of the wrong type or no command.
    """
    place = f"{origin}: agents.{name}"
    if not NAME.fullmatch(name):
        raise Invalid(f"{place}: the name of an agent is like claude or my-agent")
    values = {field: _checked(place, field, value) for field, value in table.items()}
    adapter = (base or Adapter(name))._replace(**values)  # type: ignore[arg-type]
    if not adapter.command:
        raise Invalid(f"{place} has no command")
    return adapter


def named_model(options: Sequence[str]) -> str | None:
    """Return the model that the options of a run name: `--model NAME` or `--model=NAME`."""
    for at, word in enumerate(options):
        name, equals, value = word.partition("=")
        if name == MODEL:
            return value if equals else next(iter(options[at + 1 :]), None)
    return None


def _checked(place: str, field: str, value: object) -> object:
    if field not in Adapter._fields or field == "name":
        known = ", ".join(Adapter._fields[1:])
        raise Invalid(f"{place} has an unknown field: {field} (known: {known})")
    if field in LISTS:
        if not isinstance(value, list) or not all(type(item) is str for item in value):
            raise Invalid(f"{place}: {field} must be an array of strings")
        if field == "permissions" and not all(PERMISSION.fullmatch(item) for item in value):
            raise Invalid(f"{place}: permissions must have the form KIND=allow, ask or deny")
        return tuple(value)
    if type(value) is not str:
        raise Invalid(f"{place}: {field} must be a string")
    allowed = {"stream": STREAMS, "input": INPUTS, "attach": ATTACHED}.get(field)
    if allowed and value not in allowed:
        names = ", ".join(repr(one) for one in allowed)
        raise Invalid(f"{place}: {field} is {value!r}; it must be one of {names}")
    return value


def _filled(
    words: Sequence[str], lists: Mapping[str, Sequence[str]], paths: Mapping[str, str]
) -> list[str]:
    """Return words with their paths filled; a word of `lists` is replaced by its list."""
    found: list[str] = []
    for word in words:
        if word in lists:
            found.extend(lists[word])
            continue
        filled = QUOTED_PATH.sub(lambda match: _quoted_path(match, paths), word)
        for name, path in paths.items():
            filled = filled.replace(f"{{{name}}}", path)
        found.append(filled)
    return found


def _quoted_path(match: "re.Match[str]", paths: Mapping[str, str]) -> str:
    """Return a path as a string of TOML, which a string of JSON is too."""
    return json.dumps(paths.get(match.group(1), "") + match.group(2), ensure_ascii=False)
