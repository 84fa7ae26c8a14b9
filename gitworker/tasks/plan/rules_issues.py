"""A plan in the issues of one label on GitHub, as `gh issue list --json` prints them. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gitworker.errors import Invalid
from gitworker.tasks.plan.rules_plan import PlannedTask, planned_task, without_ticked

ISSUES_MAX = 1000
FIELDS = ("number", "title", "body", "state", "url")
ADDRESS = re.compile(r"gh:([\w.-]+/[\w.-]+)#(\S.*)")
NEEDS = re.compile(r"^(?:needs|depends on|blocked by):?\s+(#\d+(?:[\s,]+#\d+)*)\s*$", re.I | re.M)


class Issues(NamedTuple):
    """The issues of a repository with one label."""

    repository: str
    label: str

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that prints them."""
        return (
            "gh", "issue", "list", "--repo", self.repository, "--label", self.label,
            "--state", "all", "--limit", str(ISSUES_MAX + 1), "--json", ",".join(FIELDS),
        )  # fmt: skip


def parse_issues_address(address: str) -> Issues:
    """Return the issues that `gh:OWNER/REPO#LABEL` names; raise Invalid for another form."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise Invalid(
            f"{address} does not name issues: write gh:OWNER/REPO#LABEL",
            "git worker task import -h",
            code="bad_plan",
        )
    return Issues(*found.groups())


def parse_issues(text: str) -> list[PlannedTask]:
    """Return a task for each open issue, with the issue's number as its line.

    The id is `issue-<number>`. A line `needs: #3, #4` in the body names other issues of the list; a
    closed one counts as done. Raises Invalid for output that `gh` does not print.
    """
    try:
        issues: list[dict[str, Any]] = json.loads(text)
        open_issues = [one for one in issues if one["state"] == "OPEN"]
        tasks = [_task(one) for one in reversed(open_issues)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Invalid(f"gh printed no list of issues: {str(error)[:80]}", code="bad_plan") from None
    if len(issues) > ISSUES_MAX:
        raise Invalid(f"the label has more than {ISSUES_MAX} issues", code="bad_plan")
    return without_ticked(tasks, (_id(one["number"]) for one in issues if one["state"] != "OPEN"))


def _task(issue: dict[str, Any]) -> PlannedTask:
    body = str(issue["body"] or "").replace("\r\n", "\n").strip()
    needs = [number for line in NEEDS.findall(body) for number in re.findall(r"\d+", line)]
    return planned_task(
        int(issue["number"]),
        {
            "id": _id(issue["number"]), "title": str(issue["title"]),
            "text": "\n\n".join(filter(None, (str(issue["title"]), body, str(issue["url"])))),
            "needs": [_id(number) for number in needs] or None,
        },
    )  # fmt: skip


def _id(number: object) -> str:
    return f"issue-{number}"
