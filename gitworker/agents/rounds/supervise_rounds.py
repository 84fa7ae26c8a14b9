"""Supervise an agent, and resume it with the reason each time that its work comes back.

After a limit of its model's vendor it continues once the limit has ended. That is no round.

The supervisor keeps command and environment in memory and waits on the bus, so that no key of the
agent is stored. This module is on the hot path of `exec`: it imports the rest after the agent.
"""

from __future__ import annotations

from gitworker.agents.supervise import supervise
from gitworker.errors import GitWorkerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.agents.launch import AgentRun, LaunchContext
    from gitworker.agents.rounds.rules_rounds import Step
    from gitworker.agents.supervise import RunRequest, SupervisedRun
    from gitworker.config import Settings
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.runs import Run
    from gitworker.store.workers import Worker


def supervise_rounds(
    post: LaunchContext,
    name: str | None,
    request: RunRequest,
    *,
    open_session: Callable[[], Session],
    report: Callable[[str], object] = lambda _: None,
) -> SupervisedRun:
    """Supervise an agent as `supervise` does, then its rounds if they are switched on.

    A round begins when changes were requested, a conflict was found or the verify commands failed:
    the agent runs again with the reason as its prompt. Returns the last run once the work has
    landed or was withdrawn, an agent has ended without handing it in, or all rounds are used.
    `report` gets the outcome of each run that is not the last.
    """
    ended = supervise(post, name, request, open_session=open_session)
    session = ended.session
    if session is None or not _is_on(request, session.settings):
        return ended
    from gitworker.agents.rounds.rules_rounds import PAUSES_MAX, Step  # 10 ms: only with rounds

    rounds, pauses = request.round, 0
    while (step := _step(session, ended.run)[0]) is not Step.END:
        if (step is Step.PAUSE and pauses == PAUSES_MAX) or (
            step is not Step.PAUSE and rounds >= session.settings.agents_rounds
        ):
            break
        report(ended.message)
        if step is Step.PAUSE:
            pauses += 1
            again = _after_limit(session, ended.run, request, tries=pauses, number=rounds)
        else:
            rounds, pauses = rounds + 1, 0
            again = _after_return(session, ended.run, request, number=rounds)
        if again is None:
            ended.message = _present_state(session, ended.run)
            break
        try:
            ended = supervise(post, ended.run.worker, again, open_session=lambda: session)
        except GitWorkerError as error:  # a person has resumed it in the meantime
            report(f"{ended.run.worker} could not be resumed: {error.message}")
            break
    return ended


def wait_for_round(session: Session, run: AgentRun) -> str | None:
    """Wait while the work of an ended run is in review; return the prompt if it comes back.

    Returns None if it does not: it has landed, or another command or agent has taken over.
    """
    from gitworker.agents.rounds.return_prompt import prompt_of_return
    from gitworker.agents.rounds.rules_rounds import Step
    from gitworker.workers.wait import moments

    for _ in moments(session, None):
        step, worker = _step(session, run)
        if step is Step.RESUME and worker is not None:
            return prompt_of_return(session, worker)
        if step is Step.END:
            return None
    return None


def wait_for_limit(session: Session, run: AgentRun, *, tries: int) -> bool:
    """Wait until the limit that ended a run is over; return False if its worker has changed."""
    from gitworker import clock
    from gitworker.agents.rounds.rules_rounds import Step, pause_s
    from gitworker.store.records.run_results import find_run_result
    from gitworker.workers.wait import moments

    with session.store.read() as reader:
        last = find_run_result(reader, run.worker, run.task)
    assert last is not None
    now = clock.now_ms()
    left_s = pause_s(last.failure or "", last.resets_at_ms, tries=tries, now=now)
    for _ in moments(session, left_s):
        if _step(session, run)[0] is not Step.PAUSE:
            return False
        if clock.now_ms() >= now + left_s * 1000:  # the machine slept meanwhile
            break
    return True


def _is_on(request: RunRequest, settings: Settings) -> bool:
    chosen = request.auto_resume
    return settings.agents_auto_resume if chosen is None else chosen


def _after_return(
    session: Session, run: AgentRun, request: RunRequest, *, number: int
) -> RunRequest | None:
    """Return the request of the next round once the work of a run came back, else None."""
    prompt = wait_for_round(session, run)
    if prompt is None:
        return None
    text = f"round {number} of {session.settings.agents_rounds}: its work was sent back"
    _publish(session, run, text)
    return request.resumed(prompt, number)


def _after_limit(
    session: Session, run: AgentRun, request: RunRequest, *, tries: int, number: int
) -> RunRequest | None:
    """Return the request that continues a run once its limit is over; None if that is not wanted.

    Without a session it is the first request again.
    """
    from gitworker.agents.rounds.rules_rounds import CONTINUED

    if not wait_for_limit(session, run, tries=tries):
        return None
    _publish(session, run, "the limit of its model is over")
    has_session = request.agent is not None and request.agent.session is not None
    return request.resumed(CONTINUED if has_session else request.prompt, number)


def _step(session: Session, run: AgentRun) -> tuple[Step, Worker | None]:
    """Return the next step after an ended run, and its worker."""
    from gitworker.agents.rounds.rules_rounds import RoundFacts, Step, next_step
    from gitworker.model.run_outcome import LIMITS
    from gitworker.observe.usage_limit import find_limit
    from gitworker.store.records.runs import find_latest_run
    from gitworker.store.tasks import find_task
    from gitworker.store.workers import find_worker

    with session.store.read() as reader:
        worker = find_worker(reader, run.worker)
        if worker is None:
            return Step.END, None
        task = find_task(reader, run.task)
        limit = find_limit(reader, worker, task.status if task else None)
        latest = find_latest_run(reader, run.worker)
        is_stopped = latest is not None and _has_stop_order(session, reader, latest)
    is_ours = worker.task_id == run.task and latest is not None and latest.id == run.id
    facts = RoundFacts(
        worker.state, worker.stale_from, is_ours, worker.returned_by, worker.waits_for_author,
        has_limit=limit is not None and limit.code in LIMITS, is_stopped=is_stopped,
    )  # fmt: skip
    return next_step(facts), worker


def _has_stop_order(session: Session, reader: Reader, latest: Run) -> bool:
    """Return whether an order to stop came that the supervisor of the last run did not see."""
    from gitworker.agents.orders import read_orders
    from gitworker.model.message import STOP
    from gitworker.store.messages.mailbox import cursor_of
    from gitworker.store.records.runs import find_start_message

    began = find_start_message(reader, latest) or 0
    after = max(began, cursor_of(reader, f"{latest.worker_id}.supervisor"))
    orders = read_orders(reader, session.paths, worker=latest.worker_id, after=after)
    return any(one.command == STOP for one in orders)


def _present_state(session: Session, run: AgentRun) -> str:
    worker = _step(session, run)[1]
    return worker.in_words if worker else f"{run.worker} does not exist"


def _publish(session: Session, run: AgentRun, text: str) -> None:
    """Publish why the agent is resumed."""
    from gitworker import clock
    from gitworker.bus.publish import log_message, publish

    with session.store.write() as writer:
        entry = log_message(run.worker, run.task, "auto_resume", text)
        publish(writer, entry, now=clock.now_ms())
