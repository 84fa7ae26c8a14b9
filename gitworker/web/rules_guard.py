"""Which requests the page answers: the headers alone decide. Pure.

A browser sends requests for other sites' pages, too. So the name that a request was sent to, the
site that it comes from, and the form of its body must be our own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{1,5}))?", re.ASCII)
METHODS = frozenset({"GET", "HEAD", "POST"})
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
BODY_AT_MOST = 256 * 1024
OWN_SITES = frozenset({"same-origin", "none"})
OPEN_PATH = "/open"  # a click in another program's page may lead to it, because its token is secret
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),  # without a referrer, a form's Origin would be `null`
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("cache-control", "no-store"),
)


class Asked(NamedTuple):
    """The parts of a request that decide; a header that was sent twice has two values."""

    method: str
    path: str
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    sites: Sequence[str] = ()
    types: Sequence[str] = ()
    lengths: Sequence[str] = ()


class Denied(NamedTuple):
    """The refusal of a request: its HTTP status and the reason."""

    status: int
    reason: str


def denied(asked: Asked, *, port: int | None) -> Denied | None:
    """Return why a request is refused, or None. `port` is our own; None behind a socket."""
    if asked.method not in METHODS:
        return Denied(405, "only GET, HEAD and POST are answered")
    host = asked.hosts[0].lower() if len(asked.hosts) == 1 else ""
    if not _is_own_host(host, port):
        return Denied(421, "the request was not sent to this computer's own name")
    if any(origin != f"http://{host}" for origin in asked.origins):
        return Denied(403, "the request comes from another site")
    foreign = any(site not in OWN_SITES for site in asked.sites)
    if foreign and not (asked.method == "GET" and asked.path == OPEN_PATH):
        return Denied(403, "the request comes from another site")
    return _denied_body(asked) if asked.method == "POST" else None


def _denied_body(asked: Asked) -> Denied | None:
    """Return why the change that a request asks for is refused because of its headers, or None."""
    if len(asked.origins) != 1:
        return Denied(403, "a change needs the header Origin")
    if len(asked.types) != 1 or _media_type(asked.types[0]) not in (FORM, JSON):
        return Denied(415, f"a body must be {FORM} or {JSON}")
    if len(asked.lengths) != 1 or not asked.lengths[0].isdecimal():
        return Denied(411, "a body needs its length")
    if int(asked.lengths[0][:12]) > BODY_AT_MOST:
        return Denied(413, f"a body has at most {BODY_AT_MOST} bytes")
    return None


def is_json(types: Sequence[str]) -> bool:
    """Return whether a body is JSON; otherwise it is a form."""
    return bool(types) and _media_type(types[0]) == JSON


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _is_own_host(host: str, port: int | None) -> bool:
    """Return whether a request was sent to loopback by its own name, so no DNS name leads here."""
    found = HOST.fullmatch(host)
    return found is not None and (port is None or int(found[2] or 80) == port)
