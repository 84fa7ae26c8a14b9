"""Secrets in command lines and in output: one table of patterns, and their removal. Pure.

On the hot path of `exec` and of an agent's output: a pattern is compiled and tried only at the
places of its marks, which are found without regular expressions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Pattern

REDACTED = "[redacted]"
LEFT_OUT = f"warning: a part of the text looks like a secret and is recorded as {REDACTED}"
PLACEHOLDERS = ("{", "$")  # replaced when the command runs
_KEY = rb"(?:" + b"|".join(
    b"(?<=%b)|(?<=%b[_-])" % (word, word)
    for word in (b"api", b"access", b"secret", b"private", b"auth", b"encryption")
) + rb")key"  # fmt: skip
_NAME = rb"(?i:" + _KEY + rb"|token|secret|passwd|password|passphrase|credentials?)"
_VARIABLE = (
    rb"(?:(?<![A-Za-z])KEY|(?<=API)KEY|TOKEN|SECRET|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?)"
)
_ANY = rb"""(?P<secret>"[^"]+"|'[^']+'|[^\s"'`$<>{}()\[\]|;&,]+)"""
_CODED = rb"""(?P<secret>(?=[^\s"']*[0-9])[A-Za-z0-9_+/=~.%!@#^*-]{6,})"""
_QUOTE = rb"""\\?["']?"""
_NAMES = (b"key", b"token", b"secret", b"passwd", b"password", b"passphrase", b"credential")
OPTION = "option"
LETTERS = b"aehkpxAEHKPX:"  # each mark contains one of them; they are found at the speed of memory
# Name, marks (in lower case), and the expression, which matches at a mark. The group is removed.
TABLE: tuple[tuple[str, tuple[bytes, ...], bytes], ...] = (
    ("key of a model vendor", (b"sk-",), rb"(?<![\w-])(?P<secret>sk-[\w-]{12,})"),
    ("key of a payment service", (b"sk_live_", b"rk_live_", b"sk_test_", b"rk_test_"),
     rb"(?P<secret>[sr]k_(?:live|test)_\w{8,})"),
    ("token of GitHub", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
     rb"(?P<secret>gh[pousr]_\w{16,}|github_pat_\w{16,})"),
    ("token of GitLab", (b"glpat-",), rb"(?P<secret>glpat-[\w-]{16,})"),
    ("token of Slack", (b"xox",), rb"(?P<secret>xox[abeoprs]-[\w-]{8,})"),
    ("token of a registry", (b"npm_", b"pypi-", b"hf_"),
     rb"(?<!\w)(?P<secret>npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{20,})"),
    ("key of AWS", (b"akia", b"asia"), rb"(?<!\w)(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    ("key of Google", (b"aiza", b"ya29."), rb"(?P<secret>AIza[\w-]{30,}|ya29\.[\w-]{20,})"),
    ("signed token", (b"eyj",), rb"(?<!\w)(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"),
    ("private key", (b"private key-----",),
     rb"PRIVATE KEY-----(?P<secret>[A-Za-z0-9+/=\s\\]+)"),
    ("password in an address", (b"://",), rb"://[^\s/:@\"']*:(?P<secret>[^\s/@\"']+)@"),
    ("header", (b"authorization", b"bearer"),
     rb"(?i:authorization" + _QUOTE + rb"\s*[:=]\s*" + _QUOTE + rb"(?:bearer |basic |token )?"
     rb"|bearer\s+)" + _CODED),
    ("variable", _NAMES, _VARIABLE + rb"=" + _ANY),
    ("field", _NAMES, _NAME + _QUOTE + rb"\s*[:=]\s*" + _QUOTE + _CODED),
    (OPTION, _NAMES, _NAME + rb"(?:=|\s+)(?!-)" + _ANY),
)  # fmt: skip
_compiled: dict[str, Pattern[bytes]] = {}


def redacted(text: str) -> str:
    """Return a text in which everything that looks like a secret is `[redacted]`."""
    data = text.encode("utf-8", "surrogatepass")
    found = redacted_bytes(data)
    return text if found is data else found.decode("utf-8", "surrogatepass")


def redacted_bytes(data: bytes) -> bytes:
    """Return output in any encoding that contains ASCII without secrets; else `data` itself."""
    if not any(letter in data for letter in LETTERS):
        return data
    lowered = data.lower()
    spans: list[tuple[int, int]] = []
    for name, marks, expression in TABLE:
        for mark in marks:
            if mark in lowered:
                found = _spans(data, _places(lowered, mark), _pattern(name, expression))
                spans += [one for at, one in found if name != OPTION or _is_option(data, at)]
    if not spans:
        return data
    parts, end = [], 0
    for start, after in sorted(spans):
        if start >= end:
            parts += [data[end:start], REDACTED.encode()]
        end = max(end, after)
    return b"".join(parts) + data[end:]


def redacted_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without secrets, also if an option and its value are two.

    The number of words stays.
    """
    return [
        _redacted_word(word, words[index - 1] if index else "") for index, word in enumerate(words)
    ]


def _redacted_word(word: str, before: str) -> str:
    if word.startswith(PLACEHOLDERS):
        return word
    is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
    if is_value and _is_secret(f"{before} "):
        return REDACTED
    name, equals, value = word.partition("=")
    if equals and value and not value.startswith(PLACEHOLDERS) and _is_secret(f"{name}="):
        return f"{name}={REDACTED}"
    return redacted(word)


def _is_secret(start: str) -> bool:
    """Return whether any value that follows this text, which has one word, is a secret."""
    return start.split() == [start.rstrip()] and redacted(f"{start}value123") != f"{start}value123"


def _places(lowered: bytes, mark: bytes) -> Iterator[int]:
    at = lowered.find(mark)
    while at >= 0:
        yield at
        at = lowered.find(mark, at + len(mark))


def _spans(
    data: bytes, places: Iterator[int], pattern: Pattern[bytes]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the places at which a pattern matches, each with the span of the secret."""
    for at in places:
        match = pattern.match(data, at)
        if match is not None:
            yield at, match.span("secret")


def _is_option(data: bytes, at: int) -> bool:
    """Return whether the word that contains a position begins with a dash."""
    line = data[max(0, at - 60) : at].split()
    is_inside = at > 0 and not data[at - 1 : at].isspace()
    return is_inside and bool(line) and line[-1].lstrip(b"\"'").startswith(b"-")


def _pattern(name: str, expression: bytes) -> Pattern[bytes]:
    if name not in _compiled:
        import re  # 5 ms, only for a text with a mark

        _compiled[name] = re.compile(expression)
    return _compiled[name]
