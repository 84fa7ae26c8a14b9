"""The command line and the environment of an agent; the task's text is in both on request.

On the hot path of `exec`.
"""

from __future__ import annotations

import os

from gitworker.agents.rules_run import ARGUMENT_MAX, fill, uses_prompt
from gitworker.errors import Invalid, Naming, NotFound
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV
from gitworker.store.records.runs import find_prompt

PROMPT_FILE = "GITWORKER_PROMPT_FILE"
FILE_NAME = "gitworker-prompt"  # in the admin directory of a worktree
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.agents.adapters.agent_call import AgentCall
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store
    from gitworker.store.workers import Worker


def prepare_command(
    store: Store,
    paths: StatePaths,
    worker: Worker,
    words: list[str],
    *,
    prompt: str | None = None,
    agent: AgentCall | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Return the command with its placeholders replaced, and its environment.

    The prompt is `prompt`, or else the task's text, or else its title; `agent` adds to it. It is
    written to a file of the worktree's admin directory. Raises NotFound if the program does not
    exist, Invalid for a prompt that the task does not have or that does not fit into an argument.
    """
    if prompt is None:
        with store.read() as reader:
            prompt = find_prompt(reader, worker.task)
        if agent is not None:
            prompt = agent.prompt_for(prompt, worker)
    file = _write_prompt(worker.admin_dir, prompt) if worker.admin_dir else ""
    env = _environment(paths, worker, prompt_file=file)
    if agent is not None:
        env = agent.variables(env)
        require_prompt(agent.adapter.prompt_words, prompt, task=worker.task)
    if any("{" in word for word in words):
        require_prompt(words, prompt, task=worker.task)
        values = {
            "prompt": os.fsdecode(prompt.encode()), "prompt_file": file,
            "worker": worker.worker_id, "task": worker.task, "branch": worker.branch or "",
            "worktree": worker.worktree or "",
        }  # fmt: skip
        words = [fill(word, values) for word in words]
        _require_short(words, task=worker.task)
    require_program(words[0], env, directory=worker.worktree)
    return words, env


def require_prompt(words: Sequence[str], prompt: str, *, task: str, exists: bool = True) -> None:
    """Raise Invalid if a command uses the prompt of a task that has neither text nor title.

    `exists`: the task is recorded already.
    """
    if not prompt and uses_prompt(words):
        raise Invalid(
            f"the command uses the prompt, but {task} has neither text nor title",
            f"git worker task edit {task} -m <text>"
            if exists
            else "git worker spawn <worker> -m <text> -- <command>",
        )


def _require_short(words: list[str], *, task: str) -> None:
    longest = max(len(os.fsencode(word)) for word in words)
    if longest > ARGUMENT_MAX:
        raise Invalid(
            f"the text of {task} makes an argument of {longest} bytes; {ARGUMENT_MAX} are possible",
            "use {prompt_file}, or the variable GITWORKER_PROMPT_FILE, instead of {prompt}",
        )


def require_program(word: str, env: Mapping[str, str], *, directory: str | None) -> None:
    """Raise NotFound if a command cannot be found; `directory` is its working directory.

    Without a directory, a name that only the directory could resolve is accepted.
    """
    if "/" in word:
        if directory is None and not word.startswith("/"):
            return
        paths = [os.path.join(directory or "", word)]
    else:
        search = env.get("PATH", os.defpath)
        paths = [os.path.join(directory or "", part, word) for part in search.split(":")]
    if not any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
        raise NotFound(
            f"cannot run {ascii(word[:200])}: the program does not exist",
            "name a program that is on PATH, or a file of the worktree as ./NAME",
        )


def _environment(paths: StatePaths, worker: Worker, *, prompt_file: str) -> dict[str, str]:
    """Return the agent's environment: ours without git's variables, plus the worker's own."""
    left_out = (*LOCAL_ENV, HELD_ENV, PROMPT_FILE)
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    env.update(
        GITWORKER_ID=worker.worker_id,
        GITWORKER_TASK=worker.task,
        GITWORKER_BRANCH=worker.branch or "",
        GITWORKER_WORKTREE=worker.worktree or "",
        GITWORKER_STATE=paths.root,
        GITWORKER_BUS=paths.database,
        PWD=worker.worktree or "",
    )
    if prompt_file:
        env[PROMPT_FILE] = prompt_file
    return env


def _write_prompt(git_dir: str, text: str) -> str:
    """Write the prompt of a worktree's agent to its admin directory, readable by its user only.

    Returns its path; for no text removes it and returns "".
    """
    path = f"{git_dir}/{FILE_NAME}"
    partial = f"{path}.tmp"
    left = partial if text else path  # by a killed command; or the text of an earlier task
    if os.path.lexists(left):
        os.unlink(left)
    if not text:
        return ""
    with Naming(partial):
        fd = open_regular(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            file.write(text.encode())
    os.replace(partial, path)
    return path
