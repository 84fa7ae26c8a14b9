"""exec: run an agent under supervision, from its launch to the consequences of its end.

Work that need not delay the agent is done while it starts: settings, heartbeats, views.
"""

from __future__ import annotations

from gitworker.agents.launch import LaunchContext, launch, require_worker
from gitworker.agents.process.signals import Signals
from gitworker.agents.process.streams import Streams
from gitworker.agents.rules_run import request_text, shell_status
from gitworker.errors import GitWorkerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from gitworker.agents.adapters.agent_call import AgentCall
    from gitworker.agents.adapters.transcript import Transcript
    from gitworker.agents.launch import AgentRun
    from gitworker.agents.process.agent_log import AgentLog
    from gitworker.agents.run_heartbeats import RunHeartbeats as Heartbeats
    from gitworker.config import Settings
    from gitworker.model.run_outcome import Outcome
    from gitworker.session import Session

    T = TypeVar("T")


class RunRequest:
    """The command to run, its time limit, and whether its output is hidden from the caller.

    `on_start` is called once the agent has begun. `is_detached`: the supervisor has no terminal.
    `prompt` replaces the task's text. `auto_resume` chooses whether the agent is resumed if its
    work comes back (None: the setting), `resume_words` the command for that (None: the same).
    `agent` is a known agent; the words are then its own options. `round` is the number of rounds
    so far.
    """

    __slots__ = (
        "agent", "auto_resume", "is_detached", "is_silent", "on_start", "prompt", "resume_words",
        "round", "time_limit_s", "words",
    )  # fmt: skip

    def __init__(
        self,
        words: list[str],
        *,
        time_limit_s: float | None = None,
        is_silent: bool = False,
        agent: AgentCall | None = None,
    ) -> None:
        self.agent = agent
        self.words = words
        self.time_limit_s = time_limit_s
        self.is_silent = is_silent
        self.is_detached = False
        self.on_start: Callable[[AgentRun], None] | None = None
        self.prompt: str | None = None
        self.auto_resume: bool | None = None
        self.resume_words: list[str] | None = None
        self.round = 0

    def resumed(self, prompt: str | None, number: int) -> RunRequest:
        """Return the request that continues this one, in the round of this number."""
        again = RunRequest(
            self.resume_words or self.words, time_limit_s=self.time_limit_s,
            is_silent=self.is_silent, agent=self.agent,
        )  # fmt: skip
        again.is_detached = self.is_detached
        again.prompt, again.resume_words = prompt, self.resume_words
        again.auto_resume, again.round = self.auto_resume, number
        return again


class SupervisedRun:
    """An ended run: its exit status as a shell reports it, the outcome, and the same in words.

    The status of a known agent is 0 if its work was handed in, and 1 otherwise.
    """

    __slots__ = ("message", "outcome", "run", "session", "status")

    def __init__(
        self, run: AgentRun, status: int, outcome: Outcome, *, session: Session | None = None
    ) -> None:
        self.run = run
        self.session = session
        self.status = status
        self.outcome = outcome.kind
        self.message = outcome.text


def supervise(
    post: LaunchContext,
    name: str | None,
    request: RunRequest,
    *,
    open_session: Callable[[], Session],
) -> SupervisedRun:
    """Run a command in a worker's worktree under supervision; return once it has ended.

    Without a prompt, the agent of work that was sent back gets the reason as its prompt.
    `open_session` is called once the agent has begun, and before that for such work. Raises the
    errors of `require_worker` and `launch`, and nothing has started then; afterwards only the end
    of the agent ends this call.
    """
    worker = require_worker(post, name)
    agent = request.agent
    prompt = request.prompt
    if worker.returned_by is not None and prompt is None and (agent is None or not agent.prompt):
        from gitworker.agents.rounds.return_prompt import find_return_prompt  # 10 ms

        session = open_session()
        worker = require_worker(post, name)  # the session may have published a commit
        prompt = find_return_prompt(session, worker)
    words = request.words
    if agent is not None:
        from gitworker.store.scheduling.starts import tokens_left  # 15 ms, for known agents

        with post.store.read() as reader:
            left = tokens_left(reader, worker.task)
        words = agent.words(post.paths, worker, left=left)
    transcript = None if agent is None else agent.transcript()
    signals = Signals()
    try:
        streams = Streams(is_silent=request.is_silent, transcript=transcript)
        try:
            from gitworker.agents.process.agent_log import open_log  # 3 ms: threads

            # before the agent begins: a file of that name that it makes is not ours
            log = open_log(
                post.paths,
                worktree=worker.worktree or "",
                worker=worker.worker_id,
                task=worker.task,
            )
            stored = request_text(
                request.words, is_detached=request.is_detached, time_limit_s=request.time_limit_s,
                agent=agent.adapter.name if agent else None,
                auto_resume=request.auto_resume, number=request.round,
            )  # fmt: skip
            run = launch(post, worker, words, streams, request=stored, prompt=prompt, agent=agent)
            post.store.wait_for_the_fleet()  # the agent works on without it
            if request.on_start is not None:
                request.on_start(run)
            return _supervise_run(
                post,
                run,
                log=log,
                request=request,
                around=(signals, streams, transcript),
                open_session=open_session,
            )
        finally:
            streams.restore()
    finally:
        signals.release()


def _supervise_run(
    post: LaunchContext,
    run: AgentRun,
    *,
    log: AgentLog,
    request: RunRequest,
    around: tuple[Signals, Streams, Transcript | None],
    open_session: Callable[[], Session],
) -> SupervisedRun:
    """Supervise a running agent until its end."""
    from gitworker.agents.monitor import Monitor
    from gitworker.agents.run_heartbeats import RunHeartbeats
    from gitworker.config import Settings

    signals, streams, transcript = around
    streams.begin(log)
    from gitworker.agents.adapters.report import report_of
    from gitworker.agents.finish import Ending, finish  # a newer version may come before the end
    from gitworker.model.run_outcome import Outcome, RunOutcome

    session = _try(lambda: _waiting(open_session()))
    settings = session.settings if session else Settings()
    log.max_bytes = settings.agent_log_max_bytes
    tools = None if transcript is None else transcript.facts.tools
    heartbeats = RunHeartbeats(post, run, every_s=settings.liveness_beat_s, tools=tools)
    heartbeats.start()
    if session is not None:
        _publish_start(session, run)
    waker = _try(lambda: post.store.open_waker())
    watch = Monitor(
        post, run, signals=signals, streams=streams, heartbeats=heartbeats,
        looks=[_looks(session, run, request.agent, transcript), _settings(session, heartbeats)],
        spent=_spent(post, run, request.agent, transcript),
        ends_itself=request.agent is not None and request.agent.adapter.speaks_acp,
    )  # fmt: skip
    grace_s = _stop_grace(post, settings)
    code = watch.until_end(waker, grace_s=grace_s, limit_s=request.time_limit_s)
    heartbeats.stop()
    streams.end()
    try:
        ending = Ending(code, why=watch.why, is_late=watch.is_late, pauses=watch.pauses)
        if transcript is not None and request.agent is not None:
            ending.report = report_of(transcript, request.agent)
            ending.tools = tools
            request.agent.session = ending.report.session
        outcome = finish(
            session or _waiting(open_session()), run, ending, is_attended=streams.has_keys
        )
    except (GitWorkerError, OSError) as error:
        text = f"{run.worker}: the end of its agent could not be recorded: {error}"
        outcome = Outcome(RunOutcome.UNRECORDED, text)
    heartbeats.end()
    signals.release()  # only output remains to be read: a ^C may end that
    streams.wait()
    log.close()
    status = shell_status(code)
    if request.agent is not None:
        status = int(outcome.kind is not RunOutcome.HANDED_IN)
    outcome = outcome._replace(text=outcome.text + _log_trouble(log))
    return SupervisedRun(run, status, outcome, session=session)


def _waiting(session: Session) -> Session:
    """Return a session whose writes wait for a fleet that cannot be reached."""
    session.store.wait_for_the_fleet()
    return session


def _log_trouble(log: AgentLog) -> str:
    """Return lines about output that is not in the worktree's log, "" if all of it is."""
    text = ""
    if log.moved_to:
        text = f"\n.worker.log in the worktree is not the agent's log; see {log.moved_to}"
    if log.lost_bytes:
        text += f"\n{log.lost_bytes} bytes of its output could not be written to its log"
    return text


def _publish_start(session: Session, run: AgentRun) -> None:
    """Update the views that the start has changed, and notify the followers."""
    from gitworker.lifecycle.state_files import publish_views

    _try(lambda: publish_views(session, run.worker))


def _spent(
    post: LaunchContext, run: AgentRun, agent: AgentCall | None, transcript: Transcript | None
) -> Callable[[], str]:
    """Return the call that records new tokens and names a budget that is used up."""
    from gitworker.agents.usage.watch_usage import UsageWatch

    if agent is None or transcript is None:
        return str
    return UsageWatch(post, run, transcript, agent=agent.adapter.name).spent


def _looks(
    session: Session | None, run: AgentRun, agent: AgentCall | None, transcript: Transcript | None
) -> Callable[[], object]:
    """Return the call that publishes new commits of the branch, and records the agent's session."""
    from gitworker.bus.following.branch_watch import BranchWatch

    if session is None:
        return lambda: None
    watch = _try(lambda: BranchWatch(session, run.ref))
    recorded: str | None = None

    def look() -> None:
        nonlocal recorded
        if watch is not None:
            _try(watch.look)
        if agent is None or transcript is None:
            return
        known = transcript.facts.session or agent.session
        if known is not None and known != recorded:
            recorded = known
            _try(lambda: _record_session(session, run, agent.adapter.name, known))

    return look


def _settings(session: Session | None, heartbeats: Heartbeats) -> Callable[[], object]:
    """Return the call that takes a changed interval of heartbeats."""
    from gitworker.liveness.current_settings import SettingsWatch

    watch = None if session is None else _try(lambda: SettingsWatch(session.paths, session.store))

    def look() -> None:
        changed = None if watch is None else _try(watch.look)
        if changed is not None:
            heartbeats.change_interval(changed.liveness_beat_s)

    return look


def _record_session(session: Session, run: AgentRun, agent: str, known: str) -> None:
    """Record the agent's session, so that it is known even if we are killed."""
    from gitworker.store.records.run_results import record_agent_session

    with session.store.write(durable=False) as writer:
        record_agent_session(writer, run.id, agent=agent, session=known)


def _stop_grace(post: LaunchContext, settings: Settings) -> Callable[[], float]:
    """Return the call that reads the grace of a stop: its setting may change while agents run."""

    def read() -> float:
        from gitworker.liveness.current_settings import read_current_settings  # 10 ms, at a stop

        return (read_current_settings(post.paths, post.store) or settings).agent_stop_grace_s

    return read


def _try(call: Callable[[], T]) -> T | None:
    """Return the result of a call, or None if it fails: the running agent still needs us."""
    try:
        return call()
    except (GitWorkerError, OSError):
        return None
