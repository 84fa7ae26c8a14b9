"""Claims against a model of three lines: both agree, whatever is done in whichever order."""

from dataclasses import dataclass, field
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitworker.errors import Conflict, NotFound
from tests.claims.scene import LEASE_MS, Clocks, Scene

HOLDERS = ("auth", "docs", "ops")
NAMES = ("x:{}", "path:{}/a/**", "path:{}/a/b", "path:{}/*/c")
OVERLAP = {frozenset({1, 2}), frozenset({1, 3})}
TIMES_MS = (1, LEASE_MS // 2, LEASE_MS - 1, LEASE_MS)
JUMPS_MS = (-3_600_000, -LEASE_MS, LEASE_MS, 3_600_000)
CALLS = st.one_of(
    st.tuples(st.sampled_from(["take", "renew", "release", "check"]),
              st.sampled_from(HOLDERS), st.integers(0, 3)),
    st.tuples(st.just("pass"), st.sampled_from(TIMES_MS), st.just(0)),
    st.tuples(st.just("jump"), st.sampled_from(JUMPS_MS), st.just(0)),
)  # fmt: skip
ROUNDS = count()


@dataclass
class Model:
    """The holder and epoch of each name, and its end by CLOCK_MONOTONIC."""

    clocks: Clocks
    claims: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)

    def valid(self, name: int) -> bool:
        """Return whether a claim holds now."""
        return name in self.claims and self.claims[name][2] > self.clocks.mono_ms

    def take(self, holder: str, name: int) -> bool:
        """Take a name; return whether that was possible."""
        others = [n for n in self.claims if n == name or frozenset({n, name}) in OVERLAP]
        others = [n for n in others if self.claims[n][0] != holder]
        if any(map(self.valid, others)):
            return False
        for other in set(others) - {name}:
            del self.claims[other]
            self.epochs[other] += 1
        if name in others or not self.valid(name):
            self.epochs[name] = self.epochs.get(name, 0) + 1
        until = self.clocks.mono_ms + LEASE_MS
        self.claims[name] = holder, self.epochs[name], until
        return True

    def renew(self, holder: str, name: int) -> bool:
        """Renew a claim; return whether it was the holder's."""
        if name not in self.claims or self.claims[name][0] != holder:
            return False
        until = self.clocks.mono_ms + LEASE_MS
        self.claims[name] = holder, self.claims[name][1], until
        return True

    def release(self, holder: str, name: int) -> bool:
        """Release a claim; return whether it was the holder's."""
        if name not in self.claims or self.claims[name][0] != holder:
            return False
        del self.claims[name]
        return True

    def check(self, holder: str, name: int) -> bool:
        """Return whether the holder's claim holds."""
        return self.valid(name) and self.claims[name][0] == holder


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(CALLS, min_size=4, max_size=25))
def test_model(scene: Scene, clocks: Clocks, calls: list[tuple[str, str | int, int]]) -> None:
    """Calls succeed if the model says so, and leave the claims that the model has."""
    number = next(ROUNDS)
    names = [name.format(number) for name in NAMES]
    model = Model(clocks)
    for call, holder_or_ms, name in calls:
        if isinstance(holder_or_ms, int):
            clocks.pass_ms(holder_or_ms) if call == "pass" else clocks.jump_ms(holder_or_ms)
        else:
            expected = getattr(model, call)(holder_or_ms, name)
            assert done(scene, call, holder_or_ms, names[name]) is expected, (
                call,
                holder_or_ms,
                names[name],
            )
        found = {
            names.index(one): (holder, epoch, left + clocks.mono_ms)
            for one, holder, epoch, left in scene.claims()
            if one in names
        }
        assert found == model.claims


def done(scene: Scene, call: str, holder: str, name: str) -> bool:
    """Return whether a holder's call succeeds."""
    try:
        return getattr(scene.of(holder), call)(name) is not False
    except (Conflict, NotFound):
        return False
