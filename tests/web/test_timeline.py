"""The timeline of a real repository: bars, marks and tokens."""

import re

import pytest

from gitworker import clock
from gitworker.errors import Invalid
from gitworker.service import open_repository, to_json
from gitworker.store.records.run_results import RunReportRow, record_report
from gitworker.store.records.runs import begin_run, end_run
from tests.web.kit import Page
from tests.workers.world import World


def record_run(world: World, *, ago_ms: int, outcome: str, tokens: int) -> None:
    """Record a run of `claude` as auth that began some time ago and has ended now."""
    now = clock.now_ms()
    report = RunReportRow(outcome, "claude", None, tokens, 0, 0, 1.5)
    with world.session().store.write() as writer:
        run = begin_run(
            writer, "auth", "login", command="claude", supervisor=(1, None), process=(2, None),
            origin=("host", "boot", "ns"), now=now - ago_ms,
        )  # fmt: skip
        end_run(writer, run.id, status=0, reason="", now=now)
        record_report(writer, run.id, report)


def test_runs_reviews_and_landings(world: World, page: Page) -> None:
    """A run, a hand-in, an approval and a landing are in the picture and in the list."""
    record_run(world, ago_ms=60_000, outcome="handed_in", tokens=1234)
    world.approve("auth")
    world.land("auth")
    shown = page.see("/timeline?window=6h")
    assert 'class="bar done"' in shown
    assert 'id="lane-auth"' in shown
    for words in ("run of claude, handed in, 1m, 1,234 tokens, $1.50", "handed in by hq",
                  "approved by hq", "landed by hq"):  # fmt: skip
        assert words in re.sub(r"\s+", " ", shown), words
    for kind in ("handed_in", "approved", "landed"):
        assert len(re.findall(f'class="mark-of {kind}"', shown)) == 2, kind  # and in the legend


def test_an_undone_landing_has_one_mark(world: World, page: Page) -> None:
    """An undo of a landing is one step, and the worker waits to land again."""
    world.approve("auth")
    world.land("auth")
    service = open_repository(str(world.root))
    service.undo()
    (row,) = service.timeline(hours=1).rows
    assert [one.words for one in row.marks] == [
        "handed in", "approved", "landed", "undone: approved again"
    ]  # fmt: skip
    assert row.bars[-1].end_ms is None
    assert "undone: approved again by hq" in page.see("/timeline")


def test_tokens_by_the_hour(world: World, page: Page) -> None:
    """The tokens of a run are spread over its hours, with the cost, by agent and by project."""
    record_run(world, ago_ms=2 * 3_600_000, outcome="failed", tokens=1000)
    shown = page.see("/timeline?window=day&by=project")
    assert "1,000 tokens, $1.50" in shown
    assert "<caption>Used in this time, by project</caption>" in shown
    assert re.search(r"</svg> default</th><td>1,000</td><td>\$1.50</td>", shown)
    found = to_json(open_repository(str(world.root)).timeline(hours=24))
    hours = [one["tokens"] for one in found["burn"]["hours"] if one["tokens"]]
    assert (sum(hours), len(hours) in (2, 3)) == (1000, True)
    assert found["burn"]["groups"] == [
        {"group": "claude", "tokens": 1000, "cost_usd": 1.5, "estimated_usd": 0.0}
    ]  # fmt: skip
    assert found["rows"][0]["bars"][0]["cost_usd"] == 1.5


def test_names_are_text(world: World, page: Page) -> None:
    """The name of an agent is shown as text."""
    with world.session().store.write() as writer:
        run = begin_run(
            writer, "auth", "login", command="x", supervisor=(1, None), process=(2, None),
            origin=("host", "boot", "ns"), now=clock.now_ms() - 1000,
        )  # fmt: skip
        end_run(writer, run.id, status=0, reason="", now=clock.now_ms())
        record_report(writer, run.id, RunReportRow("failed", "<b>x</b>\x1b[1m", None, 5, 5))
    shown = page.see("/timeline")
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "<b>x" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("wanted", [{"hours": 0}, {"hours": 10_000}, {"by": "task"}])
def test_refusals(world: World, wanted: dict[str, object]) -> None:
    """Another span of time, and another grouping, are refused."""
    world.spawn("auth", "login")
    with pytest.raises(Invalid):
        open_repository(str(world.root)).timeline(**wanted)  # type: ignore[arg-type]
