"""Messages of a fleet are pruned once no machine has an agent that may still read them."""

from collections.abc import Callable

from gitworker import clock
from gitworker.bus.files.rules_retention import DAY_MS
from tests.fleet.machines.machine import Machine, wait_for

Fleet = Callable[..., list[Machine]]


def notes(machine: Machine) -> list[str]:
    """Return the notes on the bus, as a machine has it after a look at the fleet."""
    machine.ok("status")
    found = machine.query("SELECT payload FROM messages WHERE type = 'x-note' ORDER BY seq")
    return [row[0].strip('"') for row in found]


def logged(machine: Machine) -> int:
    """Return how many notes `bus.jsonl` of a machine has."""
    return (machine.state / "bus.jsonl").read_text().count("x-note")


def say(machine: Machine, *texts: str) -> None:
    """Send notes to all agents."""
    for text in texts:
        machine.ok("msg", "send", "x-note", f'"{text}"')


def pruned(machine: Machine) -> str:
    """Prune messages of any age; return what the command says."""
    return machine.ok("msg", "prune", "--older-than", "0").splitlines()[0]


def recorded(machine: Machine, of: Machine) -> int:
    """Return from which message on another machine needs them, as a machine knows it."""
    machine.ok("status")
    ((seq,),) = machine.query(f"SELECT needs_from FROM machines WHERE id = '{of.name}'")
    return int(seq)


def test_unread_messages_of_another_machine_stay(fleet: Fleet) -> None:
    """A prune keeps what an agent of another machine has not read, and no more."""
    alpha, beta = fleet("alpha", "beta")
    say(alpha, "one", "two", "three")
    wait_for(lambda: len(notes(beta)) == 3)
    assert "machine beta" in pruned(alpha)
    assert notes(alpha) == ["one", "two", "three"]
    beta.ok("msg", "poll", "--limit", "1")
    beta.ok("msg", "prune")
    wait_for(lambda: recorded(alpha, beta) > 0)
    assert "pruned 1 message; machine beta" in pruned(alpha)
    wait_for(lambda: notes(beta) == ["two", "three"])
    assert (logged(alpha), logged(beta)) == (2, 3)
    beta.ok("msg", "poll")
    before = recorded(beta, beta)
    beta.ok("msg", "prune")
    assert logged(beta) == 2
    wait_for(lambda: recorded(alpha, beta) > before)
    assert pruned(alpha).startswith("pruned 2 messages")
    wait_for(lambda: notes(beta) == [])
    assert alpha.complaints() == beta.complaints() == []


def test_a_machine_that_is_silent_for_long(fleet: Fleet) -> None:
    """A machine that has reported within the retention holds messages back, a silent one not."""
    alpha, beta = fleet("alpha", "beta")
    say(alpha, "one")
    wait_for(lambda: notes(beta) == ["one"])
    beta.crash()
    for days, expected in ((29, ["one"]), (31, [])):
        alpha.env["GITWORKER_CLOCK_MS"] = str(clock.now_ms() + days * DAY_MS)
        pruned(alpha)
        assert notes(alpha) == expected
    del alpha.env["GITWORKER_CLOCK_MS"]
    beta.boot()
    say(alpha, "two")
    beta.ok("status")
    wait_for(lambda: notes(beta) == ["two"])
