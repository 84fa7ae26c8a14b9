"""Make external text safe for a terminal: the one rule for the characters that are shown.

All text that is printed passes through this module. Control characters (C0, C1), bidirectional
overrides and isolates, zero-width and other invisible characters, line separators, tags and
undecodable bytes are escaped. A leaf module, which hot verbs import.
"""

# Invisible characters that Python calls printable: fillers, joiners and selectors, except the two
# selectors (FE0E, FE0F) that end ordinary emoji.
INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\u2800"
).union(map(chr, range(0xFE00, 0xFE0E)), map(chr, range(0xE0100, 0xE01F0)))
# Spaces, the joiner and the selectors of emoji, which people write.
EDITED = frozenset("\n\t\u00a0\u200d\u202f\u3000\ufe0e\ufe0f")
WITHOUT_BREAKS = {ord("\n"): None, ord("\t"): None}
REMARK = "   # "  # begins the part of a hint that is no command
# Characters that a shell takes literally; letters and digits are tested apart.
UNQUOTED = frozenset("@%+=:,./-_")
# Words that stand for a user's own in a hint, as in `git worker assign auth <task>`. A hint ends
# with one or quotes it, so that a shell or the command refuses the hint as it is.
PLACEHOLDERS = frozenset({
    "branch", "clone", "command", "commit", "directory", "epoch", "key", "mail", "name",
    "new-branch", "new-name", "new-place", "number", "other-branch", "pattern", "reason", "task",
    "text", "type", "url", "worker",
})  # fmt: skip


def is_shown(text: str) -> bool:
    """Return whether every character of a text is visible."""
    return text.isprintable() and (text.isascii() or INVISIBLE.isdisjoint(text))


def printable(text: str) -> str:
    r"""Return text with every invisible character as \uXXXX; \n and \t stay.

    The escapes are JSON's, so that a line of JSON keeps its meaning.
    """
    if is_shown(text.translate(WITHOUT_BREAKS)):
        return text
    return "".join(c if c in "\n\t" or is_shown(c) else _escaped(c) for c in text)


def editable(text: str) -> str:
    r"""Return text for a field in which it is edited and saved: spaces and joiners stay, too.

    Other invisible characters are escaped as `printable` does.
    """
    return "".join(c if c in EDITED or is_shown(c) else _escaped(c) for c in text)


def label_of(words: str) -> str:
    """Return the words for a state as a column shows them: `in review` for `is in review`."""
    verb, _, rest = words.partition(" (")[0].partition(" ")
    return rest if verb in ("is", "has", "was") else f"{verb} {rest}"


def one_line(text: str) -> str:
    r"""Return text as one line, with every invisible character, \n and \t escaped."""
    if (text.isascii() and text.isprintable()) or is_shown(text):
        return text
    return "".join(c if is_shown(c) else ascii(c)[1:-1] for c in text)


def quoted(text: str) -> str:
    """Return a path as one word of a shell command, for a hint that can be copied.

    The result is `shlex.quote`'s, whose import costs 8 ms.
    """
    if text and all(c in UNQUOTED or (c.isascii() and c.isalnum()) for c in text):
        return text
    inner = text.replace("'", "'\"'\"'")
    return f"'{inner}'"


def is_url(text: str) -> bool:
    """Return whether a text is the address of a service: `scheme://…`, visible ASCII only."""
    scheme, separator, rest = text.partition("://")
    has_scheme = scheme[:1].isalpha() and scheme.translate({43: None, 45: None, 46: None}).isalnum()
    is_visible = text.isascii() and text.isprintable() and " " not in text
    return bool(separator and rest) and has_scheme and is_visible


def masked_url(url: str) -> str:
    """Return the scheme of the address of a service; everything behind it can be a secret."""
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://…" if separator else "…"


def is_placeholder(word: str) -> bool:
    """Return whether a word is a placeholder of a hint: `<task>`."""
    return word[:1] == "<" and word[-1:] == ">" and word[1:-1] in PLACEHOLDERS


def _escaped(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:  # JSON writes these as two
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"


def size_text(size_bytes: int) -> str:
    """Return a number of bytes with a unit, such as `1.5 MiB`."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun: `1 commit`, `2 commits`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
