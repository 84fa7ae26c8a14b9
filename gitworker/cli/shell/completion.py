"""Completion for bash, zsh and fish: of `git-worker`, and of `git worker` through git's own."""

from typing import Any

from click.shell_completion import CompletionItem

from gitworker.config import key_of, setting_names
from gitworker.errors import GitWorkerError
from gitworker.paths import require_repository, state_paths
from gitworker.store.backend import open_store
from gitworker.store.workers import all_workers

# git's own completion calls _git_worker with the words in `words` and the position in `cword`.
BASH = """\
_git_worker_answers() {
    local IFS=$'\\n' answer kind value
    answer=$(COMP_WORDS="$1" COMP_CWORD="$2" _GIT_WORKER_COMPLETE=bash_complete git-worker)
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
        dir) compopt -o dirnames 2>/dev/null ;;
        file) compopt -o default 2>/dev/null ;;
        plain) COMPREPLY+=("$value") ;;
        esac
    done <<<"$answer"
}
_git_worker() {
    local at=1
    while [ "$at" -lt "${#words[@]}" ] && [ "${words[at]}" != worker ]; do at=$((at + 1)); done
    _git_worker_answers "git-worker ${words[*]:at+1}" "$((cword - at))"
}
_git_worker_alone() {
    _git_worker_answers "git-worker ${COMP_WORDS[*]:1}" "$COMP_CWORD"
}
complete -o nosort -F _git_worker_alone git-worker 2>/dev/null ||
    complete -F _git_worker_alone git-worker
"""

# zsh's _git calls the function _git-worker with `worker` as the first of `words`.
ZSH = """\
#compdef git-worker
_git-worker() {
    local -a answer plain described
    local kind value help
    answer=("${(@f)$(COMP_WORDS="git-worker ${words[2,-1]}" COMP_CWORD=$((CURRENT - 1)) \\
        _GIT_WORKER_COMPLETE=zsh_complete git-worker)}")
    for kind value help in "${answer[@]}"; do
        case $kind in
        plain)
            if [[ $help == _ ]]; then plain+=("$value"); else described+=("$value:$help"); fi ;;
        dir) _path_files -/ ;;
        file) _path_files -f ;;
        esac
    done
    (( $#described )) && _describe -V command described -U
    (( $#plain )) && compadd -U -V plain -a plain
}
(( $+functions[compdef] )) && compdef _git-worker git-worker
"""

FISH = """\
function __git_worker_answers
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- worker $words)
    if string match -q -- '*git' $words[1]; and test -n "$at"
        set words git-worker $words[(math $at + 1)..-1]
    end
    for line in (env _GIT_WORKER_COMPLETE=fish_complete COMP_WORDS="$words" \\
            COMP_CWORD=(commandline -ct) git-worker)
        set -l parts (string split -m1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete -c git-worker -f -a '(__git_worker_answers)'
complete -c git -n '__fish_seen_subcommand_from worker' -f -a '(__git_worker_answers)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def complete_workers(incomplete: str) -> list[Any]:
    """Return the workers whose id has this prefix; an empty list without a readable database."""
    try:
        database = open_store(state_paths(require_repository()).database)
        with database.read() as reader:
            names = [worker.worker_id for worker in all_workers(reader)]
    except (GitWorkerError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_settings(incomplete: str) -> list[Any]:
    """Return the keys of settings that begin so."""
    keys = map(key_of, setting_names())
    return [CompletionItem(key) for key in keys if key.startswith(incomplete)]
