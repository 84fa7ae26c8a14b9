"""git worker adopt."""

import click

from gitworker.cli import output
from gitworker.cli.call import Call
from gitworker.cli.fields import worker_fields
from gitworker.cli.options import TaskId, Text, Verb, WorkerId
from gitworker.model import ids
from gitworker.workers.adopt import Adoption, adopt
from gitworker.workers.start import start


@click.command("adopt", cls=Verb)
@click.argument("name", metavar="BRANCH|WORKTREE", type=Text())
@click.argument("worker", type=WorkerId())
@click.argument("task", type=TaskId())
@click.option("--rename", is_flag=True, help="Let the branch be called WORKER/TASK.")
@click.option("--start", "begins", is_flag=True, help="Say at once that work has begun.")
@click.option("--title", metavar="TEXT", type=Text(), default=None, help="What the task is called.")
@click.pass_obj
def command(
    call: Call,
    name: str,
    worker: ids.WorkerId,
    task: ids.TaskId,
    rename: bool,
    begins: bool,
    title: str | None,
) -> None:
    """Take existing work in: a branch, or a worktree made by hand.

    It becomes the worker's, which is ASSIGNED then, as after spawn. A worktree stays where it is,
    with everything in it; a branch without one gets one. A worker's branch is called WORKER/TASK:
    with --rename git renames it, reflog, settings and all; without, another name is refused.
    Standard output gets the worktree's path and nothing else.

    From then on the worktree is the worker's: it goes when the work has landed. Until the worker
    has begun, `git worker undo` gives it back, with the branch's old name. With --start work has
    begun at once, as by `git worker start`.

    \b
      git worker adopt --rename login-form auth login
      git worker adopt --rename ../old-checkout auth login
    """
    session = call.open()
    wanted = Adoption(
        name, worker, task, title=title or "", rename=rename, narrate=output.narrator()
    )
    adopted = adopt(session, wanted)
    spawned = adopted.spawned
    seat = start(session, worker, pid=None) if begins else spawned.worker
    if adopted.renamed_from is not None:
        output.narrate(f"the branch {adopted.renamed_from} is called {spawned.branch} now")
    if call.as_json:
        output.document({
            **worker_fields(seat),
            "path": spawned.path,
            "renamed_from": adopted.renamed_from,
        })  # fmt: skip
    else:
        output.answer_exact(spawned.path)
