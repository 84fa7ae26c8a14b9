"""One conflict as a view: each file in conflict with its common version and those of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import GitWorkerError, NotFound
from gitworker.model.ids import Oid
from gitworker.model.ref_names import short_name
from gitworker.radar.pair_verdicts import judge, pair_of, scratch_of
from gitworker.radar.replay_verdicts import judge_rebases
from gitworker.radar.rules_conflict import AREAS_AT_MOST, Area, areas_of, kind_words
from gitworker.repo.plumbing.refs import read_branches
from gitworker.repo.replay.attributes import list_attribute_directories, read_attributes
from gitworker.repo.replay.conflict_versions import (
    BASE,
    BYTES_AT_MOST,
    OURS,
    THEIRS,
    merge_texts,
    merged_versions,
    versions_in,
)
from gitworker.repo.replay.merge_pairs import UNNAMED
from gitworker.repo.replay.rebase_plan import NeedsRebase
from gitworker.repo.replay.replay import predict_conflict
from gitworker.session import missing_target

if TYPE_CHECKING:
    from gitworker.repo.replay.conflict_versions import Version, Versions
    from gitworker.session import Session
    from gitworker.store.workers import Worker

FILES_AT_MOST = 50
FILES = {"100644", "100755"}  # the modes of regular files


class ConflictFile(NamedTuple):
    """One file in conflict: how, and the areas of its text or the reason why it has no area.

    `left_out` more areas exist.
    """

    path: str
    kind: str
    areas: tuple[Area, ...] = ()
    note: str = ""
    left_out: int = 0


class StoppedPick(NamedTuple):
    """The commit of the worker at which a rebase onto the target stops."""

    commit: str
    subject: str


class ConflictView(NamedTuple):
    """The conflict of a worker with another one or with its target, at their present tips.

    Without `files` they do not conflict. `stopped`: their tips merge, but this commit does not fit;
    the files are then compared with the target as it is. `left_out` more files conflict.
    """

    worker: str
    other: str
    is_target: bool
    tip: Oid
    other_tip: Oid
    files: tuple[ConflictFile, ...]
    stopped: StoppedPick | None = None
    left_out: int = 0


def read_conflict(session: Session, worker: Worker, other: Worker | None) -> ConflictView:
    """Read the conflict of a worker with another one, else with the branch that it lands on.

    Raises NotFound if one of them has no branch.
    """
    session = session.aimed_at(worker.lands_on)
    target, tip = _tip_of(session, None), _tip_of(session, worker)
    other_tip = target if other is None else _tip_of(session, other)
    view = ConflictView(
        worker.worker_id, other.worker_id if other else short_name(session.target),
        other is None, tip, other_tip, (),
    )  # fmt: skip
    known = _known_files(session, view, target)
    if known == ():
        return view
    holder = target if other is None else min(tip, other_tip)
    directories = sorted(list_attribute_directories(session.git, holder))
    with scratch_of(session) as scratch_dir:
        versions = merged_versions(
            session.repository.common_dir, (tip, other_tip),
            read_attributes(session.git, holder, directories),
            scratch_dir=scratch_dir, git_config=session.git_config,
        )  # fmt: skip
        chosen = {path: one for path, one in versions.items() if not known or path in known}
        if not chosen and other is None:
            view, chosen = _find_pick(session, view, scratch_dir=scratch_dir)
        files = [
            _file(session, view, path, chosen[path], scratch_dir=scratch_dir)
            for path in sorted(chosen)[:FILES_AT_MOST]
        ]
    return view._replace(files=tuple(files), left_out=len(chosen) - len(files))


def json_conflict(view: ConflictView) -> dict[str, Any]:
    """Return a conflict as JSON data."""
    return {
        **view._asdict(), "stopped": view.stopped and view.stopped._asdict(),
        "files": [
            {**one._asdict(), "areas": [area._asdict() for area in one.areas]}
            for one in view.files
        ],
    }  # fmt: skip


def _tip_of(session: Session, worker: Worker | None) -> Oid:
    """Return the tip of a worker's branch, or of the target."""
    if worker is not None and worker.branch is None:
        raise NotFound(f"worker {worker.worker_id} has no branch", "git worker list")
    ref = session.target if worker is None else worker.ref
    found = read_branches(
        session.git, session.repository.common_dir, [ref], git_config=session.git_config
    ).get(ref)
    if found is not None:
        return found
    if worker is None:
        raise missing_target(session)
    raise NotFound(f"branch {worker.branch} does not exist", f"git worker show {worker.worker_id}")


def _known_files(session: Session, view: ConflictView, target: Oid) -> tuple[str, ...] | None:
    """Return the files of the radar's verdict; None if it has none, or without their names."""
    pair = pair_of(view.tip, view.other_tip, target=target)
    if view.is_target:
        files = judge_rebases(session, [view.tip], target=target).files.get(pair)
    else:
        files = judge(session, [pair], target=target).files.get(pair)
    return None if files and UNNAMED in files else files


def _find_pick(
    session: Session, view: ConflictView, *, scratch_dir: str
) -> tuple[ConflictView, dict[str, Versions]]:
    """Return the versions at the commit at which a rebase stops; the tips themselves merge."""
    try:
        found = predict_conflict(
            session.git, target=view.other_tip, topic=view.tip, scratch_dir=scratch_dir,
            runs_programs=False,
        )  # fmt: skip
    except (GitWorkerError, NeedsRebase):  # only the user's merge programs know
        return view, {}
    base = found and session.git.find_oid(f"{found.commit}^")
    if found is None or base is None:
        return view, {}
    stages = {BASE: base, OURS: found.commit, THEIRS: view.other_tip}
    versions = versions_in(session.git, stages, found.paths)
    return view._replace(stopped=StoppedPick(found.commit, found.subject)), versions


def _file(
    session: Session, view: ConflictView, path: str, versions: Versions, *, scratch_dir: str
) -> ConflictFile:
    modes = {one.mode for one in versions.values()}
    kind = kind_words(versions.keys(), modes, ours=view.worker, theirs=view.other)
    found = ConflictFile(path, kind)
    if not modes <= FILES or OURS not in versions or THEIRS not in versions:
        return found._replace(note=_facts(view, versions))
    texts = [versions[at].data if at in versions else b"" for at in (OURS, BASE, THEIRS)]
    known = [one for one in texts if one is not None]
    if len(known) < len(texts):
        note = f"too large to be shown (more than {BYTES_AT_MOST // 1024} KiB)"
        return found._replace(note=f"{note}: {_facts(view, versions)}")
    merged = merge_texts(session.git, known, scratch_dir=scratch_dir)
    if merged is None:
        return found._replace(note=f"binary: {_facts(view, versions)}")
    areas = areas_of(*merged)
    if not areas:
        note = "the lines fit together; git's attributes, a rename or the mode of the file do not"
        return found._replace(note=f"{note}: {_facts(view, versions)}")
    shown = tuple(areas[:AREAS_AT_MOST])
    return found._replace(areas=shown, left_out=len(areas) - len(shown))


def _facts(view: ConflictView, versions: Versions) -> str:
    """Return each version in short."""
    names = {OURS: view.worker, BASE: "common", THEIRS: view.other}
    return ", ".join(
        f"{name} {_fact(versions[stage])}" for stage, name in names.items() if stage in versions
    )


def _fact(version: Version) -> str:
    if version.mode not in FILES and version.data is not None:
        return f"→ {version.data.decode('utf-8', 'surrogateescape')}"
    size = f" {version.size:,} bytes" if version.size else ""
    return f"{version.oid[:10]}{size}"
