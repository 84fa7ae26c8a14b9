"""Shell code for `git worker shell-init`: `switch` changes the directory of the shell itself.

A program cannot change the directory of its shell. So functions named `git` and `git-worker` run
`switch` and every command with `--cd` with VARIABLE set and change to the directory that it prints;
they pass on everything else.
A function `git` of the user's own is kept.
"""

import os

from gitworker.cli.shell.completion import SCRIPTS
from gitworker.errors import NotFound, Refused

VARIABLE = "GITWORKER_SHELL"  # set while `switch` runs in one of the functions
PREVIOUS = "GITWORKER_PREVIOUS"  # the directory in which `switch` was called last, for `switch -`

# For bash and zsh. `function` because an alias `git` would replace the name before `()`.
POSIX = """\
__git_worker_switch() {
    local place here=$PWD
    place=$(GITWORKER_SHELL=1 GITWORKER_PREVIOUS="${__git_worker_previous-}" command "$@") || return
    if [ -d "$place" ]; then
        cd -- "$place" && __git_worker_previous=$here
    elif [ -n "$place" ]; then
        printf '%s\\n' "$place"
    fi
}
__git_moves() {
    while [ $# -gt 0 ]; do
        case "$1" in
        worker) shift && __git_worker_moves "$@"; return ;;
        -C | -c) shift && [ $# -gt 0 ] && shift || return 1 ;;
        -*) shift ;;
        *) return 1 ;;
        esac
    done
    return 1
}
__git_worker_moves() {
    local word
    while [ $# -gt 0 ]; do
        case "$1" in
        -C | --as) shift && [ $# -gt 0 ] && shift || return 1 ;;
        -*) shift ;;
        *) break ;;
        esac
    done
    case "${1-}" in
    switch | cd) return 0 ;;
    esac
    for word in "$@"; do
        case "$word" in
        --) return 1 ;;
        --cd) return 0 ;;
        esac
    done
    return 1
}
if ! typeset -f git >/dev/null; then
    function git {
        if __git_moves "$@"; then
            __git_worker_switch git "$@"
        else
            command git "$@"
        fi
    }
fi
function git-worker {
    if __git_worker_moves "$@"; then
        __git_worker_switch git-worker "$@"
    else
        command git-worker "$@"
    fi
}
"""

FISH = """\
function __git_worker_switch
    set -l here $PWD
    set -l before GITWORKER_PREVIOUS="$__git_worker_previous"
    set -l place (env GITWORKER_SHELL=1 $before $argv | string collect)
    set -l outcome $pipestatus[1]
    if test $outcome -ne 0
        return $outcome
    else if test -d "$place"
        cd "$place"; and set -g __git_worker_previous $here
    else if test -n "$place"
        printf '%s\\n' "$place"
    end
end
function __git_moves
    while set -q argv[1]
        switch "$argv[1]"
            case worker
                __git_worker_moves $argv[2..]
                return
            case -C -c
                set -e argv[1]
                set -q argv[1]; or return 1
            case '-*'
            case '*'
                return 1
        end
        set -e argv[1]
    end
    return 1
end
function __git_worker_moves
    while set -q argv[1]
        switch "$argv[1]"
            case -C --as
                set -e argv[1]
                set -q argv[1]; or return 1
            case '-*'
            case '*'
                break
        end
        set -e argv[1]
    end
    contains -- "$argv[1]" switch cd; and return 0
    for word in $argv
        test "$word" = --; and return 1
        test "$word" = --cd; and return 0
    end
    return 1
end
functions -q git; or function git --wraps git
    if __git_moves $argv
        __git_worker_switch git $argv
    else
        command git $argv
    end
end
function git-worker --wraps git-worker
    if __git_worker_moves $argv
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


def without_integration(hint: str) -> Refused:
    """Return the refusal of a command that would change the directory of the shell."""
    message = f"without shell integration the shell stays here; load it: {loader()}"
    return Refused(message, hint, code="no_integration")


def previous_directory() -> str:
    """Return the directory in which the shell called `switch` last; raise NotFound without one."""
    found = os.environ.get(PREVIOUS, "")
    if not os.path.isdir(found):
        raise NotFound("switch has no previous directory yet", "git worker list")
    return found


def loader() -> str:
    """Return the command that loads the functions into the user's shell."""
    shell = os.path.basename(os.environ.get("SHELL", ""))
    return LOADERS.get(shell, LOADERS["bash"])
