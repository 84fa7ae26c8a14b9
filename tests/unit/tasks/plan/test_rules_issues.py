"""Issues on GitHub become the tasks of a plan."""

import json
from typing import Any

import pytest

from gitworker.errors import Invalid
from gitworker.model.task_spec import Need
from gitworker.tasks.plan.rules_issues import ISSUES_MAX, parse_issues, parse_issues_address

URL = "https://github.com/ada/website/issues/"


def issue(number: int, title: str = "Title", body: str = "", state: str = "OPEN") -> dict[str, Any]:
    """Return an issue as `gh issue list --json` prints it."""
    return {"body": body, "number": number, "state": state, "title": title, "url": f"{URL}{number}"}


def test_open_issues_are_tasks() -> None:
    """The oldest is first, its text has title, body and address, and closed needs are done."""
    form, styles = parse_issues(
        json.dumps(
            [
                issue(4, "Style it", "Nicely.\r\n\r\nNeeds: #3, #2\r\ndepends on #1"),
                issue(3, "Build the form (again)"),
                issue(2, "Draw it", state="CLOSED"),
                issue(1, state="CLOSED"),
            ]
        )
    )
    assert (form.line, form.id, form.fields.title) == (3, "issue-3", "Build the form (again)")
    assert form.fields.text == f"Build the form (again)\n\n{URL}3"
    assert (styles.id, styles.needs) == ("issue-4", (Need("issue-3", "landed"),))
    assert styles.fields.text is not None
    assert styles.fields.text.startswith("Style it\n\nNicely.\n\nNeeds: #3, #2\n")


@pytest.mark.parametrize(
    "text", ["", "no issues", '{"a": 1}', '[{"number": 1}]', "[1]", "[" * 99_999]
)
def test_other_output_is_refused(text: str) -> None:
    """Output that is no list of issues changes nothing."""
    with pytest.raises(Invalid, match="gh printed no list of issues"):
        parse_issues(text)


def test_too_many_issues_are_refused() -> None:
    """A label with more issues than are read is refused."""
    with pytest.raises(Invalid, match="more than 1000 issues"):
        parse_issues(json.dumps([issue(number) for number in range(ISSUES_MAX + 1)]))


def test_addresses() -> None:
    """An address names a repository and a label, which may have spaces."""
    command = parse_issues_address("gh:ada/web.site#good first issue").command
    assert command[3:7] == ("--repo", "ada/web.site", "--label", "good first issue")
    for bad in ("gh:ada#x", "gh:ada/site", "gh:ada/site#", "gh:-x y/z#l"):
        with pytest.raises(Invalid, match="does not name issues"):
            parse_issues_address(bad)
