"""A small option parser for the hot verbs; click handles, and reports, everything unusual."""

from __future__ import annotations

FLAG = ""
DIGITS_MAX = 12  # of a number; Python refuses to read one of more than 4,300
SECONDS_MAX = 10**9  # the longest duration that can be added to a clock


def is_number(text: str) -> bool:
    """Return whether a word consists of digits, at most DIGITS_MAX of them."""
    return text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX


def split_words(
    words: list[str], options: dict[str, str]
) -> tuple[dict[str, str], list[str]] | None:
    """Return the options' values by option and the other words; None for anything unusual.

    `options` maps each option to the name of its value, a flag to FLAG.
    """
    values: dict[str, str] = {}
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "-" or not word.startswith("-"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in options or (equals and options[name] == FLAG):
            return None
        if options[name] == FLAG:
            values[name] = name
            continue
        if not equals:
            following = next(left, None)
            if following is None:
                return None
            value = following
        values[name] = value
    return values, rest
