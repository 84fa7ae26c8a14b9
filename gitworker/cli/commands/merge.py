"""git worker merge."""

from typing import Any

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import short
from gitworker.cli.options import Verb, WorkerName
from gitworker.errors import Invalid
from gitworker.workers.merge import Landed, NotLanded, merge


@click.command("merge", cls=Verb)
@click.argument("workers", nargs=-1, type=WorkerName(), metavar="[WORKER]...")
@click.option("--all", "everything", is_flag=True, help="Land whatever is approved, oldest first.")
@click.option("--keep", is_flag=True, help="Keep worktrees and branches.")
@click.pass_obj
def command(call: Call, workers: tuple[str, ...], everything: bool, keep: bool) -> int:
    """Land approved work on the target.

    One worker after the other: replayed onto the target if that has moved, then fast-forwarded; the
    target's history stays linear and uncommitted work in its checkout is never touched. A landed
    worker is COMPLETED; its worktree and branch go, unless --keep says otherwise or a process lives
    there. A worker that cannot land is reported and stops nobody else; the status is the worst one.

    \b
      git worker merge auth
      git worker merge --all
    """
    if everything == bool(workers):
        raise Invalid("name workers, or say --all", "git worker merge --all", code="usage")
    results = merge(call.open(), list(workers), everything=everything, keep=keep)
    if call.as_json:
        output.document({"results": [_fields(result) for result in results]})
    else:
        _tell(results)
    return max(
        (result.error.status for result in results if isinstance(result, NotLanded)), default=0
    )


def _tell(results: list[Landed | NotLanded]) -> None:
    for result in results:
        if isinstance(result, NotLanded):
            output.complain(result.error, about=result.worker_id)
            continue
        target = result.target.removeprefix("refs/heads/")
        output.answer(f"{result.worker.worker_id} landed: {target} is at {short(result.commit)}")
        if result.kept:
            output.narrate(f"kept {result.kept}: {result.kept_why}")
    if not results:
        output.answer("nothing is approved")


def _fields(result: Landed | NotLanded) -> dict[str, Any]:
    if isinstance(result, NotLanded):
        return {
            "worker": result.worker_id,
            "landed": False,
            "error": output.error_fields(result.error),
        }
    return {
        "worker": result.worker.worker_id,
        "landed": True,
        "task": result.worker.task_id,
        "commit": result.commit,
        "target": result.target.removeprefix("refs/heads/"),
        "kept": result.kept,
        "kept_why": result.kept_why,
    }
