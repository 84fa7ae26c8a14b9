"""stats: rows, the sum, and the table."""

from gitworker.model.tokens.prices import Cost
from gitworker.store.records.run_results import RunUsage
from gitworker.tasks.views.stats import Stats, json_stats, render_stats

LONG = RunUsage("form", 3, 2, 1, 3_723_000, 12_000, 900, 700)
PAID = RunUsage("menu", 1, 0, 0, 59_999, 10, 1, 0)
COSTS = {"menu": Cost(0.256)}


def test_the_sum_of_all() -> None:
    """The sum adds every column."""
    assert Stats("task", (LONG, PAID)).total == ("total", 4, 2, 1, 3_782_999, 12_010, 901, 700)
    assert Stats("task", ()).total == ("total", 0, 0, 0, 0, 0, 0, 0)


def test_a_table_with_a_sum() -> None:
    """A terminal gets a heading and the sum of several rows; a script gets the rows alone."""
    found = Stats("task", (LONG, PAID), COSTS)
    lines = render_stats(found, width=80, color=False).splitlines()
    assert lines[0].split() == [
        "TASK", "RUNS", "RETRIES", "FAILED", "TIME", "INPUT", "OUTPUT", "COST"
    ]  # fmt: skip
    assert lines[1].split() == ["form", "3", "2", "1", "1:02:03", "12,000", "900", "-"]
    assert lines[-1].split() == ["total", "4", "2", "1", "1:03:02", "12,010", "901", "$0.26"]
    assert render_stats(found, width=None, color=False).splitlines() == [
        "form\t3\t2\t1\t1:02:03\t12,000\t900\t-", "menu\t1\t0\t0\t0:00:59\t10\t1\t$0.26"
    ]  # fmt: skip
    assert render_stats(Stats("task", ()), width=80, color=False) == (
        "no run of an agent is recorded"
    )
    one = render_stats(Stats("agent", (PAID,)), width=80, color=False).splitlines()
    assert (one[0].split()[0], len(one)) == ("AGENT", 2)


def test_an_estimate_is_marked() -> None:
    """A cost that follows from prices has a mark, and so has a sum that contains one."""
    found = Stats("task", (LONG, PAID), {**COSTS, "form": Cost(0.5, 0.5)})
    lines = render_stats(found, width=80, color=False).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["~$0.50", "$0.26", "~$0.76"]


def test_as_json() -> None:
    """The document has the grouping, the rows and the sum."""
    document = json_stats(Stats("project", (PAID,), COSTS))
    assert document["by"] == "project"
    assert document["usage"] == [
        {
            "name": "menu", "runs": 1, "retries": 0, "failed": 0, "time_ms": 59_999,
            "input_tokens": 10, "output_tokens": 1, "cached_tokens": 0, "cost_usd": 0.256,
            "estimated_usd": 0.0,
        }
    ]  # fmt: skip
    assert document["total"]["runs"] == 1
    assert json_stats(Stats("task", (LONG,)))["total"]["cost_usd"] is None
