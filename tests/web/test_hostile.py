"""Hostile requests: none changes the repository, needs no session, or ends the server."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from gitworker.model.worker import WorkerState
from tests.web.kit import DEADLINE_S, FORM, Answer, Page, serving
from tests.workers.world import World

EVIL = "http://evil.example"
APPROVE = "/workers/auth/approve"
NOT_SHOWN = {404, 405}  # a path of the form of a change answers no GET


def change(page: Page, path: str = APPROVE, **headers: str | None) -> Answer:
    """Send a change with the session's own cookie and token, but with these headers."""
    body = urlencode({"csrf": page.csrf}).encode()
    return page.send("POST", path, body=body, **headers)


def as_body(page: Page, body: bytes, **headers: str | None) -> Answer:
    """Send a change with this body."""
    return page.send("POST", APPROVE, body=body, **headers)


def raw(page: Page, request: bytes) -> Answer:
    """Send bytes as they are and return the answer; status 0 without one."""
    with page.raw() as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        text = b""
        while data := connection.recv(65536):
            text += data
    head = text.split(b"\r\n", 1)[0].split()
    return Answer(int(head[1]) if len(head) > 1 else 0, {}, text.decode("utf-8", "replace"))


def head(page: Page, method: str, path: str, *lines: str) -> bytes:
    """Return the head of a request with the session's cookie."""
    own = (f"Host: 127.0.0.1:{page.port}", f"Cookie: {page.cookie}")
    return "\r\n".join([f"{method} {path} HTTP/1.1", *own, *lines, "", ""]).encode()


HOSTILE: dict[str, tuple[Callable[[Page], Answer], set[int]]] = {
    # Another name for this computer: DNS rebinding.
    "foreign host": (lambda p: p.send("GET", "/", host=f"evil.example:{p.port}"), {421}),
    "host of another port": (lambda p: p.send("GET", "/", host="127.0.0.1:1"), {421}),
    "host without a port": (lambda p: p.send("GET", "/", host="127.0.0.1"), {421}),
    "host with a suffix": (
        lambda p: p.send("GET", "/", host=f"127.0.0.1.evil.example:{p.port}"), {421}),
    "host with a user": (lambda p: p.send("GET", "/", host=f"127.0.0.1@evil:{p.port}"), {421}),
    "any address": (lambda p: p.send("GET", "/", host=f"0.0.0.0:{p.port}"), {421}),
    "other loopback": (lambda p: p.send("GET", "/", host=f"127.0.0.2:{p.port}"), {421}),
    "decimal address": (lambda p: p.send("GET", "/", host=f"2130706433:{p.port}"), {421}),
    "two hosts": (lambda p: raw(p, head(p, "GET", "/", "Host: evil.example")), {400, 421}),
    "no host": (lambda p: raw(p, b"GET / HTTP/1.1\r\n\r\n"), {400, 421}),
    "whole address as path": (
        lambda p: p.send("GET", "http://evil.example/", host="evil.example"), {421}),
    "change by a foreign host": (lambda p: change(p, host=f"evil.example:{p.port}"), {421}),
    # Other sites.
    "foreign origin": (lambda p: change(p, origin=EVIL), {403}),
    "null origin": (lambda p: change(p, origin="null"), {403}),
    "no origin": (lambda p: change(p, origin=None), {403}),
    "origin of another port": (lambda p: change(p, origin="http://127.0.0.1:1"), {403}),
    "origin with https": (lambda p: change(p, origin=f"https://127.0.0.1:{p.port}"), {403}),
    "origin by another name": (lambda p: change(p, origin=f"http://localhost:{p.port}"), {403}),
    "site cross-site": (lambda p: p.send("GET", "/", sec_fetch_site="cross-site"), {403}),
    "site same-site": (lambda p: change(p, sec_fetch_site="same-site"), {403}),
    "foreign page reads": (lambda p: p.send("GET", "/", origin=EVIL), {403}),
    "foreign script": (
        lambda p: p.send("GET", "/static/app.js", sec_fetch_site="cross-site"), {403}),
    # Sessions and tokens.
    "no cookie": (lambda p: p.send("GET", "/", cookie=None), {401}),
    "wrong cookie": (lambda p: p.send("GET", "/", cookie=f"gitworker-{p.port}=x"), {401}),
    "two cookies": (lambda p: p.send("GET", "/", cookie=f"{p.cookie}; {p.cookie}x"), {401}),
    "cookie of another port": (
        lambda p: p.send("GET", "/", cookie="gitworker-1=" + p.cookie.split("=")[1]), {401}),
    "cookie with other bytes": (lambda p: p.send("GET", "/", cookie="\xff\xfe=\xe4"), {401}),
    "static file without a session": (
        lambda p: p.send("GET", "/static/app.js", cookie=None), {401}),
    "events without a session": (lambda p: p.send("GET", "/events", cookie=None), {401}),
    "used address": (lambda p: p.send("GET", p.address.split(str(p.port))[1], cookie=None), {403}),
    "empty token": (lambda p: p.send("GET", "/open?token=", cookie=None), {403}),
    "guessed token": (lambda p: p.send("GET", "/open?token=" + "A" * 43, cookie=None), {403}),
    "session as token": (
        lambda p: p.send("GET", "/open?token=" + p.cookie.split("=")[1], cookie=None), {403}),
    "no form token": (lambda p: as_body(p, b""), {403}),
    "wrong form token": (lambda p: as_body(p, b"csrf=x"), {403}),
    "form token not ASCII": (lambda p: as_body(p, "csrf=\u00e4".encode()), {403}),
    "form token in the address": (
        lambda p: p.send("POST", f"{APPROVE}?csrf={p.csrf}", body=b""), {403}),
    # Methods and bodies.
    "change by GET": (lambda p: p.send("GET", APPROVE), {404, 405}),
    "PUT": (lambda p: p.send("PUT", APPROVE, body=b""), {405}),
    "DELETE": (lambda p: p.send("DELETE", "/workers/auth"), {405}),
    "OPTIONS": (lambda p: p.send("OPTIONS", APPROVE, origin=EVIL), {405}),
    "TRACE": (lambda p: p.send("TRACE", "/"), {405}),
    "CONNECT": (lambda p: raw(p, head(p, "CONNECT", "evil.example:80")), {400, 405}),
    "text/plain": (lambda p: change(p, content_type="text/plain"), {415}),
    "multipart": (lambda p: change(p, content_type="multipart/form-data; boundary=x"), {415}),
    "no type": (lambda p: change(p, content_type=None), {415}),
    "type with a trick": (lambda p: change(p, content_type=f"text/plain, {FORM}"), {415}),
    "JSON that is no object": (
        lambda p: as_body(p, b"[1]", content_type="application/json"), {400}),
    "deep JSON": (
        lambda p: as_body(p, b"[" * 90_000, content_type="application/json"), {400}),
    "JSON with other values": (
        lambda p: as_body(
            p, json.dumps({"csrf": p.csrf, "note": {}}).encode(), content_type="application/json"
        ), {400}),
    "bytes that are no text": (lambda p: as_body(p, b"csrf=\xff\xfe"), {400, 403}),
    "thousands of fields": (lambda p: as_body(p, b"a=b&" * 20_000), {400}),
    "huge body": (lambda p: as_body(p, b"x" * 300_000), {413}),
    "announced huge body": (lambda p: as_body(p, b"", content_length="99999999999999"), {413}),
    "negative length": (
        lambda p: raw(p, head(p, "POST", APPROVE, f"Origin: {p.origin}",
                              f"Content-Type: {FORM}", "Content-Length: -1")), {400, 411}),
    "chunked body": (
        lambda p: raw(p, head(p, "POST", APPROVE, f"Origin: {p.origin}", f"Content-Type: {FORM}",
                              "Transfer-Encoding: chunked") + b"1\r\na\r\n0\r\n\r\n"), {411}),
    "two lengths": (
        lambda p: raw(p, head(p, "POST", APPROVE, "Content-Length: 1", "Content-Length: 2")),
        {400, 403, 411}),
    "half a body": (
        lambda p: raw(p, head(p, "POST", APPROVE, f"Origin: {p.origin}", f"Content-Type: {FORM}",
                              "Content-Length: 100") + b"csrf="), {0, 400}),
    "huge header": (lambda p: raw(p, head(p, "GET", "/", "X: " + "x" * 100_000)), {0, 400, 431}),
    "no HTTP": (lambda p: raw(p, b"\x16\x03\x01\x00\xff" * 20), {0, 400}),
    "websocket": (
        lambda p: raw(p, head(p, "GET", "/events", "Upgrade: websocket", "Connection: Upgrade",
                              "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==",
                              f"Origin: {EVIL}")), {400, 403}),
    # Paths.
    "traversal": (lambda p: p.send("GET", "/static/../server.py"), NOT_SHOWN),
    "escaped traversal": (lambda p: p.send("GET", "/static/%2e%2e%2fserver.py"), NOT_SHOWN),
    "double escape": (lambda p: p.send("GET", "/static/%252e%252e%252fserver.py"), NOT_SHOWN),
    "backslashes": (lambda p: p.send("GET", "/static/..%5c..%5cserver.py"), NOT_SHOWN),
    "absolute file": (lambda p: p.send("GET", "/static//etc/passwd"), NOT_SHOWN),
    "NUL byte": (lambda p: p.send("GET", "/static/app.js%00.png"), NOT_SHOWN),
    "template": (lambda p: p.send("GET", "/templates/base.html"), NOT_SHOWN),
    "symbolic link": (lambda p: p.send("GET", "/static/link.js"), NOT_SHOWN),
    "verify output by a path": (
        lambda p: p.send("GET", "/verify/%2e%2e%2fbus.db"), NOT_SHOWN | {400}),
    "verify output of no commit": (lambda p: p.send("GET", "/verify/" + "0" * 40), NOT_SHOWN),
    "redirect off site": (lambda p: p.send("GET", "//evil.example/%2e%2e"), NOT_SHOWN),
    "unknown change": (lambda p: change(p, "/workers/auth/__init__"), NOT_SHOWN),
    "change of a method's name": (lambda p: change(p, "/service/gc"), NOT_SHOWN),
    "worker with markup": (
        lambda p: p.send("GET", "/workers/%3Cscript%3Ealert(1)%3C%2Fscript%3E"), NOT_SHOWN | {400}),
    "task with a line break": (
        lambda p: p.send("GET", "/tasks/a%0d%0aSet-Cookie:%20x=y"), NOT_SHOWN | {400}),
    "form token with a lone surrogate": (
        lambda p: as_body(p, b'{"csrf":"\\ud800"}', content_type="application/json"), {403}),
    "undo of a huge number": (lambda p: change(p, f"/undo/{'9' * 27}/undo"), {404}),
    "unknown page of two parts": (lambda p: p.send("GET", "/a/b"), {404}),
    "undo of no number": (lambda p: change(p, "/undo/-1/undo"), {400}),
}  # fmt: skip


def test_no_hostile_request_gets_through(world: World, page: Page) -> None:
    """Each request is refused with its status; repository and server stay as before."""
    assert len(HOSTILE) >= 40
    refs, tip = world.refs(), world.tip()
    wrong = {}
    for name, (send, wanted) in HOSTILE.items():
        answer = send(page)
        leaks = "auth/login" in answer.text or "set-cookie" in answer.headers
        if answer.status not in wanted or leaks or "<script>alert" in answer.text:
            wrong[name] = (answer.status, answer.text[:200])
    assert not wrong
    assert (world.refs(), world.tip()) == (refs, tip)
    assert world.worker("auth").state is WorkerState.IN_REVIEW
    assert "auth" in page.see("/")


def test_every_answer_has_the_headers(page: Page) -> None:
    """Pages, files, refusals and errors forbid frames, inline scripts and other sites."""
    for path, cookie in (("/", page.cookie), ("/static/app.js", page.cookie), ("/", None),
                         ("/no", page.cookie), ("/workers/nobody", page.cookie)):  # fmt: skip
        headers = page.send("GET", path, cookie=cookie).headers
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_the_cookie_is_strict(page: Page) -> None:
    """A new address opens one session, by a cookie that scripts and other sites do not get."""
    made = page.press("/settings/another/address")
    (address,) = [word for word in made.text.replace("<", " ").split() if "/open?" in word]
    path = address.split(str(page.port))[1]
    opened = page.send("GET", path, cookie=None)
    cookie = opened.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert page.send("HEAD", path, cookie=None).status == 403
    assert page.send("GET", path, cookie=None).status == 403


def test_slow_clients_are_cut_off(page: Page) -> None:
    """A connection without a request, one with half a head, and one with half a body end."""
    halves = (
        b"", head(page, "GET", "/")[:-2],
        head(page, "POST", APPROVE, f"Origin: {page.origin}", f"Content-Type: {FORM}",
             "Content-Length: 100") + b"csrf=",
    )  # fmt: skip
    connections = [socket.create_connection(("127.0.0.1", page.port), DEADLINE_S) for _ in halves]
    for connection, half in zip(connections, halves, strict=True):
        connection.sendall(half)
    for connection in connections:
        text = b""
        while data := connection.recv(65536):
            text += data
        assert text == b"" or b"408" in text.split(b"\r\n", 1)[0]
        connection.close()
    assert page.see("/")


def test_text_is_escaped_everywhere(world: World) -> None:
    """Markup and control characters in tasks, notes, files and messages are shown as text."""
    evil = "<script>alert(1)</script>\x1b[31m\u202e"
    place = world.working("auth", "login", {"<img src=x onerror=alert(1)>.py": f"# {evil}\n"})
    world.submit("auth", note=evil)
    (Path(place) / ".worker.log").write_text(evil)
    with serving(world) as page:
        page.press("/workers/auth/send", text=evil)
        for path in ("/", "/inbox", "/workers/auth", "/messages", "/tasks", "/agents", "/queue",
                     "/messages?q=script", f"/messages?task={evil[:25]}"):  # fmt: skip
            text = page.see(path)
            assert "<script>alert" not in text, path
            assert "<img" not in text, path
            assert "\x1b" not in text, path
            assert "\u202e" not in text, path
        assert "&lt;script&gt;alert(1)" in page.see("/workers/auth")


@pytest.mark.parametrize("other", ['prefs={"a": 1}', "theme=dark mode", "a[b]=2", "bare", "a=\xef"])
def test_a_cookie_of_another_server_locks_no_one_out(page: Page, other: str) -> None:
    """Cookies of other ports of this host come along in any form, before ours and after it."""
    for cookie in (f"{other}; {page.cookie}", f"{page.cookie}; {other}"):
        assert page.send("GET", "/", cookie=cookie).status == 200
