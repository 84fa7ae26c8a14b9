"""Plans in Markdown."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.errors import Invalid
from gitworker.model.task import VerificationType
from gitworker.model.task_spec import Need
from gitworker.tasks.plan.rules_markdown import parse_markdown
from gitworker.tasks.queue.rules_fields import TaskFields

PLAN = """\
\ufeff# The plan

Some words (needs: nothing).

- [ ] form: Build the login form (priority: 10; verify: human)
  needs: colours, api:done
  test: make test
  test: make lint
  timeout: 60
  The form has two fields:

  - [ ] name
  - [ ] password

```
- [ ] not-a-task
```
* [x] colours: Choose colours
+ [ ] **api**: Write the *API* (see RFC 1)
1. [ ] Write: the docs
       approval: yes
2) [ ] Tests, all of them
\ttext by a tab
- no task
"""


def test_a_plan() -> None:
    """Items become tasks with their fields and texts; ticked items are done."""
    form, api, docs, tests = parse_markdown(PLAN)
    assert (form.id, form.line) == ("form", 5)
    assert form.fields == TaskFields(
        title="Build the login form",
        text="The form has two fields:\n\n- [ ] name\n- [ ] password",
        priority=10,
        verification_type=VerificationType.HUMAN,
        test_commands=("make test", "make lint"),
        timeout_s=60,
    )
    assert form.needs == (Need("api", "done"),)
    assert (api.id, api.fields.title) == ("api", "Write the *API* (see RFC 1)")
    assert (docs.id, docs.fields.title, docs.fields.requires_approval) == (
        "Write", "the docs", True,
    )  # fmt: skip
    assert (tests.id, tests.fields.text) == ("tests-all-of-them", "text by a tab")
    assert parse_markdown("words\n\n* no box\n") == []


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("a: Use `x`", "Use `x`"), ("a: `x` or `y`", "`x` or `y`"), ("a: *All of it*", "All of it"),
        ("**a: Use `x`**", "Use `x`"), ("**a:** Use *x*", "Use *x*"), ("**a**: __T__", "T"),
        ("`a`: T", "T"), ("a: `", "`"), ("a: **", "**"),
    ],
)  # fmt: skip
def test_marks_around_a_title(words: str, title: str) -> None:
    """Marks are removed as a pair around the whole title, or around it and the id."""
    (task,) = parse_markdown(f"- [ ] {words}\n")
    assert (task.id, task.fields.title) == ("a", title)


def test_a_line_ends_by_a_newline_only() -> None:
    """A form feed or a line separator of Unicode belongs to the text."""
    (task,) = parse_markdown("- [ ] a: A\r\n  one\x0ctwo\u2028three\r\n  four\r\n")
    assert task.fields.text == "one\x0ctwo\u2028three\nfour"


def test_lines_of_fields_and_prose() -> None:
    """The name of a field may have capitals; a line that only looks like one is text."""
    (task,) = parse_markdown("- [ ] a: A\n  Needs: b\n  Note: needs: c\n  need: d")
    assert [need.task for need in task.needs] == ["b"]
    assert task.fields.text == "Note: needs: c\nneed: d"
    (task,) = parse_markdown("- [ ] a: A\n  paths::of(x) must work")
    assert task.fields.text == "paths::of(x) must work"


@pytest.mark.parametrize(
    ("front", "workstream"),
    [
        ("---\ntitle: Login\nworkstream: 'login' \n---\n", "login"),
        ("---\ntitle: Login\n---\nworkstream: login\n", None),
        ("---\nworkstream: login\n", None),
        ("", None),
    ],
)
def test_front_matter_names_the_workstream(front: str, workstream: str | None) -> None:
    """The front matter ends at the second rule; without one it is ordinary text."""
    (task,) = parse_markdown(f"{front}- [ ] a: A\n")
    assert task.fields.workstream_id == workstream


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("---\nworkstream: a..b\n---\n- [ ] a: A", "line 1: "),
        ("- [ ] a\n\n- [ ]\n", "line 3: the item has no title"),
        ("- [ ] a (needs: b; when: now)", "line 1: 'when' is not a field"),
        ("- [ ] a (need: b)", "line 1: 'need' is not a field; did you mean needs?"),
        ("- [ ] a: A\n  need: b", "line 2: 'need' is not a field; did you mean needs?"),
        ("- [ ] a: A\n  Test: x\n  tests: y", "line 3: 'tests' is not a field; did you mean test?"),
        ("- [ ] a (needs: b) and more", "line 1: fields in parentheses must be one group"),
        ("- [ ] a (needs: b).", "line 1: fields in parentheses must be one group"),
        ("- [ ] a (needs: b) (priority: 3)", "line 1: fields in parentheses must be one group"),
        ("- [ ] a: A\n  needs:\n", "line 2: needs has no value"),
        ("- [ ] a: A (priority: 1)\n  priority: 2", "line 2: priority is given twice"),
        ("\n- [ ] a: A (priority: high)", "line 2: priority must be a whole number"),
        ("- [ ] a..b: A", "line 1: 'a..b' is not a task id"),
        ("- [ ] 日本語", "line 1: a task needs an id"),
        ("- [x] 日本語", "line 1: a task needs an id"),
        ("- [ ] a (needs: b:soon)", "line 1: 'b:soon' is not a dependency"),
    ],
)
def test_bad_plans(plan: str, message: str) -> None:
    """An error names the line."""
    with pytest.raises(Invalid) as caught:
        parse_markdown(plan)
    assert caught.value.message.startswith(message)
    assert caught.value.code == "bad_plan"


@pytest.mark.parametrize(
    ("group", "tests"),
    [
        ("test: (cd x && make)", ("(cd x && make)",)),
        ("""test: python3 -c "import a;a.b(open('c').read())\"""", None),
        ("test: make a; make b", ("make a; make b",)),
        ("Test: make", ("make",)),
        ("test: make; accept: it works", ("make",)),
        ("test: grep '('", ("grep '('",)),
    ],
)
def test_a_command_in_a_group(group: str, tests: tuple[str, ...] | None) -> None:
    """Parentheses, semicolons and quotes of a command belong to it."""
    (task,) = parse_markdown(f"- [ ] a: A (words) of it (needs: b; {group})")
    assert (task.fields.title, [need.task for need in task.needs]) == ("A (words) of it", ["b"])
    wanted = (group.partition(": ")[2],) if tests is None else tests
    assert task.fields.test_commands == wanted


@given(st.text(alphabet="-[] x\n\ta:(needs;)`*1.é\x0c\r", max_size=80))
def test_any_text_is_a_plan_or_refused(text: str) -> None:
    """No text makes the parser fail in another way."""
    with suppress(Invalid):
        assert all(task.id for task in parse_markdown(text))
