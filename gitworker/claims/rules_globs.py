"""Whether two patterns of paths can mean the same path. Pure.

A pattern is gitignore(5)'s: `*` and `?` and `[...]` within one component, `**` as a component for
any number of them, `\\` before a character that stands for itself. What it names it claims with
everything below, as a pathspec does. The answer is exact: components are compared by the product of
their automata, paths by the product over components, so the work is at most the product of the two
lengths.
"""

from functools import lru_cache

from gitworker.errors import Invalid

Chars = tuple[tuple[int, int], ...]  # ranges of code points, ascending
Component = tuple[Chars | None, ...]  # None is `*`
Pattern = tuple[Component | None, ...]  # None is any number of components, also none

SLASH = ord("/")
ANY: Chars = ((1, SLASH - 1), (SLASH + 1, 0x10FFFF))
ONE: Component = (ANY, None)  # a component, whichever


@lru_cache(maxsize=1024)
def overlap(one: str, other: str) -> bool:
    """Tell whether there is a path that both patterns claim; raise Invalid for a bad pattern."""
    first, second = parse_pattern(one), parse_pattern(other)
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        at, to = todo.pop()
        if at == len(first) and to == len(second):
            return True
        for state in _steps(first, second, at, to) - seen:
            seen.add(state)
            todo.append(state)
    return False


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> Pattern:
    """Return a pattern as components; raise Invalid for what can name no path in a repository."""
    words = text.removesuffix("/").split("/")
    parts: list[Component | None] = []
    for number, word in enumerate(words, 1):
        if word in ("", ".", ".."):
            raise Invalid(
                f"the pattern {text!r} is not a path from the repository's root: no '/' first, no"
                " empty component, no '.' and no '..'",
                "git worker claim take 'path:src/**'",
            )
        if word != "**":
            parts.append(_component(word, text))
        elif number < len(words):
            parts.append(None)
        else:
            parts += [ONE, None]  # gitignore(5): a trailing `/**` is everything inside
    return tuple(parts) if parts[-1] is None else (*parts, None)


def components_meet(one: Component, other: Component) -> bool:
    """Tell whether some name of at least one character matches both components."""
    todo, seen = [(0, 0, False)], {(0, 0, False)}
    while todo:
        at, to, is_named = todo.pop()
        if at == len(one) and to == len(other) and is_named:
            return True
        for state in _reads(one, other, (at, to, is_named)) - seen:
            seen.add(state)
            todo.append(state)
    return False


def _steps(first: Pattern, second: Pattern, at: int, to: int) -> set[tuple[int, int]]:
    """Return where a pair of positions leads to, by no component or by one that both allow."""
    found = set()
    left = first[at] if at < len(first) else ()
    right = second[to] if to < len(second) else ()
    if left is None:
        found.add((at + 1, to))
    if right is None:
        found.add((at, to + 1))
    if left != () and right != () and components_meet(left or ONE, right or ONE):
        found.add((at if left is None else at + 1, to if right is None else to + 1))
    return found


def _reads(
    one: Component, other: Component, state: tuple[int, int, bool]
) -> set[tuple[int, int, bool]]:
    """Return where a state leads to, by nothing or by one character that both allow."""
    at, to, is_named = state
    found = set()
    left = one[at] if at < len(one) else ()
    right = other[to] if to < len(other) else ()
    if left is None:
        found.add((at + 1, to, is_named))
    if right is None:
        found.add((at, to + 1, is_named))
    if left != () and right != () and _share(left or ANY, right or ANY):
        found.add((at if left is None else at + 1, to if right is None else to + 1, True))
    return found


def _share(one: Chars, other: Chars) -> bool:
    return any(a <= d and c <= b for a, b in one for c, d in other)


def _component(word: str, pattern: str) -> Component:
    tokens: list[Chars | None] = []
    at = 0
    while at < len(word):
        char = word[at]
        at += 1
        if char == "*":
            tokens += [] if tokens and tokens[-1] is None else [None]
        elif char == "?":
            tokens.append(ANY)
        elif char == "[":
            chars, at = _set(word, at, pattern)
            tokens.append(chars)
        else:
            if char == "\\":
                char, at = _escaped(word, at, pattern)
            tokens.append(((ord(char), ord(char)),))
    return tuple(tokens)


def _set(word: str, at: int, pattern: str) -> tuple[Chars, int]:
    """Read `[...]` from after its bracket; return its characters and where it ends."""
    is_negated = word[at : at + 1] in ("!", "^")
    at += is_negated
    begin = at
    ranges: list[tuple[int, int]] = []
    while word[at : at + 1] != "]" or at == begin:
        if word[at : at + 2] in ("[:", "[.", "[="):
            raise Invalid(f"the pattern {pattern!r} has a class of characters; write a range")
        low, at = _member(word, at, pattern)
        high = low
        if word[at : at + 1] == "-" and word[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(word, at + 1, pattern)
        if low <= high:
            ranges.append((ord(low), ord(high)))
    chars = _without(ANY, sorted(ranges)) if is_negated else _within(ANY, sorted(ranges))
    if not chars:
        raise Invalid(f"the pattern {pattern!r} has a set that no character is in")
    return chars, at + 1


def _member(word: str, at: int, pattern: str) -> tuple[str, int]:
    if at >= len(word):
        raise Invalid(f"the pattern {pattern!r} has a '[' without its ']'")
    return _escaped(word, at + 1, pattern) if word[at] == "\\" else (word[at], at + 1)


def _escaped(word: str, at: int, pattern: str) -> tuple[str, int]:
    if at >= len(word):
        raise Invalid(f"the pattern {pattern!r} has a '\\' with nothing after it")
    return word[at], at + 1


def _within(chars: Chars, ranges: list[tuple[int, int]]) -> Chars:
    return tuple((max(a, c), min(b, d)) for a, b in chars for c, d in ranges if a <= d and c <= b)


def _without(chars: Chars, ranges: list[tuple[int, int]]) -> Chars:
    left = list(chars)
    for low, high in ranges:
        pieces = []
        for a, b in left:
            pieces += [(a, min(b, low - 1)), (max(a, high + 1), b)]
        left = [(a, b) for a, b in pieces if a <= b]
    return tuple(left)
