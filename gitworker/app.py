"""The composition root: find the repository, prepare its state directory, open the store."""

import os
from collections.abc import Mapping
from contextlib import suppress

from gitworker.bus.caller.identity import caller_identity, find_other_worker, find_worktree_task
from gitworker.config import Settings, load_settings, on_only_remote
from gitworker.errors import Refused, Unavailable
from gitworker.model.ids import HQ, Oid
from gitworker.model.ref_names import short_name
from gitworker.paths import (
    LINK_NAME,
    Repository,
    StatePaths,
    is_bus_directory,
    refuse_second_bus,
    require_repository,
    state_paths,
)
from gitworker.progress import Notice, Progress, ignore
from gitworker.repo.plumbing.opening import (
    OpeningAnswers,
    TargetAnswer,
    ask,
    read_kept_target,
    usual_targets,
)
from gitworker.repo.plumbing.refs import follow_symbolic
from gitworker.repo.worktrees.excludes import EXCLUDE_BEGIN, add_excludes, remove_excludes
from gitworker.repo.worktrees.main_worktree import main_worktree, note_main_worktree
from gitworker.repo.worktrees.ownership import find_named, find_place
from gitworker.rules_text import quoted
from gitworker.session import Session, missing_target
from gitworker.store import backend
from gitworker.store.api import Store
from gitworker.store.target import change_target, find_target, record_target
from gitworker.worktrees.worktree_root import mark_root

DIRECTORIES = ("spool", "hooks", "blobs", "workers", "reviews", "logs", "archive", "locks")


def open_session(
    directory: str | None = None,
    *,
    identity: str | None = None,
    env: Mapping[str, str] | None = None,
    create: bool = True,
    attended: bool = True,
    opening: OpeningAnswers | None = None,
    reads_settings: bool = True,
    report: Progress = ignore,
    is_interactive: bool = False,
) -> Session:
    """Open the repository of a directory (default: the working directory); set it up if `create`.

    `identity` is the caller's, from the option --as; by default GITWORKER_ID, the worktree's
    worker, or `hq`. `opening` holds answers already requested from git; it is ignored if it belongs
    to another repository. A background job is not `attended`: no person reads its output, so it
    changes no recorded target. Without `reads_settings` the target's settings file counts as
    absent, for a repair. `report` and `is_interactive` are those of the session; a changed target
    is reported. Raises Unavailable without a repository, for an unusable state
    directory, a newer schema or an old git; Invalid for a bad setting or identity.
    """
    env = os.environ if env is None else env
    repository = _require_whole(require_repository(directory, env))
    paths = state_paths(repository)
    if opening is None or opening.git.directory != (repository.top or repository.common_dir):
        opening = ask(repository, env, kept=read_kept_target(paths))
    git = opening.git
    main_top = main_worktree(repository)
    store = None
    try:
        if os.path.exists(paths.database):
            store = open_store(paths, repository, main_top, create=create)
        git_config = opening.settings()
        actor = caller_identity(repository, identity, env, directory=directory)
        recorded = None if store is None else find_target(store)
        named = env.get("GITWORKER_TARGET") or git_config.get("worker.target")
        may_change = attended and actor == HQ and find_worktree_task(repository) is None
        chosen = named if recorded is None or may_change else None
        names = [name for name in (chosen or recorded,) if name]
        names = names or usual_targets(git_config)
        target = opening.target(names, reads_settings=reads_settings)
    finally:
        opening.abandon()
    settings = load_settings(file_text=target.settings, git_config=git_config, env=env)
    store = store or open_store(paths, repository, main_top, create=create, report=report)
    if offline := backend.bring_up_to_date(store):
        report(Notice(offline))
    note_main_worktree(paths, repository)
    settings = on_only_remote(settings, git_config, in_fleet=store.fleet_machine is not None)
    session = Session(
        repository=repository,
        paths=paths,
        main_top=main_top,
        git=git,
        store=store,
        settings=settings,
        target=follow_symbolic(repository.common_dir, target.ref),
        actor=actor,
        git_config=git_config,
        settings_from=target.commit if reads_settings else None,
        report=report,
        is_interactive=is_interactive,
        other_worker=find_other_worker(repository, identity, env),
    )
    note = _settle_target(store, target, recorded=recorded, named=named)
    if note:
        report(Notice(note))
    mark_root(session)
    return session


def _not_set_up(repository: Repository, link: str) -> Unavailable:
    """Return the error for a repository without our state; it may lie in one that has it.

    `link` may be a bus of another program, which would become ours.
    """
    words, code = "gitworker is not set up in this repository", "not_initialised"
    if is_bus_directory(link):
        words += f"; {link} holds a bus, which becomes gitworker's if it can be read"
    with suppress(Unavailable):
        outer = require_repository(os.path.dirname(repository.top or "/"))
        if repository.top and outer.top and os.path.exists(state_paths(outer).database):
            hint = f"cd {quoted(outer.top)}   # {repository.top} is another repository inside it"
            return Unavailable(words, hint, code=code)
    return Unavailable(words, "git worker init", code=code)


def _require_whole(repository: Repository) -> Repository:
    """Return a repository that git finds from its checkout without the help of GIT_DIR."""
    if repository.top is None or os.path.lexists(f"{repository.top}/.git"):
        _refuse_copy(repository)
        return repository
    raise Unavailable(
        f"{repository.top} belongs to {repository.git_dir} only by GIT_DIR: git would not find"
        " it from the agents' shells",
        f"echo {quoted(f'gitdir: {repository.git_dir}')} >{quoted(repository.top or '.')}/.git"
        "   # and unset GIT_DIR",
        code="not_a_repository",
    )


def _refuse_copy(repository: Repository) -> None:
    """Raise Refused in a copy of a worktree, whose `.git` file points to the original."""
    top = repository.top
    place = find_place(repository.git_dir) if repository.is_linked and top is not None else None
    if place is None or top is None or place == top or not os.path.isdir(place):
        return
    if find_named(place) != repository.git_dir or os.path.samefile(place, top):
        return
    above = os.path.dirname(top)
    hint = f"cd {quoted(place)}   # the original"
    with suppress(Unavailable):  # the copy is not in a copied repository
        require_repository(above)
        hint = f"cd {quoted(above)} && git worker fsck --repair"
    raise Refused(
        f"{top} is a copy of the worktree {place}: its .git file points to the original",
        hint,
        code="copied_worktree",
    )


def _settle_target(
    store: Store, target: TargetAnswer, *, recorded: str | None, named: str | None
) -> str:
    """Record the target branch once it has a commit; return a note for people, or an empty text."""
    name = short_name(target.ref)
    if recorded is None:
        if target.commit and not store.is_read_only:
            record_target(store, name)
        return ""
    if name == recorded:
        if named in (None, "", recorded):
            return ""
        return (
            f"the target stays {recorded}; the setting {named} takes effect with the next command"
            " outside the workers' worktrees"
        )
    if not target.commit or store.is_read_only or not change_target(store, name, seen=recorded):
        return ""
    return f"the target is now {name}; it was {recorded}"


def open_store(
    paths: StatePaths,
    repository: Repository,
    main_top: str,
    *,
    create: bool,
    report: Progress = ignore,
) -> Store:
    """Return the store; if it does not exist and `create`, prepare the state directory first.

    A project's own directory `.worker-state` with a bus is adopted then. Raises Unavailable if such
    a directory is beside an existing store.
    """
    link = f"{main_top}/{LINK_NAME}"
    if repository.top != main_top:
        refuse_second_bus(paths.root, repository.top)
    if not os.path.lexists(paths.database):
        if not create:
            raise _not_set_up(repository, link)
        _require_utf8(paths.root)
        prepare_state(paths, repository, main_top)
        if backend.adopt_store(paths, link):
            _make_link(paths, main_top)
            report(Notice(f"adopted the bus of {link}; as it was, it is kept in {paths.adopted}"))
        return backend.create_store(paths.database)
    refuse_second_bus(paths.root, main_top)
    _make_link(paths, main_top)
    return backend.open_store(paths.database)


def prepare_state(paths: StatePaths, repository: Repository, main_top: str) -> None:
    """Create the state directory, its link and the excludes; safe to repeat and to race."""
    try:
        os.makedirs(paths.root, mode=0o700, exist_ok=True)
        for name in DIRECTORIES:
            os.makedirs(f"{paths.root}/{name}", mode=0o700, exist_ok=True)
        add_excludes(repository.common_dir)
    except OSError as error:
        is_taken = os.path.lexists(paths.root) and not os.path.isdir(paths.root)
        raise Unavailable(
            f"cannot prepare the state directory {paths.root}: {error.strerror}",
            f"mv {quoted(paths.root)} {quoted(paths.root)}.found"
            if is_taken
            else f"ls -ld {quoted(os.path.dirname(paths.root))}",
            code="read_only",
        ) from error
    _make_link(paths, main_top)


def require_target_tip(session: Session) -> Oid:
    """Return the target's commit; raise Refused if the branch does not exist."""
    tip = session.git.find_oid(session.target)
    if tip is None:
        raise missing_target(session)
    return tip


def _require_utf8(path: str) -> None:
    """Raise Unavailable for a path that SQLite cannot open, because it is not UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise Unavailable(
            f"the path {shown} is not UTF-8, as the database requires",
            "mv <directory> <new-place>   # to a name that is UTF-8",
            code="not_utf8",
        ) from None


def _make_link(paths: StatePaths, main_top: str) -> None:
    """Create the link `.worker-state` again; never replace a file of the user's."""
    link = f"{main_top}/{LINK_NAME}"
    if main_top == os.path.dirname(paths.root) or os.path.lexists(link) or paths.is_uninstalled:
        return
    try:
        os.symlink(os.path.relpath(paths.root, main_top), link)
    except OSError:  # a read-only worktree, or another command has just created it
        return


__all__ = ["EXCLUDE_BEGIN", "Settings", "add_excludes", "open_session", "remove_excludes"]
