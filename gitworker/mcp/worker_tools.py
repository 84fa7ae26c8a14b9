"""The tools of one worker: its task, messages, commits, claims, and the hand-in."""

from __future__ import annotations

import json

from gitworker.mcp.shared_tools import INBOX, SEND, WAIT_MAX_S
from gitworker.mcp.tool import Answer, Tool, as_json, choice, integer, number, text, texts
from gitworker.rules_text import count_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitworker.mcp.tool import Desk

INSTRUCTIONS = (
    "You are {identity}, a worker of gitworker: you work on one task, in your own git worktree, on"
    " your own branch. Begin with `whoami`, which shows your task, then call `progress`."
    " Edit files in your worktree, commit with `commit` (git may be read-only in your shell), read"
    " `inbox` between steps, and hand in with `done`. Your work reaches the target branch only"
    " after a review; never merge or push it yourself. An error names the tool that helps after"
    " `tool:`, if there is one."
)
SHOWN = (
    "worker", "state", "waits_for", "last_error", "task", "target", "branch", "parent", "worktree",
    "review", "returned", "conflicts", "trouble", "next",
)  # fmt: skip
WORKTREE = "worktree"  # the lane of the tools that change the worktree or its state
LEASE_MAX_S = 86_400
# The tool for each command that `show` proposes to a worker.
NEXT_TOOLS = {
    "start": "progress", "resume": "progress", "wait": "inbox", "done": "done", "sync": "sync",
    "send": "send",
}  # fmt: skip
ANSWER_S = 50  # below the limit of a minute that some clients set


def _whoami(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.observe.workers.show_text import json_show, render_show

    shown = desk.service.show()
    found = json_show(shown)
    data = {"identity": desk.identity, **{name: found[name] for name in SHOWN}}
    text = render_show(shown, width=None, color=False)
    command = data["next"].split()
    if command[:2] == ["git", "worker"] and command[2] in NEXT_TOOLS:
        data["next"] = f"the tool {NEXT_TOOLS[command[2]]}"
        text = text.replace(f"next: {found['next']}", f"next: {data['next']}")
    return Answer(text, data)


def _ask(desk: Desk, arguments: dict[str, Any]) -> Answer:
    wait_s = arguments.get("timeout_s", ANSWER_S)
    if arguments.get("to", "hq") == "hq":
        asked = desk.service.ask(
            arguments["text"], options=arguments.get("options", ()), wait_s=wait_s,
            check=desk.stop.check,
        )  # fmt: skip
        return Answer(f"{asked.answered_by} answers: {asked.answer}", {"answer": as_json(asked)})
    answer = desk.service.ask_agent(
        arguments["to"], arguments["text"], timeout_s=wait_s, check=desk.stop.check
    )
    said = answer["payload"]
    words = said.get("text") if isinstance(said, dict) else None
    shown = words if isinstance(words, str) else json.dumps(said)
    return Answer(f"{answer['from']} answers: {shown}", {"answer": answer})


def _progress(desk: Desk, arguments: dict[str, Any]) -> Answer:
    status, progress = arguments.get("status"), arguments.get("progress")
    worker = desk.service.heartbeat(status=status, progress=progress, pid=desk.agent_pid)
    note = arguments.get("note")
    if note is not None:
        desk.service.send_status(note, progress=progress)
    return Answer("reported", {"worker": worker, "status": status, "progress": progress})


def _commit(desk: Desk, arguments: dict[str, Any]) -> Answer:
    done = desk.service.commit(message=arguments["message"], paths=arguments.get("paths", ()))
    left = f"; {count_text(done.left, 'more file')} not committed" if done.left else ""
    head = (
        f"{done.commit[:10]} on {done.worker.branch}: {count_text(len(done.files), 'file')}{left}"
    )
    return Answer("\n  ".join([head, *done.files[:50]]), as_json(done))


def _sync(desk: Desk, arguments: dict[str, Any]) -> Answer:
    synced = desk.service.sync(arguments.get("mode", "start"), adds=True)
    moved = "as before" if synced.new == synced.old else f"before at {synced.old[:10]}"
    place = f"{synced.worker.branch} is at {synced.new[:10]}, {moved}"
    return Answer(f"{place}; {synced.onto} is at {synced.target[:10]}", as_json(synced))


def _conflicts(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.radar.radar_text import json_conflicts, render_conflicts

    found = desk.service.conflicts([desk.identity])
    shown = render_conflicts(found, width=None, color=False)
    return Answer(shown or "no conflicts", json_conflicts(found))


def _claim(desk: Desk, arguments: dict[str, Any]) -> Answer:
    claim = desk.service.take_claim(
        arguments["name"], ttl_s=arguments.get("ttl_s"), wait_s=arguments.get("wait_s", 0)
    )
    return Answer(f"you hold {arguments['name']}", as_json(claim))


def _release(desk: Desk, arguments: dict[str, Any]) -> Answer:
    name = arguments["name"]
    holder = desk.service.release_claim(name, epoch=arguments.get("epoch"))
    return Answer(f"released {name}", {"name": name, "holder": holder})


def _done(desk: Desk, arguments: dict[str, Any]) -> Answer:
    done = desk.service.submit(
        note=arguments.get("note", ""), commit_message=arguments.get("commit_message")
    )
    lines = [f"{done.worker.in_words}: {count_text(done.commits, 'commit')}"]
    if done.conflicts:
        lines += ["the branch conflicts with the target; call sync:", *done.conflicts]
    if done.marked:
        lines += ["conflict markers (<<<<<<<) are committed in:", *done.marked]
    return Answer("\n  ".join(lines), as_json(done))


def _handled(desk: Desk, arguments: dict[str, Any]) -> Answer:
    number = arguments["number"]
    found = desk.service.handle_comment(number, answer=arguments.get("answer", ""))
    return Answer(f"comment {number} is {found.state}", as_json(found))


def _comments(desk: Desk, arguments: dict[str, Any]) -> Answer:
    from gitworker.review.comments.list_comments import json_comments, render_comments

    found = desk.service.review_comments(desk.identity)
    shown = render_comments(found, width=None, color=False)
    return Answer(shown or "there are no comments", json_comments(found))


def _fail(desk: Desk, arguments: dict[str, Any]) -> Answer:
    failed = desk.service.fail(reason=arguments["reason"])
    return Answer(failed.in_words, as_json(failed))


TOOLS: tuple[Tool, ...] = (
    Tool(
        "whoami", _whoami,
        "Show who you are: your task with its whole text, your branch, worktree, state, review.",
        reads=True,
    ),
    INBOX,
    SEND,
    Tool(
        "ask", _ask,
        "Ask a question and wait for the answer. If none comes in time, this fails with the code"
        " timeout, and the question stays open: ask the same text to wait again; the answer also"
        " arrives in the inbox. If you cannot continue without it, end your turn: your task waits.",
        required=("text",), waiting=("timeout_s", ANSWER_S),
        text=text("The question."),
        to=text("A worker, or hq. Default: hq."),
        options=texts("To hq: the possible answers."),
        timeout_s=number(f"How long to wait. Default: {ANSWER_S}.", 0, WAIT_MAX_S),
    ),
    Tool(
        "progress", _progress,
        "Report that you begin or are at work: a sign of life, and your progress.",
        progress=number("The progress, from 0 to 1.", 0, 1),
        status=choice("blocked: you cannot continue without help.", "working", "blocked"),
        note=text("A few words about the current step."),
    ),
    Tool(
        "commit", _commit,
        "Commit in your worktree, with the user's hooks. All changes and new files, or only paths.",
        lane=WORKTREE, required=("message",),
        message=text("The commit message."),
        paths=texts("Only these files or directories, from the top of the worktree.", least=1),
    ),
    Tool(
        "sync", _sync,
        "Rebase your branch onto the target. On a conflict it stops and names the files: edit them,"
        " then call it with mode continue, which also adds them; abort restores the state before.",
        lane=WORKTREE, mode=choice("Default: start.", "start", "continue", "abort"),
    ),
    Tool(
        "conflicts", _conflicts,
        "Show the branches that conflict with yours, with the files.",
        reads=True,
    ),
    Tool(
        "claim", _claim,
        "Reserve something before you change it: path:src/auth/** or KIND:NAME. Heartbeats renew"
        " it.",
        required=("name",), waiting=("wait_s", 0),
        name_=text("The name of the claim."),
        ttl_s=number("How long it lasts. Default: as configured, 60 s.", 1, LEASE_MAX_S),
        wait_s=number("If another agent holds it, wait this long. Default: 0.", 0, WAIT_MAX_S),
    ),
    Tool(
        "release", _release, "Release a claim.", required=("name",),
        name_=text("The name of the claim."),
        epoch=integer("The epoch that `claim` returned: refuse a later claim of yours."),
    ),
    Tool(
        "done", _done,
        "Hand in your commits for review. Uncommitted work is refused, unless commit_message says"
        " how to commit it. The verdict arrives in the inbox.",
        lane=WORKTREE,
        note=text("A note for the reviewer.", empty=True),
        commit_message=text("Commit all uncommitted work first, with this message."),
    ),
    Tool(
        "comments", _comments,
        "List the review comments on your work: number, state, place, words.",
        reads=True,
    ),
    Tool(
        "handled", _handled,
        "Record that you have dealt with a review comment: after the commit, or with an answer.",
        required=("number",),
        number=integer("The number of the comment."),
        answer=text("The answer to the reviewer, if nothing was to be changed."),
    ),
    Tool(
        "fail", _fail, "Give up the task. Branch and worktree stay.", lane=WORKTREE,
        required=("reason",), reason=text("Why the task cannot be done."),
    ),
)  # fmt: skip
