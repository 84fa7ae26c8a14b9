"""Names and places of the hooks: the shipped scripts, the files of the shim directory."""

import os

from gitworker.errors import Internal
from gitworker.paths import STATE_DIR_NAME

DRAIN_HOOKS = ("post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite")
ALWAYS = (*DRAIN_HOOKS, "pre-commit")
# If git calls only the shims, these always have one: a hook that the user adds runs at once, and a
# commit pays nothing for them.
BESIDE_COMMITS = (
    "applypatch-msg", "pre-applypatch", "pre-auto-gc", "pre-merge-commit", "pre-push", "pre-rebase",
    "sendemail-validate",
)  # fmt: skip
COMMITTED = "post-commit"
ANY_HOOK = "any-hook"  # the script for every other hook that the user has
SHARED = "gitworker.sh"  # read by the other scripts; it carries the settings
STAMP = "stamp"  # the sources of the shims; newer sources make the shims stale
SEEN = "hooks-seen"  # in the state directory: empty files with the times of the sources
CONFIG_HOOKS = "gitconfig"  # config hooks for git >= 2.54, included by worker worktrees
FOUND = "hooks-found"  # in the state directory: hooks that others installed in the shim directory
PLACE = f"/{STATE_DIR_NAME}/hooks"  # identifies the shim directory, even in a moved repository
ID_LINE = b"# gitworker-shim 1"  # identifies a script of gitworker
PLAIN = str.maketrans("", "", "/._-+,:@")  # safe in a shell, like letters and digits


def hook_sources() -> str:
    """Return the directory of the shipped scripts, in a wheel or in a checkout.

    Raises Internal if the installation lacks them.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for directory in (f"{package}/_githooks", f"{os.path.dirname(package)}/githooks"):
        if os.path.exists(f"{directory}/{SHARED}"):
            return directory
    raise Internal(
        "this installation lacks its git hooks", "pip install --force-reinstall gitworker"
    )


def is_hook_name(name: str) -> bool:
    """Return whether git could call a file of this name as a hook.

    Every hook of githooks(5) has a dash in its name except `update`, and none has a dot. The check
    of the form also accepts hooks that a later git adds.
    """
    letters = name.replace("-", "")
    return name == "update" or ("-" in name and letters.isascii() and letters.isalnum())


def shell_quoted(text: str) -> str:
    """Return `text` as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def hook_command(path: str) -> str:
    """Return the `hook.<name>.command` that starts a script.

    Unquoted if possible: for a command with a character special to a shell, quotes included, git
    starts a shell, and the hook takes half as long again.
    """
    letters = path.translate(PLAIN)
    return path if letters.isascii() and letters.isalnum() else shell_quoted(path)


def config_escaped(text: str) -> str:
    """Return `text` as git writes it inside a configuration value (git-config(1), Syntax)."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return text


def is_named(content: bytes | None, path: str) -> bool:
    """Return whether a configuration file mentions a path; start no process."""
    return content is not None and os.fsencode(config_escaped(path)) in content


def kept_base(admin: str) -> str:
    """Return the base path of the kept configuration; it is deleted with the worktree."""
    return f"{admin}/gitworker-config"
