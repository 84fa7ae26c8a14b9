"""Decisions about the order of files on a page, by risk. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.review.rules_patch import FilePatch

GENERATED, VENDORED = "generated", "vendored"
FOLDED_BY = {"linguist-generated": GENERATED, "linguist-vendored": VENDORED}
UNSET = frozenset({"unspecified", "unset", "false"})


class PageFile(NamedTuple):
    """A file of a page: its change, the reasons for its risk, and the reason to fold it."""

    patch: FilePatch
    risks: tuple[str, ...]
    folded: str | None


def order_files(
    files: Sequence[FilePatch],
    folded: Mapping[str, str],
    *,
    conflicts: Sequence[tuple[str, Sequence[str]]],
    claims: Sequence[tuple[str, str, str]],
) -> tuple[PageFile, ...]:
    """Return files in conflict first, then those that others have claimed, folded ones last.

    `conflicts` are the names of branches with the files, `claims` holder, claim and path.
    """
    found = [PageFile(one, _risks(one, conflicts, claims), folded.get(one.path)) for one in files]
    conflicting = {name for _, names in conflicts for name in names}

    def rank(one: PageFile) -> tuple[bool, bool, bool]:
        is_conflict = not conflicting.isdisjoint({one.patch.path, one.patch.change.old_path})
        return one.folded is not None, not is_conflict, not one.risks

    return tuple(sorted(found, key=rank))


def folded_paths(answers: Sequence[str]) -> dict[str, str]:
    """Return the reason to fold each path, from the fields of `git check-attr -z`."""
    found: dict[str, str] = {}
    for path, name, value in zip(answers[::3], answers[1::3], answers[2::3], strict=False):
        if value not in UNSET:
            found.setdefault(path, FOLDED_BY[name])
    return found


def _risks(
    file: FilePatch,
    conflicts: Sequence[tuple[str, Sequence[str]]],
    claims: Sequence[tuple[str, str, str]],
) -> tuple[str, ...]:
    names = {file.path, file.change.old_path}
    risks = [f"conflicts with {name}" for name, files in conflicts if not names.isdisjoint(files)]
    risks += [f"claimed by {holder} ({claim})" for holder, claim, path in claims if path in names]
    return tuple(risks)
