"""The tools of an agent that directs workers: it spawns, reviews and lands their work."""

from __future__ import annotations

from gitworker.mcp.shared_tools import INBOX, SEND, WAIT_MAX_S
from gitworker.mcp.tool import (
    Answer,
    Tool,
    as_json,
    choice,
    flag,
    integer,
    number,
    shortened,
    text,
    texts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitworker.mcp.tool import Desk

INSTRUCTIONS = (
    "You direct the workers of a git repository: agents that each do one task, on a branch and in a"
    " worktree of their own. `spawn` gives a worker a task, `status` and `inbox` show the state,"
    " `wait` waits for a worker. Review with `diff` and `comments`, judge with `approve` or"
    " `reject`, and land approved work with `merge`. An error names the tool that helps"
    " after `tool:`, if there is one."
)
ANSWER_S = 50
UNCOMMITTED = "uncommitted"
RANGES = {"request": "request", "review": "review", "whole": None, UNCOMMITTED: None}


def _spawn(desk: Desk, arguments: dict[str, Any]) -> Answer:
    service, agent, task = desk.service, arguments.get("agent"), arguments.get("task")
    title, words = arguments.get("title", ""), arguments.get("text")
    if agent is not None:
        command = service.find_agent(agent).adapter.prompt_words
        service.check_command(command, task=task, has_words=bool(words or title))
        service.require_admitted(arguments["worker"], task, kind=agent)
    spawned = service.spawn(
        arguments["worker"], task, title=title, text=words, start=arguments.get("from")
    )
    worker = spawned.worker
    shown = f"{worker.worker_id} has {worker.task_id} in {spawned.path}"
    if agent is None:
        return Answer(shown, as_json(spawned))
    begun = service.detach(worker.worker_id, [], agent=["--agent", agent])
    return Answer(f"{shown}; {agent} works on it", {**as_json(spawned), "run": begun._asdict()})


def _status(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.observe.workers.status_text import json_status, render_status

    status = desk.service.status(every_subject=False)
    return Answer(render_status(status, width=None, color=False), json_status(status))


def _diff(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.observe.workers.diff import DiffOptions, json_diff, render_diff

    since = arguments.get("since", "whole")
    options = DiffOptions(
        paths=tuple(arguments.get("paths", ())), stat=arguments.get("stat", False),
        since=RANGES[since], uncommitted=since == UNCOMMITTED,
    )  # fmt: skip
    found = desk.service.diff(arguments["worker"], options)
    shown = shortened(render_diff(found, width=None, color=False))
    note = f"note: {found.note}\n" if found.note else ""
    return Answer(note + (shown or "no changes"), {**json_diff(found), "diff": shown})


def _comments(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.observe.workers.show_text import json_show

    found = json_show(desk.service.show(arguments["worker"]))
    said = found["conversation"]
    review = found["review"]
    lines = [f"{one['from']}: {one['text']}" for one in said]
    if review is not None:
        lines.append(f"{review['verdict']} by {review['identity']}: {review['note']}")
    data = {name: found[name] for name in ("worker", "state", "review", "returned")}
    return Answer("\n".join(lines) or "no comments", {**data, "comments": said})


def _approve(desk: Desk, arguments: dict[str, Any]) -> Answer:
    results = desk.service.approve(
        _workers(arguments), note=arguments.get("note", ""), at=arguments.get("at")
    )
    return _outcomes(as_json(results), "approved", "nothing waits for a review")


def _reject(desk: Desk, arguments: dict[str, Any]) -> Answer:
    rejected = desk.service.reject(arguments["worker"], note=arguments["note"])
    return Answer(rejected.worker.in_words, as_json(rejected))


def _merge(desk: Desk, arguments: dict[str, Any]) -> Answer:
    workers = _workers(arguments)
    if arguments.get("dry_run", False):
        planned = as_json(desk.service.plan_merge(workers, everything=not workers))
        lines = [f"window {one['window']}: {one['worker']}" for one in planned]
        return Answer("\n".join(lines) or "nothing is approved", {"plan": planned})
    results = desk.service.merge(workers, everything=not workers)
    return _outcomes(as_json(results), "landed", "nothing is approved")


def _queue(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.landing.queue_status import json_lineup
    from gitworker.landing.queue_text import render_lineup

    found = desk.service.queue()
    shown = render_lineup(found, width=None, color=False)
    return Answer(shown or "the queue is empty", json_lineup(found))


def _resume(desk: Desk, arguments: dict[str, Any]) -> Answer:
    name = arguments["worker"]
    begun, agent = desk.service.restart(name), arguments.get("agent")
    if begun is None and agent is not None:
        begun = desk.service.detach(name, [], agent=["--agent", agent])
    if begun is None:
        worker = desk.service.resume(name)
        return Answer(worker.in_words, as_json(worker))
    shown = as_json(desk.service.show(name).worker)
    return Answer(f"{begun.worker} runs again: {begun.command}", {**shown, "run": begun._asdict()})


def _wait(desk: Desk, arguments: dict[str, Any]) -> Answer:
    waited = desk.service.wait(
        arguments["worker"], arguments.get("for"),
        timeout_s=arguments.get("timeout_s", ANSWER_S), also=desk.stop.descriptors(),
    )  # fmt: skip
    return Answer(waited.in_words, as_json(waited))


def _show(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.observe.workers.show_text import json_show, render_show

    found = desk.service.show(arguments["worker"])
    return Answer(shortened(render_show(found, width=None, color=False)), json_show(found))


def _questions(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.questions.question_list import json_questions, render_questions

    found = desk.service.questions()
    shown = render_questions(found, width=None, color=False)
    return Answer(shown or "no worker waits for an answer", json_questions(found))


def _reply(desk: Desk, arguments: dict[str, Any]) -> Answer:
    replied = desk.service.reply(
        arguments["name"], arguments["text"], number=arguments.get("question")
    )
    worker = replied.question.worker_id
    return Answer(f"{worker} has the answer; next: {replied.next}", as_json(replied))


def _cancel(desk: Desk, arguments: dict[str, Any]) -> Answer:
    freed = desk.service.cancel(arguments["worker"])
    kept = f"; its work is kept under {freed.rescue_ref}" if freed.rescue_ref else ""
    return Answer(f"{freed.worker.in_words}{kept}", as_json(freed))


def _stop(desk: Desk, arguments: dict[str, Any]) -> Answer:
    name = arguments["worker"]
    order = desk.service.order(name, "stop", reason=arguments.get("reason", ""))
    return Answer(order.text("stop"), as_json(order))


def _undo(desk: Desk, arguments: dict[str, Any]) -> Answer:
    undone = desk.service.undo(arguments.get("number"))
    lines = [one.words for one in undone.skipped]
    return Answer("\n".join([*lines, f"undid {undone.kind}: {undone.message}"]), as_json(undone))


def _workers(arguments: dict[str, Any]) -> list[str]:
    """Return the workers that a call names, by either argument; none of them means all."""
    named = [arguments["worker"]] if "worker" in arguments else []
    return [*named, *arguments.get("workers", [])]


def _outcomes(results: list[dict[str, Any]], key: str, nothing: str) -> Answer:
    """Return one line for each worker: the outcome, or the error that prevented it."""
    lines = []
    for one in results:
        if one[key]:
            lines.append(f"{one['worker']} {key} at {one['commit'][:10]}")
        else:
            error = one["error"]
            hint = f" (hint: {error['hint']})" if error["hint"] else ""
            lines.append(f"{one['worker']} not {key}: {error['message']}{hint}")
    return Answer("\n".join(lines) or nothing, {"results": results})


TOOLS: tuple[Tool, ...] = (
    Tool(
        "spawn", _spawn,
        "Give a worker a task: a branch and a worktree. The worker is created if it is new. With"
        " `agent` that program works on the task in the background, and hands in when it ends;"
        " otherwise send an agent to the path that is returned.",
        required=("worker",),
        worker=text("A name such as auth: lower-case letters, digits, hyphens."),
        task=text("The task's id. Default: made of the title or the text."),
        title=text("The task's title."),
        text=text("The work to do, as the worker will read it."),
        from_=text("A revision, or another worker whose work this builds on. Default: the target."),
        agent=text("A known agent, such as claude or codex. Default: none is started."),
    ),
    Tool("status", _status, "Show all workers with state, progress and news.", reads=True),
    INBOX,
    SEND,
    Tool(
        "diff", _diff, "Show the changes of a worker, by default those that would land.",
        reads=True, required=("worker",),
        worker=text("A worker, a task or a branch."),
        paths=texts("Only these files or directories."),
        stat=flag("Only the summary by file."),
        since=choice(
            "request: since the last hand-in; review: since the commit that was judged last;"
            " uncommitted: the uncommitted work. Default: whole.", *RANGES,
        ),
    ),
    Tool(
        "comments", _comments,
        "Show the conversation about a worker's task: requests, verdicts, questions, notes.",
        reads=True, required=("worker",), worker=text("A worker, a task or a branch."),
    ),
    Tool(
        "approve", _approve,
        "Approve work that was handed in; it is rebased onto the target, and `merge` lands it.",
        worker=text("One worker."),
        workers=texts("Several workers. Default: all that wait for a review.", least=1),
        note=text("A note for the worker.", empty=True),
        at=text("For one worker: the newest commit that you have seen."),
    ),
    Tool(
        "reject", _reject, "Send work back to its worker with a request for changes.",
        required=("worker", "note"),
        worker=text("A worker, a task or a branch."), note=text("The requested changes."),
    ),
    Tool(
        "merge", _merge,
        "Land approved work on the target, after the verify commands have passed. May take long.",
        worker=text("One worker."),
        workers=texts(
            "Several workers. Default: all approved work, in the queue's order.", least=1
        ),
        dry_run=flag("Only show the windows in which the work would land."),
    ),
    Tool("queue", _queue, "Show the landing queue and the last landings.", reads=True),
    Tool(
        "resume", _resume,
        "Take up failed, stale or returned work of a worker in place. If its agent has ended, the"
        " last command of the task runs again in the background; a known agent continues its"
        " session.",
        required=("worker",), worker=text("A worker, a task or a branch."),
        agent=text("A known agent, such as claude, to start if none has worked on the task yet."),
    ),
    Tool(
        "show", _show, "Show one worker: its task, branch, review, trouble and last events.",
        reads=True, required=("worker",), worker=text("A worker, a task or a branch."),
    ),
    Tool(
        "questions", _questions,
        "List the questions of workers that wait for an answer, with their options.", reads=True,
    ),
    Tool(
        "reply", _reply, "Answer the question of a worker; its task then continues.",
        required=("name", "text"),
        name_=text("The task or the worker that asks."),
        text=text("The answer; one of the options, if the question has any."),
        question=integer("The number of the question, if there are several."),
    ),
    Tool(
        "cancel", _cancel,
        "Withdraw a worker's task. Its work is kept under a rescue ref, and `undo` restores it.",
        required=("worker",), worker=text("A worker, a task or a branch."),
    ),
    Tool(
        "stop", _stop, "Stop a worker's agent; its files stay as they are.",
        required=("worker",), worker=text("A worker, a task or a branch."),
        reason=text("The reason, for the agent and the log."),
    ),
    Tool(
        "undo", _undo, "Undo the newest operation that can be undone, or the one with a number.",
        number=integer("The number of the operation."),
    ),
    Tool(
        "wait", _wait,
        "Wait until a worker is no longer at work, or has a verdict, has landed, or is in a state."
        " Without that in time this fails with the code timeout.",
        reads=True, required=("worker",), waiting=("timeout_s", ANSWER_S),
        worker=text("A worker, a task or a branch."),
        for_=text("verdict, landed, or a state such as in_review. Default: not at work."),
        timeout_s=number(f"How long to wait. Default: {ANSWER_S}.", 0, WAIT_MAX_S),
    ),
)  # fmt: skip
