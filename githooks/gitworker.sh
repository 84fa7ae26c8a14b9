# shellcheck shell=sh
# gitworker-shim 1
# Functions that all hooks of gitworker share; each hook reads this file with `.`. It runs inside the
# user's git command, so it uses only shell built-ins (it starts one process, the detached drain),
# prints nothing, and hides its own failures from git. Every variable has our prefix: the user may
# export a plain name, and then the user's own hook would see our value.

# Settings; gitworker/repo/hooks/shims.py fills them in.
gitworker_python=''     # absolute path of the interpreter that runs the drain
gitworker_common_dir='' # the repository's common git directory
gitworker_user_hooks='' # the user's hooks; a relative path begins at the worktree's root
gitworker_fallback=''   # their directory if the relative one is not in this worktree
gitworker_chain=''      # `yes`: git calls only our hooks, so they call the user's hooks
gitworker_sources=''    # the configuration files, one a line, that name those directories

# Record the event (one line in the spool) and start a drain, unless one is about to begin.
# Arguments: the hook's name and the arguments that git gave it.
gitworker_doorbell() {
	[ "${GITWORKER_HOOKS-}" != off ] || return 0
	! gitworker_rebasing "$1" && ! gitworker_picking "$1" || return 0
	gitworker_spool=$gitworker_common_dir/worker-state/spool
	# Opening a FIFO would block git; `git worker fsck` reports it.
	! [ -p "$gitworker_spool/hooks" ] && ! [ -p "$gitworker_spool/ring" ] || return 0
	{ gitworker_append "$@" && gitworker_ring; } 2>/dev/null
	return 0
}

# Become the user's own hook of that name; exit 0 if git would run none. A hook that another program
# installed in our directory was moved to hooks-found: it runs before the user's hook, or alone.
# If the shims are out of date they are written again first, so that the new hook runs, and git finds
# the shims of the hooks that come after it. Within a rebase only its first hook looks.
gitworker_user_hook() {
	if [ "${GITWORKER_HOOKS-}" != off ] && ! gitworker_rebasing "$1" && gitworker_stale "${0%/*}"; then
		(gitworker_become refresh-hooks) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		# shellcheck source=/dev/null
		[ -f "${0%/*}/gitworker.sh" ] && [ -r "${0%/*}/gitworker.sh" ] && . "${0%/*}/gitworker.sh"
	fi
	gitworker_find_hooks
	gitworker_path=${gitworker_at:+$gitworker_at/$1}
	[ -f "$gitworker_path" ] && [ -x "$gitworker_path" ] || gitworker_path=
	gitworker_found=$gitworker_common_dir/worker-state/hooks-found/$1
	[ -f "$gitworker_found" ] && [ -x "$gitworker_found" ] || gitworker_found=
	shift
	if [ -n "$gitworker_found" ] && [ -n "$gitworker_path" ]; then
		gitworker_input=$(cat) # both read the standard input from git
		printf '%s' "${gitworker_input:+$gitworker_input
}" | "$gitworker_found" "$@" || exit
		printf '%s' "${gitworker_input:+$gitworker_input
}" | "$gitworker_path" "$@"
		exit
	fi
	[ -z "$gitworker_found$gitworker_path" ] || exec "$gitworker_found$gitworker_path" "$@"
	exit 0
}

# Set gitworker_at to the directory of the user's hooks that we call, or to nothing.
gitworker_find_hooks() {
	gitworker_at=
	if [ -n "$gitworker_fallback" ] && ! [ -d "$gitworker_user_hooks" ]; then
		gitworker_at=$gitworker_fallback
	elif [ -n "$gitworker_chain" ]; then
		gitworker_at=$gitworker_user_hooks
	fi
}

# Succeed if the shims are out of date: a configuration file has another time than when they were
# written, newer or older; the user has a hook that has no shim; a directory is newer than the stamp.
# Argument: our own directory; a foreign installer that writes there makes it newer than the stamp.
# Other hooks always have a shim, since it costs a commit nothing.
gitworker_stale() {
	gitworker_moved && return 0
	gitworker_find_hooks
	if [ -n "$gitworker_at" ]; then
		for gitworker_file in prepare-commit-msg commit-msg post-index-change reference-transaction; do
			[ -e "$1/$gitworker_file" ] || ! [ -f "$gitworker_at/$gitworker_file" ] || return 0
		done
	fi
	for gitworker_file in "${GIT_CONFIG_GLOBAL:-${HOME-}/.gitconfig}" \
		"${XDG_CONFIG_HOME:-${HOME-}/.config}/git/config" \
		"$gitworker_user_hooks" "$gitworker_fallback" "$1"; do
		[ "$gitworker_file" -nt "$1/stamp" ] && return 0
	done
	return 1
}

# Succeed if the time of one of the sources differs from the file that records it.
gitworker_moved() {
	gitworker_ifs=${IFS-unset}
	IFS='
'
	set -f
	# shellcheck disable=SC2086
	set -- $gitworker_sources
	set +f
	IFS=$gitworker_ifs
	[ "$gitworker_ifs" != unset ] || unset IFS
	gitworker_number=0
	for gitworker_file; do
		gitworker_number=$((gitworker_number + 1))
		gitworker_seen=$gitworker_common_dir/worker-state/hooks-seen/$gitworker_number
		if [ -e "$gitworker_file" ]; then
			[ -e "$gitworker_seen" ] || return 0
			[ "$gitworker_file" -nt "$gitworker_seen" ] && return 0
			[ "$gitworker_file" -ot "$gitworker_seen" ] && return 0
		else
			[ -e "$gitworker_seen" ] && return 0
		fi
	done
	return 1
}

# The line: an empty field (sh has no clock without a fork; the file's own date will do), the hook's
# name, this worktree's git directory, the arguments. It is cut well below 4096 bytes and holds no
# control character but its own, so that lines appended at the same time never mix. Another git
# directory is left out: the drain compares every branch anyway.
gitworker_append() {
	gitworker_dir=${GIT_DIR-}
	case $gitworker_dir in
	/* | '') ;;
	*) gitworker_dir=$PWD/$gitworker_dir ;;
	esac
	case $gitworker_dir in *[[:cntrl:]]*) gitworker_dir= ;; esac
	[ ${#gitworker_dir} -le 500 ] || gitworker_dir=
	gitworker_hook=$1
	shift
	gitworker_text="$*"
	while :; do
		case $gitworker_text in
		*[[:cntrl:]]*) gitworker_text="${gitworker_text%%[[:cntrl:]]*} ${gitworker_text#*[[:cntrl:]]}" ;;
		*) break ;;
		esac
	done
	printf '\t%s\t%s\t%.400s\n' "$gitworker_hook" "$gitworker_dir" "$gitworker_text" \
		>>"$gitworker_common_dir/worker-state/spool/hooks"
}

# `ring` is there from the moment a drain is started until it begins to work (it removes `ring`
# first and reads the spool afterwards, so a line appended before a bell that finds `ring` is seen).
# It holds the drain's pid, so that a killed drain does not block later ones, and one dot for each
# bell that waited: after 40 a drain is started anyway, since a pid can have a new owner.
gitworker_ring() {
	gitworker_bell=$gitworker_common_dir/worker-state/spool/ring
	set -C
	{ gitworker_start drain; } >"$gitworker_bell" && gitworker_pid=ours || gitworker_pid=
	set +C
	[ -z "$gitworker_pid" ] || return 0
	gitworker_dots=
	{
		read -r gitworker_pid
		read -r gitworker_dots
	} <"$gitworker_bell"
	case $gitworker_pid in
	'' | 0* | *[!0-9]*) ;;
	*)
		if [ ${#gitworker_dots} -lt 40 ] && kill -0 "$gitworker_pid"; then
			printf . >>"$gitworker_bell"
			return 0
		fi
		;;
	esac
	{ gitworker_start drain; } >"$gitworker_bell"
}

# A rebase moves its branch once, at its end, and rings then (post-rewrite): its single commits
# are on no branch yet, so there is nothing to publish.
gitworker_rebasing() {
	[ "$1" = post-commit ] || [ "$1" = post-applypatch ] || return 1
	[ -d "${GIT_DIR-}/rebase-merge" ] || [ -e "${GIT_DIR-}/rebase-apply/rebasing" ]
}

# Succeed if this is the checkout that begins a rebase with commits to pick. Its bell waits, too: git
# runs post-rewrite at the end even if all commits become empty or are skipped.
gitworker_picking() {
	gitworker_todo=${GIT_DIR-}/rebase-merge/git-rebase-todo
	[ "$1" = post-checkout ] && [ -f "$gitworker_todo" ] && [ -r "$gitworker_todo" ] || return 1
	gitworker_word=
	read -r gitworker_word _ <"$gitworker_todo"
	[ "$gitworker_word" = pick ]
}

# Start our program detached and print its pid: one fork, no stream of git's kept open (nor a lock
# that the caller holds on a low descriptor).
gitworker_start() {
	gitworker_become "$1" </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
	printf '%s\n' "$!"
}

# Become our program: ignore the terminal's signals, leave the worktree, and unset the variables that
# would make its git use this worktree's index.
gitworker_become() {
	trap '' HUP INT QUIT TSTP
	unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY \
		GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT \
		GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE \
		GIT_SHALLOW_FILE GIT_INTERNAL_SUPER_PREFIX GIT_QUARANTINE_PATH
	cd /
	exec "$gitworker_python" -EP -m gitworker.hookentry "$1" "$gitworker_common_dir"
}
