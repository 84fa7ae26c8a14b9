"""The application: which path shows which page, and which path makes which change."""

from __future__ import annotations

import json
import threading
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.web.changes.actions import CHANGES, DECISIONS, LONG, PAGES, PARTS
from gitworker.web.guard import Guard
from gitworker.web.jobs import Notice, refusal
from gitworker.web.live import STREAMS_AT_MOST
from gitworker.web.log_stream import LogStream
from gitworker.web.render import STATIC, make_environment, read_static
from gitworker.web.request import NEEDS, Ask, Site

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

THREADS = 4
# Of a page that is sent while it is made: parts, each a value or a text between, and characters.
MARKS = frozenset({"viewed", "unviewed"})
PARTS_AT_ONCE, SENT_AT_ONCE = 100, 32_000
EVENT_STREAM = "text/event-stream"
VIEW, SIDES = "view", "sides"  # the parameter, and the cookie that keeps it
VIEWS_OF_CHANGES = (SIDES, "one")
# A notice goes to its place, also if the form expects a part of the page.
TO_NOTICE = {"HX-Retarget": "#notice", "HX-Reselect": "dialog", "HX-Reswap": "innerHTML"}
# The answer to a decision: the page then reads the changes again, with the comments sent by it.
DECIDED = {"HX-Trigger-After-Settle": "decided"}
PAGE_OF_WORKER = "/workers/{worker}"
# Path → the module of its page below `pages`, which has `read`, and its template.
VIEWS: Mapping[str, tuple[str, str]] = {
    "/": ("board", "board.html"),
    "/inbox": ("inbox", "inbox.html"),
    "/queue": ("queue", "queue.html"),
    "/verify/{commit}": ("work.verify", "verify.html"),
    "/messages": ("messages", "messages.html"),
    "/agents": ("agents", "agents.html"),
    "/tasks": ("tasks", "tasks.html"),
    "/tasks/{task}": ("task", "task.html"),
    "/timeline": ("history.timeline", "timeline.html"),
    "/settings": ("settings", "settings.html"),
    PAGE_OF_WORKER: ("work.worker", "worker.html"),
    "/workers/{worker}/conflict": ("work.conflict", "conflict.html"),
    "/workers/{worker}/rounds/{rounds}": ("work.rounds", "rounds.html"),
}


def make_app(site: Site, *, port: int | None, cookie: str) -> ASGIApp:
    """Return the application behind its guard. `port` is our own; None behind a socket."""
    pages = _Pages(site, cookie)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        # Each thread keeps memory and connections of its own; SQLite and git use few of them.
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield
        await run_in_threadpool(site.hub.close)

    routes = [
        *(Route(path, pages.show, name=path) for path in VIEWS),
        Route("/open", pages.open),
        Route("/static/{name}", pages.static),
        Route("/events", pages.events),
        Route("/workers/{worker}/log", pages.log),
        Route("/notices", pages.notices),
        Route("/needs", pages.count),
        Route("/{kind}/{verb}", pages.change, methods=["GET", "POST"]),
        Route("/{kind}/{name}/{verb}", pages.change, methods=["GET", "POST"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), site.access, port=port, cookie=cookie)


def _is_sided(request: Request) -> bool:
    """Return whether changes are shown side by side: by the address, else as they were before."""
    return (request.query_params.get(VIEW) or request.cookies.get(VIEW)) == SIDES


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of a page, several at once; a long one goes out before the next is made."""
    kept: list[str] = []
    size = 0
    for part in parts:
        kept.append(part)
        size += len(part)
        if len(kept) >= PARTS_AT_ONCE or size >= SENT_AT_ONCE:
            yield "".join(kept)
            kept.clear()
            size = 0
    yield "".join(kept)


class _EventStream(StreamingResponse):
    """A stream of events that is released at its end.

    A client may disconnect before the first event. Its generator never runs then, so the generator
    cannot release the stream.
    """

    def __init__(self, events: AsyncGenerator[str], release: Callable[[], None]) -> None:
        super().__init__(events, media_type=EVENT_STREAM)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the client or the stream ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


class _Pages:
    """The handlers of one site."""

    def __init__(self, site: Site, cookie: str) -> None:
        self._site = site
        self._cookie = cookie
        self._templates = make_environment()
        self._static = read_static()
        self._logs = threading.Semaphore(STREAMS_AT_MOST)

    async def show(self, request: Request) -> Response:
        """Answer with a page."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        name = self._known_worker(request)
        if name is not None:
            answer: Response = StreamingResponse(self._parts(request, name), media_type="text/html")
        else:
            template, code, values = self._read(request)
            answer = self._html(template, code, **values, needs=self._site.count_needs())
        view = request.query_params.get(VIEW, "")
        if view in VIEWS_OF_CHANGES:
            answer.set_cookie(VIEW, view, httponly=True, samesite="strict", path="/")
        return answer

    def _known_worker(self, request: Request) -> str | None:
        """Return the worker whose page is asked for, if it begins before anything is read.

        htmx swaps a whole answer, and its status must be known, so only a browser gets the parts.
        """
        name: str = request.path_params.get("worker", "")
        is_whole = (
            request.scope["route"].name == PAGE_OF_WORKER and "part" not in request.query_params
        )
        if not is_whole or request.method != "GET" or "hx-request" in request.headers:
            return None
        _, frame = self._site.hub.newest
        return name if any(one.worker == name for one in frame.workers) else None

    def _parts(self, request: Request, name: str) -> Iterator[str]:
        """Yield a page in parts: its head at once, the rest while it is read and made."""
        needs = self._site.hub.find_derived(NEEDS)  # without them, the page asks again
        head = {"title": name, "heading": name, "needs": needs}
        yield self._templates.get_template("top.html").render(self._frame(request) | head)
        template, _, values = self._read(request)
        yield from _joined(
            self._templates.get_template(template).generate(values | {"is_begun": True})
        )

    def _read(self, request: Request) -> tuple[str, int, dict[str, Any]]:
        """Return template, status and values of a page, or of the error that it has."""
        name, template = VIEWS[request.scope["route"].name]
        site, frame = self._site, self._frame(request)
        try:
            read = import_module(f"gitworker.web.pages.{name}").read
            with site.service.one_reading() as service:
                query, is_sided = request.query_params, _is_sided(request)
                values = read(Ask(site, service, request.path_params, query, is_sided))
        except (GitWorkerError, OSError) as error:
            notice = refusal(as_gitworker_error(error))
            return "error.html", notice.status, frame | {"error": notice}
        return template, 200, {**frame, **values}

    def _frame(self, request: Request) -> dict[str, Any]:
        """Return the values that every page has, apart from the items in the inbox."""
        last, frame = self._site.hub.newest
        return {
            "csrf": request.scope["csrf"], "last": last, "frame": frame, "is_begun": False,
            "heading": "", "reader": self._site.reader, "here": request.url.path,
            "query": str(request.url.query), "notices": self._site.jobs.notices(), "error": None,
        }  # fmt: skip

    def _html(
        self, template: str, code: int, *, headers: Mapping[str, str] | None = None, **values: Any
    ) -> Response:
        return HTMLResponse(self._templates.get_template(template).render(values), code, headers)

    async def change(self, request: Request) -> Response:
        """Make a change; answer with its notice, or show the page again."""
        if request.method != "POST":
            return PlainTextResponse("there is no such page\n", 404)
        parts = request.path_params
        kind, name = parts["kind"], parts.get("name", "")
        change = CHANGES.get(f"{kind}/{parts['verb']}")
        if change is None:
            return PlainTextResponse("there is no such change\n", 404)
        form = request.scope["form"]
        label = f"{parts['verb']} {name}".rstrip()
        notice: Notice = await self._site.jobs.run(
            label, lambda: change(self._site, name, form), is_long=parts["verb"] in LONG
        )
        if "hx-request" in request.headers:
            path = f"{kind}/{parts['verb']}"
            if notice.kind == "done" and path in PARTS:
                return await run_in_threadpool(self._part, request, notice)
            return self._result(request, notice, is_decision=path in DECISIONS)
        if notice.kind != "done":
            return self._html("plain_notice.html", notice.status, notice=notice)
        place = PAGES[kind].format(quote(name, safe=""))
        focus = f"#{quote(notice.focus)}" if notice.focus else ""
        return Response(status_code=303, headers={"location": f"{place}{focus}"})

    def _result(self, request: Request, notice: Notice, *, is_decision: bool) -> Response:
        """Answer with a notice; after a decision, also with the next review."""
        # htmx searches the place near the form, which may be replaced by now
        headers = {} if request.headers.get("hx-target") == "notice" else TO_NOTICE
        is_decided = is_decision and notice.kind == "done"
        return self._html(
            "result.html", notice.status, headers=headers | (DECIDED if is_decided else {}),
            notice=notice, following=self._next_review(request) if is_decided else None,
        )  # fmt: skip

    def _part(self, request: Request, notice: Notice) -> Response:
        """Answer with the changed part of a review, and the notice."""
        from gitworker.web.pages.work.changes import read

        form, name = request.scope["form"], request.path_params["name"]
        is_mark = request.path_params["verb"] in MARKS  # it changes no line
        try:
            values = read(
                self._site.service, name, is_sided=_is_sided(request), only=form.get("file", ""),
                keeps=form.get("tip", "") if is_mark else "",
            )  # fmt: skip
        except (GitWorkerError, OSError):  # the change is made, and the page shows it later
            return self._result(request, notice, is_decision=False)
        is_sent = request.path_params["verb"] == "review"
        review, seen = values.get("review"), form.get("tip")
        if seen and review is not None and review.round.tip != seen:
            return self._result(request, notice, is_decision=False)  # the page shows another round
        focus = {"HX-Trigger-After-Settle": json.dumps({"focusOn": {"id": notice.focus}})}
        return self._html(
            "part.html", 200, headers=focus if notice.focus else None, **values, notice=notice,
            csrf=request.scope["csrf"],
            following=self._next_review(request) if is_sent else None,
        )  # fmt: skip

    def _next_review(self, request: Request) -> str | None:
        return self._site.next_review(request.path_params["name"], is_decided=True)

    async def open(self, request: Request) -> Response:
        """Open a session for an unused token. The page leads on: a redirect would be cross-site."""
        token = request.query_params.get("token", "")
        opened = self._site.access.redeem(token) if request.method == "GET" else None
        if opened is None:
            text = "this address was used already, or is not from this server; see `git worker web`"
            return PlainTextResponse(f"{text}\n", 403)
        answer = self._html("open.html", 200)
        answer.set_cookie(
            self._cookie, opened.cookie, httponly=True, samesite="strict", path="/"
        )  # no `secure`: loopback has no TLS
        return answer

    async def static(self, request: Request) -> Response:
        """Answer with a static file by its name in a list."""
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("there is no such file\n", 404)
        headers = {"cache-control": "private, max-age=3600"}
        return Response(self._static[name], media_type=STATIC[name], headers=headers)

    async def events(self, request: Request) -> Response:
        """Answer with the stream of news after the page's own status."""
        stream = self._site.hub.open_stream()
        if stream is None:
            return PlainTextResponse("too many pages are open\n", 503)
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        events = self._site.hub.events(stream, last)
        return _EventStream(events, lambda: self._site.hub.end_stream(stream))

    async def log(self, request: Request) -> Response:
        """Answer with the log of a worker's agent as a stream."""
        worker = request.path_params["worker"]
        try:
            await run_in_threadpool(self._site.service.path, worker)
        except (GitWorkerError, OSError) as error:
            notice = refusal(as_gitworker_error(error))
            return PlainTextResponse(f"{notice.text}\n", notice.status)
        if not self._logs.acquire(blocking=False):
            return PlainTextResponse("too many logs are open\n", 503)
        stream = LogStream(self._site.service, worker)
        return _EventStream(stream.events(), self._logs.release)

    async def count(self, _request: Request) -> Response:
        """Answer with the number of items in the inbox."""
        needs = await run_in_threadpool(self._site.count_needs)
        return self._html("needs.html", 200, needs=needs or 0)

    async def notices(self, _request: Request) -> Response:
        """Answer with the results of the changes that took longer, and show the newest one."""
        notices = self._site.jobs.notices()
        return self._html("late_notices.html", 200, notices=notices, following=None)
