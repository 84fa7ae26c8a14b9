"""The guard before every page: it refuses requests, reads bodies with limits, adds the headers.

No page sees a request without a session, and no change without the token of the session's forms.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from gitworker.web.access import Access, is_same
from gitworker.web.rules_guard import (
    BODY_AT_MOST,
    HEADERS,
    OPEN_PATH,
    Asked,
    Denied,
    denied,
    is_json,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_WITHIN_S = 10.0
FIELDS_AT_MOST = 50
CSRF = "csrf"
NO_SESSION = "open the address that `git worker web` has printed; each address opens one session"


class Guard:
    """Lets a request through to `app`, with `csrf` and `form` in its scope, or refuses it."""

    def __init__(self, app: ASGIApp, access: Access, *, port: int | None, cookie: str) -> None:
        self._app = app
        self._access = access
        self._port = port
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        refusal = await self._admit(scope, receive)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        answer = PlainTextResponse(f"{refusal.reason}\n", refusal.status)
        answer.headers["connection"] = "close"  # an unread body must not become a request
        await answer(scope, receive, with_headers)

    async def _admit(self, scope: Scope, receive: Receive) -> Denied | None:
        """Return why a request is refused; else put its session and form into the scope."""
        headers = Headers(scope=scope)
        asked = Asked(
            scope["method"], scope["path"], headers.getlist("host"), headers.getlist("origin"),
            headers.getlist("sec-fetch-site"), headers.getlist("content-type"),
            headers.getlist("content-length"),
        )  # fmt: skip
        refusal = denied(asked, port=self._port)
        if refusal is not None or asked.path == OPEN_PATH:
            return refusal
        csrf = self._access.find_csrf(self._sent_cookie(headers))
        if csrf is None:
            return Denied(401, NO_SESSION)
        scope["csrf"], scope["form"] = csrf, {}
        if asked.method != "POST":
            return None
        body = await _read(receive)
        if isinstance(body, Denied):
            return body
        form = _parse(body, as_json=is_json(asked.types))
        if form is None:
            return Denied(400, "the body cannot be read")
        given = headers.get("x-csrf-token") or form.pop(CSRF, "")
        if not is_same(given, csrf):
            return Denied(403, "the form is not from this session; load the page again")
        scope["form"] = form
        return None

    def _sent_cookie(self, headers: Headers) -> str:
        """Return our cookie. Those of other servers of this host come along, in any form."""
        parts = [
            part.partition("=") for line in headers.getlist("cookie") for part in line.split(";")
        ]
        found = [value.strip() for name, _, value in parts if name.strip() == self._cookie]
        return found[0] if len(found) == 1 else ""


async def _read(receive: Receive) -> bytes | Denied:
    """Return the body; it may neither be longer nor slower than the limits."""
    body = bytearray()
    with anyio.move_on_after(BODY_WITHIN_S):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return Denied(400, "the body is not complete")
            body += message.get("body", b"")
            if len(body) > BODY_AT_MOST:
                return Denied(413, f"a body has at most {BODY_AT_MOST} bytes")
            if not message.get("more_body", False):
                return bytes(body)
    return Denied(408, "the body came too slowly")


def _parse(body: bytes, *, as_json: bool) -> dict[str, str] | None:
    """Return the fields of a form or of a JSON object of texts; None for any other body."""
    try:
        text = body.decode("utf-8")
        if not as_json:
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_AT_MOST))
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not all(isinstance(one, str) for one in fields.values()):
        return None
    return fields
