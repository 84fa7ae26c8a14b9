"""Shell code for `git worker shell-init`: `switch` changes the directory of the shell itself.

A program cannot change the directory of its shell. So functions named `git` and `git-worker` run
`switch` with VARIABLE set and change to the directory that it prints; they pass on everything else.
A function `git` of the user's own is kept.
"""

import os

from gitworker.cli.shell.completion import SCRIPTS

VARIABLE = "GITWORKER_SHELL"  # set while `switch` runs in one of the functions

# For bash and zsh. `function` because an alias `git` would replace the name before `()`.
POSIX = """\
__git_worker_switch() {
    local place
    place=$(GITWORKER_SHELL=1 command "$@") || return
    if [ -d "$place" ]; then
        cd -- "$place"
    elif [ -n "$place" ]; then
        printf '%s\\n' "$place"
    fi
}
if ! typeset -f git >/dev/null; then
    function git {
        case "${1-} ${2-}" in
        "worker switch" | "worker cd") __git_worker_switch git "$@" ;;
        *) command git "$@" ;;
        esac
    }
fi
function git-worker {
    case "${1-}" in
    switch | cd) __git_worker_switch git-worker "$@" ;;
    *) command git-worker "$@" ;;
    esac
}
"""

FISH = """\
function __git_worker_switch
    set -l place (env GITWORKER_SHELL=1 $argv | string collect)
    set -l outcome $pipestatus[1]
    if test $outcome -ne 0
        return $outcome
    else if test -d "$place"
        cd "$place"
    else if test -n "$place"
        printf '%s\\n' "$place"
    end
end
functions -q git; or function git --wraps git
    if test "$argv[1]" = worker; and contains -- "$argv[2]" switch cd
        __git_worker_switch git $argv
    else
        command git $argv
    end
end
function git-worker --wraps git-worker
    if contains -- "$argv[1]" switch cd
        __git_worker_switch git-worker $argv
    else
        command git-worker $argv
    end
end
"""

FUNCTIONS = {"bash": POSIX, "zsh": POSIX, "fish": FISH}
LOADERS = {
    "bash": 'eval "$(git worker shell-init bash)"   # once, in ~/.bashrc',
    "zsh": 'eval "$(git worker shell-init zsh)"   # once, in ~/.zshrc',
    "fish": "git worker shell-init fish | source   # once, in ~/.config/fish/config.fish",
}


def integration_script(shell: str) -> str:
    """Return the functions and the completion for a shell."""
    return FUNCTIONS[shell] + SCRIPTS[shell]


def is_integrated() -> bool:
    """Return whether the shell will change to the directory that is printed."""
    return bool(os.environ.get(VARIABLE))


def loader() -> str:
    """Return the command that loads the functions into the user's shell."""
    shell = os.path.basename(os.environ.get("SHELL", ""))
    return LOADERS.get(shell, LOADERS["bash"])
