"""The meaning of a heartbeat's age, by tables and over random facts."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.config import Settings
from gitworker.liveness.rules_stale import (
    ClockReading,
    Heartbeat,
    Liveness,
    WorkerFacts,
    due_event,
    has_heartbeats,
    has_jumped,
    heartbeat_age_ms,
    is_expected_to_report,
    is_lost_at_work,
    is_lost_before_start,
    is_quiet,
    liveness_of,
    may_time_out,
    sync_request,
)
from gitworker.model.worker import WorkerEvent, WorkerState

S = Settings()
NOW = 1_000_000_000
MOMENT = ClockReading(NOW, mono_ms=5_000_000, boot_id="boot", host="here")
SECOND = 1000


def silent(seconds: float) -> Heartbeat:
    """Return a heartbeat of this host and boot, so long ago by either clock."""
    ago = int(seconds * SECOND)
    return Heartbeat(NOW - ago, MOMENT.mono_ms - ago, "boot", "here")


def at_work(heartbeat: Heartbeat | None, **changes: object) -> WorkerFacts:
    """Return the facts of a worker that has been WORKING for a day, its process unknown."""
    facts = WorkerFacts(WorkerState.WORKING, None, NOW - 86_400_000, heartbeat, None)
    return facts._replace(**changes)


def test_age_by_the_monotonic_clock() -> None:
    """Within one boot of one host a jump of the wall clock does not change an age."""
    heartbeat = Heartbeat(NOW - 3_600_000, MOMENT.mono_ms - 7, "boot", "here")
    assert heartbeat_age_ms(heartbeat, MOMENT) == 7
    assert heartbeat_age_ms(heartbeat._replace(ts_ms=NOW + 3_600_000), MOMENT) == 7


@pytest.mark.parametrize(
    "changes",
    [{"mono_ms": None}, {"host": "there"}, {"boot_id": "earlier"}, {"boot_id": ""}, {"host": None}],
)
def test_age_by_the_wall_clock(changes: dict[str, object]) -> None:
    """A heartbeat of another host, boot or program is measured by the wall clock."""
    heartbeat = Heartbeat(NOW - 9, MOMENT.mono_ms - 7, "boot", "here")._replace(**changes)
    assert heartbeat_age_ms(heartbeat, MOMENT) == 9


@pytest.mark.parametrize(
    ("jump_ms", "changes", "jumped"),
    [
        (86_400_000, {}, True),
        (-86_400_007, {}, True),
        (86_399_000, {}, False),
        (86_400_000, {"mono_ms": None}, False),
        (86_400_000, {"host": "there"}, False),
        (86_400_000, {"boot_id": "earlier"}, False),
        (86_400_000, {"boot_id": ""}, False),
    ],
)
def test_a_clock_that_was_set(jump_ms: int, changes: dict[str, object], jumped: bool) -> None:
    """The newest heartbeat of this boot shows whether the wall clock has moved by a day since."""
    newest = silent(9)._replace(**changes)
    later = MOMENT._replace(now_ms=NOW + jump_ms)
    assert has_jumped([newest], later) is jumped
    assert not has_jumped([], later)


def test_the_newest_heartbeat_counts() -> None:
    """A heartbeat from before a jump does not count if there is one from after it."""
    before = Heartbeat(NOW - 90_000_000, MOMENT.mono_ms - 99, "boot", "here")
    assert has_jumped([before], MOMENT)
    assert not has_jumped([before, silent(0)], MOMENT)


def test_an_unknown_boot_is_never_the_same_boot() -> None:
    """If the system has no boot id, monotonic stamps are not compared."""
    moment = MOMENT._replace(boot_id="")
    assert heartbeat_age_ms(Heartbeat(NOW - 9, 1, "", "here"), moment) == 9


@given(st.integers(), st.integers(), st.booleans())
def test_an_age_is_never_negative(ts_ms: int, mono_ms: int, foreign: bool) -> None:
    """A heartbeat from the future, by either clock, has the age 0."""
    heartbeat = Heartbeat(ts_ms) if foreign else Heartbeat(ts_ms, mono_ms, "boot", "here")
    assert heartbeat_age_ms(heartbeat, MOMENT) >= 0


@pytest.mark.parametrize(
    ("seconds", "word"),
    [(0, "OK"), (29.999, "OK"), (30, "WARN"), (99.999, "WARN"), (100, "STALE"),
     (299.999, "STALE"), (300, "DEAD"), (1e9, "DEAD")],
)  # fmt: skip
def test_the_words_for_an_age(seconds: float, word: str) -> None:
    """The thresholds are 30 s for WARN, 100 s for STALE and 5 min for DEAD."""
    assert liveness_of(int(seconds * SECOND), S) == word


def test_no_heartbeat_is_unknown() -> None:
    """An agent without any heartbeat is neither alive nor dead."""
    assert liveness_of(None, S) is Liveness.UNKNOWN


@pytest.mark.parametrize(
    ("seconds", "runs", "due"),
    [
        (99.9, False, False),
        (100, False, True),
        (100, None, False),
        (100, True, False),
        (299.9, None, False),
        (299.9, True, False),
        (300, None, True),
        (300, True, True),
        (300, False, True),
    ],
)
def test_working_becomes_stale(seconds: float, runs: bool | None, due: bool) -> None:
    """WORKING→STALE after 100 s if the process has ended, or after 5 min in any case."""
    event = due_event(at_work(silent(seconds), process_runs=runs), MOMENT, S)
    assert event is (WorkerEvent.HEARTBEAT_TIMEOUT if due else None)


def test_a_worker_without_a_heartbeat_is_judged_from_its_start() -> None:
    """Without any heartbeat the age counts from the last change of state."""
    facts = at_work(None, changed_at_ms=NOW - 299_999)
    assert due_event(facts, MOMENT, S) is None
    facts = facts._replace(changed_at_ms=NOW - 300_000)
    assert due_event(facts, MOMENT, S) is WorkerEvent.HEARTBEAT_TIMEOUT


def test_an_old_heartbeat_does_not_count_after_a_new_start() -> None:
    """A worker that has just begun is not stale by a heartbeat of its previous task."""
    assert due_event(at_work(silent(1e6), changed_at_ms=NOW - 1), MOMENT, S) is None


@pytest.mark.parametrize(("seconds", "due"), [(3599, None), (3600, WorkerEvent.REVIEW_TIMEOUT)])
def test_a_review_times_out_by_its_own_age(seconds: int, due: WorkerEvent | None) -> None:
    """IN_REVIEW→STALE an hour after the submit, whatever heartbeat or process there is."""
    changed = NOW - seconds * SECOND
    for heartbeat, runs in ((silent(0), True), (silent(1e6), False), (None, None)):
        facts = at_work(
            heartbeat, state=WorkerState.IN_REVIEW, changed_at_ms=changed, process_runs=runs
        )
        assert due_event(facts, MOMENT, S) is due


def stale(heartbeat: Heartbeat | None, seconds: float) -> WorkerFacts:
    """Return the facts of a worker that went stale at work so long ago."""
    changed = NOW - int(seconds * SECOND)
    return at_work(
        heartbeat, state=WorkerState.STALE, stale_from=WorkerState.WORKING, changed_at_ms=changed
    )


@pytest.mark.parametrize(
    ("facts", "due"),
    [
        (stale(silent(0), 60), WorkerEvent.RECOVER),
        (stale(silent(59), 60), WorkerEvent.RECOVER),
        (stale(silent(61), 60), None),
        (stale(silent(100), 200), None),
        (stale(silent(899), 500), None),
        (stale(silent(900), 500), WorkerEvent.EXPIRE),
        (stale(None, 599), None),
        (stale(None, 600), WorkerEvent.EXPIRE),
    ],
)
def test_stale_recovers_or_expires(facts: WorkerFacts, due: WorkerEvent | None) -> None:
    """STALE→WORKING by a later heartbeat, STALE→FAILED 15 min after the last one, else none."""
    assert due_event(facts, MOMENT, S) is due


@pytest.mark.parametrize(
    ("runs", "due"),
    [(True, WorkerEvent.STOP), (False, WorkerEvent.EXPIRE), (None, WorkerEvent.EXPIRE)],
)
def test_a_silent_process_is_stopped(runs: bool | None, due: WorkerEvent) -> None:
    """A stale worker expires if its process is gone or unknown; a living one is stopped."""
    assert due_event(stale(silent(900), 500)._replace(process_runs=runs), MOMENT, S) is due
    assert due_event(stale(None, 600)._replace(process_runs=runs), MOMENT, S) is due


@pytest.mark.parametrize(
    ("facts", "runs", "due"),
    [
        (at_work(silent(1e6)), False, None),
        (at_work(silent(1e6)), None, None),
        (at_work(None), None, None),
        (at_work(silent(1e6)), True, WorkerEvent.HEARTBEAT_TIMEOUT),
        (stale(silent(1e6), 1e5), False, None),
        (stale(silent(1e6), 1e5), None, None),
        (stale(None, 1e6), None, None),
        (stale(silent(1e6), 1e5), True, WorkerEvent.STOP),
        (stale(silent(0), 60), False, WorkerEvent.RECOVER),
    ],
)
def test_returned_work_waits_for_its_author(
    facts: WorkerFacts, runs: bool | None, due: WorkerEvent | None
) -> None:
    """Work that was sent back neither becomes stale nor expires without a living process."""
    facts = facts._replace(process_runs=runs)
    assert due_event(facts._replace(waits_for_author=True), MOMENT, S) is due
    assert due_event(facts, MOMENT, S) is not None


def test_stale_in_review_waits_for_people() -> None:
    """A worker that went stale in review neither expires nor recovers by a heartbeat."""
    facts = stale(silent(1e6), 1e5)._replace(stale_from=WorkerState.IN_REVIEW)
    assert due_event(facts, MOMENT, S) is None
    assert due_event(facts._replace(heartbeat=silent(0)), MOMENT, S) is None


@pytest.mark.parametrize(
    ("facts", "due"),
    [
        (at_work(silent(299.9)), None),
        (at_work(silent(300)), WorkerEvent.HEARTBEAT_TIMEOUT),
        (at_work(silent(300), changed_at_ms=NOW + 3_600_000), WorkerEvent.HEARTBEAT_TIMEOUT),
        (at_work(silent(0), changed_at_ms=0), None),
        (at_work(silent(1e6), waits_for_author=True), None),
        (stale(silent(0), -3600), WorkerEvent.RECOVER),
        (stale(silent(100), 200), None),
        (stale(silent(900), -3600), WorkerEvent.EXPIRE),
    ],
)
def test_a_worker_elsewhere_is_judged_by_its_heartbeats(
    facts: WorkerFacts, due: WorkerEvent | None
) -> None:
    """The time at which another machine has recorded a state does not count."""
    assert due_event(facts._replace(in_fleet=True, is_elsewhere=True), MOMENT, S) is due


@pytest.mark.parametrize("facts", [at_work(None), stale(None, 1e6)])
def test_a_worker_elsewhere_that_was_never_heard_of(facts: WorkerFacts) -> None:
    """Before its first heartbeat has arrived, nothing is due; here, its silence counts."""
    assert due_event(facts._replace(in_fleet=True, is_elsewhere=True), MOMENT, S) is None
    assert due_event(facts._replace(in_fleet=True), MOMENT, S) is not None


def test_a_worker_that_has_not_started_on_a_silent_machine() -> None:
    """It is lost after the silence that ends the work of a stale one."""
    assert not is_lost_before_start(899_999, S)
    assert is_lost_before_start(900_000, S)


def test_a_worker_that_another_machine_has_made_stale_recovers() -> None:
    """In a fleet a recent heartbeat is enough, since the clock of the state may be ahead."""
    facts = stale(silent(0), -3600)
    assert due_event(facts, MOMENT, S) is None
    assert due_event(facts._replace(in_fleet=True), MOMENT, S) is WorkerEvent.RECOVER


def test_words_for_states() -> None:
    """The states that have heartbeats, in which silence counts, and that time can change."""
    at_work, review, stale_ = WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.STALE
    assert {s for s in WorkerState if has_heartbeats(s)} == {at_work, review}
    assert {s for s in WorkerState if is_expected_to_report(s)} == {at_work}
    assert {s for s in WorkerState if may_time_out(s)} == {at_work, review, stale_}
    lost = {(s, b) for s in WorkerState for b in (None, *WorkerState) if is_lost_at_work(s, b)}
    assert lost == {(stale_, at_work)}


def test_the_origin_of_pids() -> None:
    """A pid can be looked up on its own host, in its boot and in its PID namespace."""
    assert MOMENT._replace(pid_ns="pid:[1]").origin == ("here", "boot", "pid:[1]")


STATES = st.sampled_from(WorkerState)
HEARTBEATS = st.none() | st.builds(
    Heartbeat,
    st.integers(0, 2 * NOW),
    st.none() | st.integers(0, 10_000_000),
    st.none() | st.sampled_from(["boot", "other", ""]),
    st.none() | st.sampled_from(["here", "there"]),
)
FACTS = st.builds(
    WorkerFacts, STATES, st.none() | STATES, st.integers(0, 2 * NOW), HEARTBEATS,
    st.none() | st.booleans(), st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip


@given(FACTS)
def test_only_three_states_time_out(facts: WorkerFacts) -> None:
    """Whatever the clocks show, an event is due only if the machine accepts it."""
    event = due_event(facts, MOMENT, S)
    if event is None:
        return
    allowed = {
        WorkerState.WORKING: {WorkerEvent.HEARTBEAT_TIMEOUT},
        WorkerState.IN_REVIEW: {WorkerEvent.REVIEW_TIMEOUT},
        WorkerState.STALE: {WorkerEvent.RECOVER, WorkerEvent.EXPIRE, WorkerEvent.STOP},
    }
    assert event in allowed.get(facts.state, set())


@given(FACTS)
def test_an_unknown_process_is_never_stale_before_dead(facts: WorkerFacts) -> None:
    """If the process is unknown, nothing is stale before 5 min of silence."""
    facts = facts._replace(state=WorkerState.WORKING, process_runs=None)
    if due_event(facts, MOMENT, S) is not None:
        assert facts.is_elsewhere or MOMENT.now_ms - facts.changed_at_ms >= 300_000
        assert facts.heartbeat is None or heartbeat_age_ms(facts.heartbeat, MOMENT) >= 300_000


@given(FACTS, st.integers(0, 10_000_000))
def test_silence_only_makes_it_worse(facts: WorkerFacts, later_ms: int) -> None:
    """A due event without a new heartbeat stays due as time passes, except for a recovery."""
    event = due_event(facts, MOMENT, S)
    later = MOMENT._replace(now_ms=NOW + later_ms, mono_ms=MOMENT.mono_ms + later_ms)
    if event not in (None, WorkerEvent.RECOVER):
        assert due_event(facts, later, S) is event


@given(FACTS, st.tuples(*[st.integers(0, 10_000)] * 3))
def test_a_worker_that_is_not_quiet_needs_no_check(
    facts: WorkerFacts, limits: tuple[int, ...]
) -> None:
    """Nothing is ever due for a worker that is skipped, whatever the thresholds are."""
    warn, stale_after, dead = limits
    settings = Settings(liveness_warn_s=warn, liveness_stale_s=stale_after, liveness_dead_s=dead)
    if not is_quiet(facts.state, facts.heartbeat, MOMENT, settings):
        assert due_event(facts, MOMENT, settings) is None
        assert facts.heartbeat is not None


@given(FACTS)
def test_a_state_without_a_timeout_has_nothing_due(facts: WorkerFacts) -> None:
    """A state that cannot time out has nothing due."""
    if not may_time_out(facts.state):
        assert due_event(facts, MOMENT, S) is None


def test_the_request_to_rebase() -> None:
    """It is a command that a shell reads as three words after `git worker`."""
    words = shlex.split(sync_request("auth"))
    assert words == ["git", "worker", "send", "auth", "Your branch conflicts: run git worker sync"]
