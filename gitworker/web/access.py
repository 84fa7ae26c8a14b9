"""Access to the page: tokens that open one session each, and the sessions. Only digests are kept.

Both end with the server. Nothing is written to disk and nothing is in the environment.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import NamedTuple

TOKENS_AT_MOST = 8  # printed and not used yet; the oldest expire
SESSIONS_AT_MOST = 32


class OpenedSession(NamedTuple):
    """A new session: the value of its cookie and the token of its forms."""

    cookie: str
    csrf: str


class Access:
    """The unused tokens and the sessions of one server; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, None] = {}
        self._sessions: dict[str, str] = {}

    def new_token(self) -> str:
        """Return a token that opens one session."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[_digest(token)] = None
            while len(self._tokens) > TOKENS_AT_MOST:
                del self._tokens[next(iter(self._tokens))]
        return token

    def redeem(self, token: str) -> OpenedSession | None:
        """Open a session and end the token; None for a token that is unknown or was used."""
        opened = OpenedSession(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        with self._lock:
            if _digest(token) not in self._tokens:
                return None
            del self._tokens[_digest(token)]
            self._sessions[_digest(opened.cookie)] = opened.csrf
            while len(self._sessions) > SESSIONS_AT_MOST:
                del self._sessions[next(iter(self._sessions))]
        return opened

    def find_csrf(self, cookie: str) -> str | None:
        """Return the token of the forms of a session; None for an unknown cookie."""
        with self._lock:
            return self._sessions.get(_digest(cookie))


def is_same(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on them."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
