"""agent install and uninstall: our hooks in the settings of agents that a person starts.

Tracked files are never changed: in a worktree the agent's local file is used, which info/exclude
hides from git. A removal restores the bytes of a file that is unchanged since, and takes only our
entries out of any other.
"""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gitworker.agents.environment.own_program import this_program
from gitworker.agents.hooks.rules_settings import AGENTS, attached, detached, has_mark
from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.progress import Notice
from gitworker.repo.pool.parked import list_parked
from gitworker.repo.worktrees.excludes import exclude_link, include_again
from gitworker.repo.worktrees.ownership import is_present, owner_of
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.workers import all_workers
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.populate.attached_files import (
    AttachedFile,
    Attachment,
    attachments_of,
    digest,
    drop_attachment,
    find_attachment,
    has_own_place,
    home_of,
    read_file,
    remove_file,
    topmost_missing,
    user_records,
    write_attachment,
    write_file,
)
from gitworker.worktrees.populate.populate import RECORDS


class AttachedAgent(NamedTuple):
    """An agent and the files in which our hooks were attached or removed."""

    agent: str
    files: tuple[str, ...]


def attach_here(session: Session, agent: str, program: str) -> AttachedAgent:
    """Attach our hooks in the main checkout and in every worker's worktree, and in new ones.

    Raises Refused if the agent's local file is tracked, Invalid if it cannot be extended; nothing
    is changed then.
    """
    local = AGENTS[agent].local
    tops = _worktrees(session, local)
    for top in tops:
        if session.git.at(top).run("--literal-pathspecs", "ls-files", "-z", "--", local).out:
            raise Refused(
                f"{local} is tracked in {top} and is not changed",
                f"git worker agent install {agent} --user",
                code="tracked",
            )
    exclude_link(session.repository.common_dir, local)
    paths = [f"{top}/{local}" for top in tops]
    return _attach(local_records(session), agent, program, paths, local=local)


def detach_here(session: Session, agent: str) -> AttachedAgent:
    """Remove our hooks from the main checkout and all worktrees, also those in the pool."""
    local = AGENTS[agent].local
    tops = [*_worktrees(session, local), *(one.tree for one in list_parked(open_pool(session)))]
    paths = [f"{top}/{local}" for top in tops]
    removed = _detach(local_records(session), agent, paths, main_top=session.main_top)
    include_again(session.repository.common_dir, local)
    return removed


def detach_all(session: Session) -> None:
    """Remove the hooks of all agents that are attached in this repository."""
    for one in attachments_of(local_records(session)):
        detach_here(session, one.agent)
        session.report(Notice(f"the hooks of {one.agent} are removed, too"))


def attach_for_user(agent: str, program: str, env: Mapping[str, str]) -> AttachedAgent:
    """Attach our hooks in the user's own settings of an agent, for all repositories."""
    return _attach(user_records(env), agent, program, [user_file(agent, env)], local="")


def detach_for_user(agent: str, env: Mapping[str, str]) -> AttachedAgent:
    """Remove our hooks from the user's own settings of an agent."""
    return _detach(user_records(env), agent, [user_file(agent, env)])


def user_file(agent: str, env: Mapping[str, str]) -> str:
    """Return the path of the user's settings of an agent."""
    files = AGENTS[agent]
    home = env.get(files.home) if files.home else None
    return f"{home or os.path.join(home_of(env), files.directory)}/{files.user}"


def require_program() -> str:
    """Return the absolute path of `git-worker`, which an agent with another PATH can start."""
    found = this_program()
    if found is None:
        raise NotFound("the program git-worker is not beside its interpreter, nor on PATH",
                       "pip install --force-reinstall gitworker")  # fmt: skip
    return found


def local_records(session: Session) -> str:
    """Return the directory of the records of this repository."""
    return f"{session.paths.root}/{RECORDS}"


def _worktrees(session: Session, local: str) -> list[str]:
    """Return the main checkout, if there is one, and the workers' worktrees.

    Without a worktree whose branch has a link on the way to `local`: it leads to another place.
    """
    common_dir = session.repository.common_dir
    with session.store.read() as reader:
        owners = [owner_of(common_dir, worker) for worker in all_workers(reader)]
    places = [owner.place for owner in owners if owner is not None and is_present(owner)]
    tops = [top for top in places if has_own_place(top, local)]
    for top in set(places) - {*tops}:
        session.report(Notice(f"{local} in {top} is behind a symbolic link and is left alone"))
    return tops if session.main_top == common_dir else [session.main_top, *tops]


def _attach(
    records: str, agent: str, program: str, paths: Iterable[str], *, local: str
) -> AttachedAgent:
    known = find_attachment(records, agent)
    files = dict(known.files) if known is not None else {}
    new: dict[str, bytes] = {}
    for path in paths:
        current = read_file(path)
        recorded = files.get(path)
        if recorded is None or current is None or digest(current) != recorded.after:
            before = _without_ours(current, agent, path)
        else:
            before = recorded.before
        new[path] = _extended(before, agent, program, path)
        made = topmost_missing(path) or (recorded.made if recorded is not None else "")
        files[path] = AttachedFile(before, digest(new[path]), made)
    content = attached(None, agent, program)
    write_attachment(records, Attachment(agent, program, local, content, files))  # before any write
    for path, bytes_ in new.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, bytes_)
    return AttachedAgent(agent, tuple(new))


def _detach(records: str, agent: str, paths: Iterable[str], *, main_top: str = "") -> AttachedAgent:
    known = find_attachment(records, agent)
    files = {} if known is None else known.files
    changed = []
    local = AGENTS[agent].local if main_top else ""
    for path in dict.fromkeys((*files, *paths)):
        top = path.removesuffix(f"/{local}")
        if local and top != main_top and not has_own_place(top, local):
            continue  # its branch has put a link in the way since
        current = read_file(path)
        if current is None or (known is None and not has_mark(current)):
            continue
        file = files.get(path) or _copied(known, path)
        is_unchanged = digest(current) == file.after
        left = file.before if is_unchanged else _without_ours(current, agent, path)
        if left == current:
            continue
        if left is not None:
            write_file(path, left)
        else:
            remove_file(path, made=file.made)
        changed.append(path)
    drop_attachment(records, agent)
    return AttachedAgent(agent, tuple(changed))


def _copied(known: Attachment | None, path: str) -> AttachedFile:
    """Return the record of a file that a new worktree got; an empty one if the record is lost."""
    if known is None:
        return AttachedFile(None, "")
    top = path.removesuffix(known.local)
    made = top + known.local.partition("/")[0]
    return AttachedFile(None, digest(known.content.encode()), made)


def _extended(before: bytes | None, agent: str, program: str, path: str) -> bytes:
    try:
        text = None if before is None else before.decode()
        return attached(text, agent, program).encode()
    except (Invalid, UnicodeDecodeError) as error:
        raise _unusable(path, error) from None


def _without_ours(current: bytes | None, agent: str, path: str) -> bytes | None:
    """Return the bytes of a file without our entries, which a copy of a file may contain."""
    if current is None:
        return None
    try:
        left = detached(current.decode(), agent)
    except (Invalid, UnicodeDecodeError) as error:
        raise _unusable(path, error) from None
    return None if left is None else left.encode()


def _unusable(path: str, error: Exception) -> GitWorkerError:
    reason = error.message if isinstance(error, GitWorkerError) else "it is not UTF-8"
    return Invalid(f"{path}: {reason}", f"cat {quoted(path)}   # edit it")
