"""The pages of `git worker help`: text files beside this module, shipped as they are."""

import os
from collections.abc import Mapping

TOPICS: Mapping[str, str] = {
    "agent": "The guide for agents: task, messages, claims, conflicts.",
    "protocol": "How a program in any language joins the bus, with an agent in shell.",
}
FORMATS = ("text", "agents-md", "skill")
SKILL = {
    "name": "git-worker",
    "description": (
        "How to work as one of several coding agents on one git repository with git worker:"
        " start, heartbeat, sync, done and fail, messages, claims, exit statuses, conflicts."
        " Use it when GITWORKER_ID is set, in a worktree of git worker, or when asked to use"
        " git worker."
    ),
}
_HERE = os.path.dirname(__file__)


def load_page(topic: str, form: str = "text") -> str:
    """Return a page: unchanged, with deeper headings for a larger file, or as a skill file.

    A skill file begins with front matter: YAML with a name and a description.
    """
    with open(f"{_HERE}/{topic}.md", encoding="utf-8") as file:
        text = file.read()
    if form == "skill":
        head = "".join(f'{key}: "{value}"\n' for key, value in _skill(topic).items())
        return f"---\n{head}---\n\n{text}"
    return _deeper(text) if form == "agents-md" else text


def _skill(topic: str) -> Mapping[str, str]:
    if topic == "agent":
        return SKILL
    return {"name": f"git-worker-{topic}", "description": TOPICS[topic]}


def _deeper(text: str) -> str:
    """Push every heading one level down, but not the comments in code blocks."""
    lines, is_code = [], False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not is_code else line)
    return "\n".join(lines) + "\n"
