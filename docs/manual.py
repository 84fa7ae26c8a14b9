"""The manual pages, made from docs/commands.md: git-worker(1) and one page for each command.

hatchling runs `build` for every wheel, so no page is committed. Only the standard library is
needed: the build environment has none of our dependencies. The text of an option or a paragraph is
filled by roff, so that a page fits any width.
"""

import re
from collections.abc import Iterator
from pathlib import Path

PROGRAM = "git worker"
SECTION = "share/man/man1"
FENCED = re.compile(r"^(?:## (?P<name>[^\n]+)\n\n)?```text\n(?P<text>.*?)^```$", re.M | re.S)
# A term, and the text behind it or on the next lines.
ENTRY = re.compile(r"^  (?P<term>\S+(?: \S+)*)(?:  +(?P<text>.*))?$")
EXIT_STATUSES = (
    ("0", "done"),
    ("1", "refused or failed"),
    ("2", "wrong usage"),
    ("3", "conflict: a rebase conflict or a lost race; a retry or a manual fix may help"),
    ("4", "not found"),
    ("70", "a bug in gitworker, with a report to paste"),
    ("130", "interrupted"),
)


def render_pages(commands: str, version: str) -> dict[str, str]:
    """Return every page and alias by its file name; `commands` is the text of docs/commands.md."""
    helps = {
        found["name"] or PROGRAM: found["text"].rstrip() for found in FENCED.finditer(commands)
    }
    pages = {}
    for name, text in helps.items():
        page = _page(name)
        pages[f"{page}.1"] = "\n".join(_render(name, text, version)) + "\n"
        if name != PROGRAM:  # `git help worker-spawn` looks for this name, as for gitignore
            pages[f"{page.replace('-', '', 1)}.1"] = f".so man1/{page}.1\n"
    return pages


def build(root: Path, target: Path, version: str) -> dict[str, str]:
    """Write the pages below `target`; return each one's path with its place in the wheel."""
    pages = render_pages((root / "docs" / "commands.md").read_text("utf-8"), version)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (target / name).write_text(text, "utf-8")
    return {str(target / name): f"{SECTION}/{name}" for name in pages}


def _render(name: str, text: str, version: str) -> Iterator[str]:
    usage, _, rest = text.partition("\n")
    parts = re.split(r"^(\S[^\n]*):\n", rest, flags=re.M)
    paragraphs = [part for part in parts[0].split("\n\n") if part.strip()]
    title = _page(name).upper()
    yield f'.TH "{_escaped(title)}" 1 "" "gitworker {version}" "Git Manual"'
    yield from (".ad l", ".nh")  # text can be copied as it is: not justified, no hyphens
    yield from (".SH NAME", f"{_escaped(_page(name))} \\- {_escaped(_summary(paragraphs[0]))}")
    yield from (".SH SYNOPSIS", f"\\fB{_escaped(name)}\\fR{_escaped(_arguments(usage, name))}")
    yield ".SH DESCRIPTION"
    for paragraph in paragraphs if name == PROGRAM else paragraphs[1:]:
        yield from _paragraph(paragraph)
    is_main = name == PROGRAM
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        if heading == "Options":
            yield ".SH OPTIONS"
            yield from _entries(body)
            continue
        if is_main and heading == parts[3]:
            yield ".SH COMMANDS"
        yield f'.S{"S" if is_main else "H"} "{_escaped(heading if is_main else heading.upper())}"'
        yield from _entries(body, group=name)
    other_names = re.search(r"^Other names: (.+)$", text, re.M)
    if other_names is not None:
        yield from (".SH OTHER NAMES", _line(other_names[1]))
    if is_main:
        yield ".SH EXIT STATUS"
        for status, meaning in EXIT_STATUSES:
            yield from (".TP", f".B {status}", _line(meaning))
    yield ".SH SEE ALSO"
    others = ["git-worktree", "git-rebase"] if is_main else [_page(PROGRAM)]
    yield ", ".join(f"\\fB{_escaped(other)}\\fR(1)" for other in others)


def _entries(body: str, *, group: str = "") -> Iterator[str]:
    """Yield terms with their texts; the terms of a group are commands with a page of their own."""
    term, texts = "", []
    for line in [*body.splitlines(), ""]:
        found = ENTRY.match(line)
        if line.startswith("   ") and term:
            texts.append(line.strip())
        elif found or not line:
            if term:
                shown = f"{_page(f'{group} {term}')}(1)" if group else term
                yield from (".TP", f"\\fB{_escaped(shown)}\\fR", _line(_joined(texts)))
            term = found["term"] if found else ""
            texts = [found["text"]] if found and found["text"] else []


def _paragraph(text: str) -> Iterator[str]:
    """Yield a paragraph: filled, or line by line if it is an example."""
    lines = text.strip("\n").splitlines()
    if not lines[0].startswith("    "):
        yield from (".PP", _line(_joined(lines)))
        return
    yield from (".PP", ".nf")
    yield from (_line(line[2:]) for line in lines)
    yield ".fi"


def _joined(lines: list[str]) -> str:
    """Join lines that were wrapped at a blank or behind a hyphen."""
    text = ""
    for line in lines:
        between = "" if re.search(r"\w-$", text) else " "
        text += between + line.strip()
    return text.strip()


def _summary(paragraph: str) -> str:
    text = _joined(paragraph.splitlines()).rstrip(".")
    return text[0].lower() + text[1:]


def _arguments(usage: str, name: str) -> str:
    return usage.removeprefix("Usage: ").removeprefix(name)


def _page(name: str) -> str:
    return name.replace(" ", "-")


def _line(text: str) -> str:
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    """Return text with roff's special characters escaped, so that it can be copied as it is."""
    for char, escape in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga")):
        text = text.replace(char, escape)
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace('"', "\\(dq")
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
