"""The git settings that influence the result of a rebase."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from gitworker.repo.plumbing.git import Git

PATTERN = (
    r"^(commit\.(gpgsign|cleanup)|notes\.rewriteref|merge\.(default|renormalize)|merge\..*\.driver"
    r"|rebase\.backend|i18n\.commitencoding|diff\.algorithm|core\.attributesfile)$"
)
MERGE, DRIVER = "merge.", ".driver"
TRUE = ("true", "yes", "on", "1")
UTF8 = ("utf-8", "utf8")
UI_ALGORITHM = (2, 46)  # since then rebase honours diff.algorithm and merge-tree does not


class RebaseSettings(NamedTuple):
    """The user's settings that a replay needs.

    `needs_rebase`: only a real rebase gives the configured result. `merges_otherwise`: it may also
    conflict elsewhere. `drivers` are the names of merge programs; `attributes_file` is
    core.attributesFile.
    """

    needs_rebase: bool
    merges_otherwise: bool
    drivers: frozenset[str]
    default_driver: str | None
    renormalize: bool
    attributes_file: str | None


def load_rebase_settings(git: Git, known: Mapping[str, str] | None = None) -> RebaseSettings:
    """Return the settings that apply in the directory of `git`, read by one `git config`.

    `known` are all settings there, if they have been read.
    """
    values = _read(git) if known is None else known
    cleanup = values.get("commit.cleanup", "verbatim")
    algorithm = values.get("diff.algorithm", "default")
    merges_otherwise = values.get("rebase.backend") == "apply" or (
        algorithm != "default" and git.version() >= UI_ALGORITHM
    )
    needs_rebase = (
        merges_otherwise
        or _is_true(values.get("commit.gpgsign"))
        or "notes.rewriteref" in values
        or "GIT_NOTES_REWRITE_REF" in os.environ
        or cleanup != "verbatim"
        or values.get("i18n.commitencoding", "utf-8").lower() not in UTF8
    )
    return RebaseSettings(
        needs_rebase=needs_rebase,
        merges_otherwise=merges_otherwise,
        drivers=frozenset(
            name[len(MERGE) : -len(DRIVER)]
            for name in values
            if name.startswith(MERGE) and name.endswith(DRIVER)
        ),
        default_driver=values.get("merge.default"),
        renormalize=_is_true(values.get("merge.renormalize")),
        attributes_file=values.get("core.attributesfile"),
    )


def _read(git: Git) -> dict[str, str]:
    done = git.run("config", "-z", "--get-regexp", PATTERN, ok=(0, 1))
    values: dict[str, str] = {}
    for entry in done.text.split("\0"):
        name, newline, value = entry.partition("\n")
        if name:
            values[name] = value if newline else "true"  # a bare name means true
    return values


def _is_true(value: str | None) -> bool:
    return value is not None and value.lower() in TRUE
