"""The environment of every git that gitworker starts: one table with a reason for each entry.

git reads about 150 variables of its own. Those that change the answer of a command are dropped, a
few are set, and the rest stay, among them variables of other programs (git-lfs, password helpers).
docs/git-calls.md explains the table; a test compares it with the names in git's program.
"""

import os

TYPE_CHECKING = False  # `typing` costs 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

# git rev-parse --local-env-vars without the two that carry `git -c` settings: they name a
# repository.
LOCAL_ENV = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
)
# For the hooks that git runs under gitworker: its pid, its start time, and the locks that it holds.
HELD_ENV = "GITWORKER_HELD"
HELD: dict[str, int] = {}  # the locks that this process holds, with their descriptors
SETTINGS_ENV = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
# Settings of each git on a private index (GIT_INDEX_FILE). With core.splitIndex git would delete
# the expired shared index files of the real worktree. A file system monitor knows only the
# worktree's own index. An index without a checksum cannot be verified.
PRIVATE_INDEX = (
    "core.splitIndex=false",
    "splitIndex.sharedIndexExpire=never",
    "core.fsmonitor=false",
    "index.skipHash=false",
)
# Read the real commits: with a replace ref or a graft git shows other commits than those that land.
# A path below a device cannot exist, so git reads no grafts and prints no advice about them.
FIXED_ENV = {
    "LC_ALL": "C",  # messages untranslated
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",
}
# For commands that start git's automatic maintenance: under the variables above, maintenance would
# not see objects that only a graft keeps. The user's own git commands still start it.
NO_UPKEEP = ("gc.auto=0", "maintenance.auto=false")
# Names that are dropped, by reason.
DROPPED_BY_REASON: dict[str, tuple[str, ...]] = {
    "names another repository, index or object store": (
        *LOCAL_ENV, "GIT_COMMONDIR", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE",
        "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TEMPLATE_DIR",
        "GIT_REFERENCE_BACKEND",
    ),
    "changes which paths a command means": (
        "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS", "GIT_ATTR_SOURCE",
    ),
    "changes the form of output that we read": (
        "GIT_EXTERNAL_DIFF", "GIT_EXTERNAL_DIFF_TRUST_EXIT_CODE", "GIT_DIFF_OPTS",
        "GIT_DIFF_PATH_COUNTER", "GIT_DIFF_PATH_TOTAL",
        "GIT_PRINT_SHA1_ELLIPSIS", "GIT_PAGER", "GIT_PAGER_IN_USE", "GIT_MERGE_VERBOSITY",
        "GIT_FLUSH", "GIT_PROGRESS_DELAY", "GIT_ADVICE", "GIT_NOTES_DISPLAY_REF", "LANGUAGE",
    ),
    "changes how git works in memory or on its files": (
        "GIT_INDEX_VERSION", "GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT", "GIT_DEFAULT_BRANCH",
        "GIT_OPTIONAL_LOCKS", "GIT_REF_PARANOIA", "GIT_FORCE_THREADS", "GIT_ALLOC_LIMIT",
        "GIT_MMAP_LIMIT", "GIT_ALLOW_NULL_SHA1", "GIT_DISABLE_UNTRACKED_CACHE",
        "GIT_FORCE_UNTRACKED_CACHE", "GIT_BASENAME_FACTOR", "GIT_MERGE_AUTOEDIT",
        "GIT_CHERRY_PICK_HELP", "GIT_OVERRIDE_VIRTUAL_HOST", "GIT_REFLOG_ACTION",
        "GIT_SEQUENCE_EDITOR", "GIT_MAX_HEXSZ", "GIT_COMMIT_GRAPH_PARANOIA",
        "GIT_AUTO_COMMENT_CHAR_CONFIG_WARNING_GIVEN",
    ),
    "belongs to the commit whose hook called us": ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"),
    "belongs to the push or the tool that called us": (
        "GIT_PUSH_OPTION_COUNT", "GIT_PUSH_CERT", "GIT_PUSH_CERT_KEY", "GIT_PUSH_CERT_NONCE",
        "GIT_PUSH_CERT_NONCE_SLOP", "GIT_PUSH_CERT_NONCE_STATUS", "GIT_PUSH_CERT_SIGNER",
        "GIT_PUSH_CERT_STATUS", "GIT_EXT_SERVICE", "GIT_EXT_SERVICE_NOPREFIX", "GIT_MAN_VIEWER",
        "GIT_DIFF_TOOL", "GIT_DIFFTOOL_DIRDIFF", "GIT_DIFFTOOL_EXTCMD",
        "GIT_DIFFTOOL_NO_PROMPT", "GIT_DIFFTOOL_PROMPT", "GIT_DIFFTOOL_TRUST_EXIT_CODE",
        "GIT_MERGETOOL_GUI",
    ),
}  # fmt: skip
DROPPED_PREFIXES = ("GIT_TEST_", "GIT_INTERNAL_", "GIT_PUSH_OPTION_")
# A trace to a file named by the user stays; a trace to a descriptor could write into one of ours.
TRACES = "GIT_TRACE"
# git's own names that stay, by reason.
KEPT_BY_REASON: dict[str, tuple[str, ...]] = {
    "the user's settings": (
        *SETTINGS_ENV, "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "GIT_EXEC_PATH",
        "GIT_TEXTDOMAINDIR", "GIT_EDITOR", "GIT_SHELL_PATH",
    ),
    "only names that `git var` answers": (
        "GIT_ATTR_GLOBAL", "GIT_ATTR_SYSTEM", "GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT",
    ),
    "who the user is": (
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
    ),
    "how remotes are reached": (
        "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT",
        "GIT_PROXY_COMMAND", "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL", "GIT_PROTOCOL_FROM_USER",
        "GIT_NO_LAZY_FETCH", "GIT_USER_AGENT", "GIT_TRANSLOOP_DEBUG",
        "GIT_TRANSPORT_HELPER_DEBUG", "GIT_CLONE_PROTECTION_ACTIVE",
    ),
    "notes that git rebase would carry along": (
        "GIT_NOTES_REF", "GIT_NOTES_REWRITE_MODE", "GIT_NOTES_REWRITE_REF",
    ),
}  # fmt: skip
DROPPED = frozenset(name for names in DROPPED_BY_REASON.values() for name in names)


def is_dropped(name: str, value: str) -> bool:
    """Return whether a variable with that value is hidden from every git that gitworker starts."""
    if name in DROPPED:
        return True
    if not name.startswith("GIT_"):
        return False
    return name.startswith(DROPPED_PREFIXES) or (name.startswith(TRACES) and value[:1] != "/")


def clean_environment(env: "Mapping[str, str] | None" = None) -> dict[str, str]:
    """Return the environment for git, without the variables that a single call adds."""
    source = os.environ if env is None else env
    cleaned = {name: value for name, value in source.items() if not is_dropped(name, value)}
    cleaned.update(FIXED_ENV)
    return cleaned


def dropped_names(env: "Mapping[str, str] | None" = None) -> list[str]:
    """Return the variables of an environment that git does not see, sorted."""
    source = os.environ if env is None else env
    return sorted(name for name, value in source.items() if is_dropped(name, value))


def held_environment() -> dict[str, str]:
    """Return the variable that shows the held locks to child processes; empty if none is held."""
    paths = tuple(HELD)  # a copy: other threads take and release locks at the same time
    if not paths:
        return {}
    from gitworker.processes.table import find_start  # 1 ms, which agents' hooks do not pay

    pid = os.getpid()
    return {HELD_ENV: "\n".join((f"{pid} {find_start(pid)}", *map(os.path.realpath, paths)))}
