"""Carry out one claimed run: the context steps, the prompt, the action, and its record."""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.automations.capped_run import Ended, run_capped
from gitworker.automations.change import require_automation
from gitworker.automations.fire import life_of, this_process
from gitworker.automations.rules_automation import (
    COMMAND,
    OUTPUT_MAX,
    TASK,
    capped,
    over_budget,
    render_prompt,
)
from gitworker.errors import GitWorkerError, NotFound, Refused
from gitworker.liveness.life_lock import LifeLock
from gitworker.model.ids import parse_task_id, parse_worker_id
from gitworker.store.planning.automations import (
    COMPLETED,
    FAILED,
    Automation,
    AutomationRun,
    RunEnd,
    end_run,
    find_automation_run,
    take_run,
)
from gitworker.store.records.run_results import find_run_result
from gitworker.store.tasks import all_task_ids
from gitworker.store.workers import all_workers
from gitworker.tasks.queue.add_task import NewTask, add_task
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.rules_task_id import free_task_id
from gitworker.workers.task_verbs.stop_agent import stop_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.session import Session

STEP_LIMIT_S = 60
ACTION_LIMIT_S = 3600
AGENT_LIMIT_S = 86_400  # agents have limits of their own
SHELL = ("/bin/sh", "-c", 'exec 2>&1; eval "$GITWORKER_COMMAND"')


class _Done(NamedTuple):
    """The outcome of an action; `error` is empty if it succeeded."""

    facts: dict[str, Any]
    error: str = ""
    response: str | None = None
    tokens: int = 0


def carry_out(session: Session, run_id: str) -> AutomationRun:
    """Carry out a claimed run in this process; return its record.

    Raises NotFound for an unknown run, Refused if another process carries it out or it has ended.
    """
    life = LifeLock(session.paths, life_of(run_id))
    try:
        automation, run = _take(session, run_id, life)
    except (NotFound, Refused):  # another process has it, or it has ended
        life.end()
        raise
    try:
        ended = _carry_out_and_record(session, automation, run)
    except BaseException:  # the row says that it runs; the free lock proves that it does not
        life.release()
        raise
    life.end()
    return ended


def _take(session: Session, run_id: str, life: LifeLock) -> tuple[Automation, AutomationRun]:
    """Take a claimed run, so that no other process carries it out."""
    pid, start, boot_id = this_process()
    with session.store.write() as writer:
        run = find_automation_run(writer, run_id)
        if run is None:
            raise NotFound(f"there is no run {ascii(run_id)[:80]}", "git worker automation list")
        life.take()  # before the row names us: without the lock we would count as killed
        if not take_run(writer, run_id, pid=pid, start=start, boot_id=boot_id):
            raise Refused(
                f"the run {run_id} is carried out by another process, or has ended",
                f"git worker automation history {run.automation_id}",
                code="moved_on",
            )
        return require_automation(writer, run.automation_id), run


def _carry_out_and_record(
    session: Session, automation: Automation, run: AutomationRun
) -> AutomationRun:
    try:
        end = _carry_out(session, automation, run)
    except GitWorkerError as error:
        end = RunEnd(FAILED, skipped_reason=error.message)
    except OSError as error:
        end = RunEnd(FAILED, skipped_reason=f"a process could not be started: {error.strerror}")
    with session.store.write() as writer:
        end_run(writer, run.id, end, now=clock.now_ms())
        ended = find_automation_run(writer, run.id)
    assert ended is not None, run.id
    return ended


def _carry_out(session: Session, automation: Automation, run: AutomationRun) -> RunEnd:
    event = run.event_data or ""
    variables = {"GITWORKER_AUTOMATION": automation.id, "GITWORKER_EVENT": event}
    results = [
        _shell(session, command, variables, limit_s=STEP_LIMIT_S)
        for command in automation.context_steps
    ]
    values = {f"step_{number}": one.output for number, one in enumerate(results)}
    prompt = render_prompt(automation.prompt_template, {**values, "event": event})
    end = RunEnd(
        COMPLETED,
        context_results=json.dumps([one._asdict() for one in results]),
        prompt_sent=prompt or None,
    )
    try:
        done = _act(session, automation, prompt, variables)
    except GitWorkerError as error:
        return end._replace(status=FAILED, skipped_reason=error.message)
    why = done.error or over_budget(done.tokens, automation.max_tokens_per_run)
    return end._replace(
        status=FAILED if why else COMPLETED, skipped_reason=why or None, llm_response=done.response,
        actions_taken=json.dumps([done.facts]), tokens_used=done.tokens,
    )  # fmt: skip


def _act(
    session: Session, automation: Automation, prompt: str, variables: Mapping[str, str]
) -> _Done:
    action = automation.action
    if action["type"] == COMMAND:
        ended = _shell(
            session, action["command"], {**variables, "GITWORKER_PROMPT": prompt},
            limit_s=ACTION_LIMIT_S,
        )  # fmt: skip
        facts = {"type": COMMAND, "command": action["command"], **ended._asdict()}
        return _Done(facts, f"the command ended with status {ended.status}" if ended.status else "")
    if action["type"] == TASK:
        task = _add_task(session, automation, title=action["title"], prompt=prompt)
        return _Done({"type": TASK, "task": task})
    return _run_agent(session, automation, agent=action["agent"], prompt=prompt)


def _shell(
    session: Session, command: str, variables: Mapping[str, str], *, limit_s: float
) -> Ended:
    """Run a command of the user in the main checkout; text from events is in variables only."""
    return run_capped(
        SHELL, cwd=session.main_top, variables={**variables, "GITWORKER_COMMAND": command},
        limit_s=limit_s,
    )  # fmt: skip


def _add_task(session: Session, automation: Automation, *, title: str, prompt: str) -> str:
    with session.store.read() as reader:
        task = free_task_id(parse_task_id(automation.id), all_task_ids(reader))
    fields = TaskFields(title=title or automation.title or automation.id, text=prompt or None)
    return add_task(session, NewTask(task, fields)).task


def _run_agent(session: Session, automation: Automation, *, agent: str, prompt: str) -> _Done:
    """Let an agent work on a new task with the prompt as its text, in a worktree of its own."""
    with session.store.read() as reader:
        taken = {one.worker_id for one in all_workers(reader)}
        task = free_task_id(parse_task_id(automation.id), all_task_ids(reader))
    base = "".join(char if char.isalnum() else "-" for char in automation.id.lower())[:50]
    names = (f"auto-{base}" if number == 1 else f"auto-{base}-{number}" for number in count(1))
    worker = parse_worker_id(next(name for name in names if name not in taken))

    is_stopped, cap = False, automation.max_tokens_per_run

    def stop_if_over() -> None:
        nonlocal is_stopped
        if not is_stopped and over_budget(_tokens(session, worker, task), cap):
            is_stopped = True
            stop_agent(session, worker, task, reason="the tokens of the automation are used up")

    argv = [
        sys.executable, "-P", "-m", "gitworker", "spawn", worker, task, "--agent", agent,
        "-m", prompt, "--as", session.actor,
    ]  # fmt: skip
    ended = run_capped(
        argv, cwd=session.main_top, variables={}, limit_s=AGENT_LIMIT_S, look=stop_if_over
    )
    with session.store.read() as reader:
        result = find_run_result(reader, worker, task)
    outcome = None if result is None else result.outcome
    facts = {"type": "agent", "agent": agent, "worker": worker, "task": task, "outcome": outcome}
    return _Done(
        facts, f"agent {agent} ended with status {ended.status}" if ended.status else "",
        capped(ended.output, OUTPUT_MAX), _tokens(session, worker, task),
    )  # fmt: skip


def _tokens(session: Session, worker: str, task: str) -> int:
    with session.store.read() as reader:
        result = find_run_result(reader, worker, task)
    return 0 if result is None else (result.input_tokens or 0) + (result.output_tokens or 0)
