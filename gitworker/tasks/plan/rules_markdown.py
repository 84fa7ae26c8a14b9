"""A plan in Markdown: a checklist, one task each item. Pure.

    - [ ] form: Build the login form (priority: 10)
    - [ ] styles: Style it (needs: form)
      test: make test
      The text of the task, indented, for its agent.

An item without `id:` gets an id of its title. Lines of fields may follow the item. A ticked item is
done. Other lines, nested checklists and blocks of code at the margin are no tasks. `workstream: ID`
between two lines `---` at the top is for all tasks.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from textwrap import dedent
from typing import Any, NamedTuple

from gitworker.errors import GitWorkerError
from gitworker.model.ids import TASK_CHARS
from gitworker.tasks.plan.rules_plan import (
    KEYS,
    LISTS,
    PlannedTask,
    at_line,
    id_of,
    in_workstream,
    planned_task,
    without_ticked,
)

FIELD_KEYS = frozenset(KEYS) - {"id", "title", "text"}
_NAMES = "|".join(sorted(map(re.escape, FIELD_KEYS)))
_FIELDS = re.compile(rf"\(\s*(?:{_NAMES})\s*:", re.IGNORECASE)
_NEXT_FIELD = re.compile(r";(?=\s*[A-Za-z_-]+\s*:)")  # another `;` belongs to a command
_LAST_GROUP = re.compile(r"\(\s*([A-Za-z_-]+)\s*:[^()]*\)\.?$")
_LINE_KEY = re.compile(r"\s*([A-Za-z_-]+)\s*:(?![:/])")
_MARKED = re.compile(r"(\*+|_+|`+)(.+)\1")
NEARLY = 0.8  # how alike a word and the name of a field are
REPEATED = frozenset({*LISTS, "needs"})
BULLETS = ("-", "*", "+")
BOXES = ("[ ]", "[x]", "[X]")
FENCES = ("```", "~~~")
MARKS = "*_`"
RULE = "---"  # begins and ends the front matter


class _Item(NamedTuple):
    line: int
    words: str
    is_ticked: bool
    below: list[str]


def parse_markdown(text: str) -> list[PlannedTask]:
    """Return the tasks of a checklist, without the ticked ones; raise Invalid, naming the line."""
    tasks: list[PlannedTask] = []
    ticked: list[str] = []
    for item in _items(text):
        values = _values(item)
        if item.is_ticked:
            ticked.append(_ticked_id(item, values))
        else:
            tasks.append(planned_task(item.line, values))
    return in_workstream(without_ticked(tasks, ticked), _workstream(text))


def _workstream(text: str) -> str | None:
    """Return the workstream that the front matter names: `workstream: NAME` between two `---`."""
    head, *lines = [line.rstrip() for line in _lines(text)]
    if head != RULE or RULE not in lines:
        return None
    for line in lines[: lines.index(RULE)]:
        key, colon, value = line.partition(":")
        if key.strip() == "workstream" and colon:
            return value.strip().strip("'\"")
    return None


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def _ticked_id(item: _Item, values: dict[str, Any]) -> str:
    try:
        return id_of(values)
    except GitWorkerError as error:
        raise at_line(item.line, error.message) from None


def _items(text: str) -> list[_Item]:
    """Return the items at the margin, each with the indented lines below it."""
    found: list[_Item] = []
    below: list[str] | None = None  # of the item at hand; None outside one
    fence = ""
    for number, line in enumerate(_lines(text), 1):
        if fence:
            fence = "" if line.startswith(fence) else fence
            continue
        if line[:1] in (" ", "\t") or not line:
            if below is not None:
                below.append(line)
            continue
        below = None
        if line.startswith(FENCES):
            fence = line[:3]
        item = _item(number, line)
        if item is not None:
            found.append(item)
            below = item.below
    return found


def _item(number: int, line: str) -> _Item | None:
    bullet, _, rest = line.partition(" ")
    is_numbered = bullet[-1] in ".)" and bullet[:-1].isdecimal()
    rest = rest.strip()
    if not (bullet in BULLETS or is_numbered) or not rest.startswith(BOXES):
        return None
    return _Item(number, rest[3:].strip(), not rest.startswith(BOXES[0]), [])


def _values(item: _Item) -> dict[str, Any]:
    words, fields = _without_fields(item.line, item.words)
    head, colon, title = words.partition(":")
    name = head.strip().strip(MARKS)
    if colon and name and TASK_CHARS.issuperset(name):
        fields |= {"id": name, "title": _unmarked(head.strip(), title.strip())}
    else:
        fields["title"] = words
    text, number = "", item.line
    lines = list(item.below)
    while lines and (field := _field(lines[0])) is not None:
        number += 1
        _set(fields, number, *field)
        lines.pop(0)
    if lines:
        _require_no_typo(number + 1, _LINE_KEY.match(lines[0]))
    text = dedent("\n".join(lines)).strip("\n").rstrip()
    if not fields["title"] and not text:
        raise at_line(item.line, "the item has no title")
    return fields | ({"text": text} if text else {})  # without one a known task keeps its own


def _unmarked(head: str, title: str) -> str:
    """Return a title without the marks that surround it, or that begin before the id in front."""
    opening = head[: len(head) - len(head.lstrip(MARKS))]
    closing = opening[::-1]
    if closing and not head.endswith(closing):  # `**id:** title` or `**id: title**`
        is_closed = title.startswith(closing)
        title = (title.removeprefix if is_closed else title.removesuffix)(closing).strip()
    marked = _MARKED.fullmatch(title)
    return title if marked is None or marked[1][0] in marked[2] else marked[2].strip()


def _without_fields(line: int, words: str) -> tuple[str, dict[str, Any]]:
    """Return the words without their fields `(needs: a, b; priority: 10)` at the end."""
    fields: dict[str, Any] = {}
    begin = _FIELDS.search(words)
    if begin is None:
        _require_no_typo(line, _LAST_GROUP.search(words))
        return words, fields  # any other text in parentheses belongs to the title
    start = begin.start()
    if _closing(words, start) not in (None, len(words) - 1) or not words.endswith(")"):
        raise at_line(
            line,
            "fields in parentheses must be one group at the end, or each on a line below the item",
        )
    for part in _NEXT_FIELD.split(words[start + 1 : -1]):
        key, _, value = part.partition(":")
        name = key.strip().lower()
        if name not in FIELD_KEYS:
            raise at_line(line, f"{ascii(key.strip())[:40]} is not a field: {_known()}")
        _set(fields, line, name, value.strip())
    return words[:start].rstrip(), fields


def _closing(words: str, start: int) -> int | None:
    """Return the place of the parenthesis that closes the one at `start`, or None."""
    depth = 0
    for place in range(start, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place], 0)
        if depth == 0:
            return place
    return None


def _require_no_typo(line: int, found: re.Match[str] | None) -> None:
    """Raise Invalid if a word is meant as the name of a field, because it is nearly one."""
    near = get_close_matches(found[1].lower(), FIELD_KEYS, 1, NEARLY) if found else []
    if found and near:
        raise at_line(line, f"{ascii(found[1])[:40]} is not a field; did you mean {near[0]}?")


def _field(line: str) -> tuple[str, str] | None:
    key, colon, value = line.strip().partition(":")
    key = key.lower()
    return (key, value.strip()) if colon and key in FIELD_KEYS else None


def _set(fields: dict[str, Any], line: int, key: str, value: str) -> None:
    if not value:
        raise at_line(line, f"{key} has no value")
    if key in REPEATED:
        fields.setdefault(key, []).append(value)
    elif key in fields:
        raise at_line(line, f"{key} is given twice")
    else:
        fields[key] = value


def _known() -> str:
    return ", ".join(sorted(FIELD_KEYS))
