"""`doctor` and `fsck` on a machine of a fleet."""

from collections.abc import Callable

from tests.fleet.machines.machine import Machine, wait_for

Fleet = Callable[..., list[Machine]]


def test_the_work_of_another_machine_is_no_fault(fleet: Fleet) -> None:
    """In each state of a worker on another machine, `doctor` and `fsck` find no fault."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.ok("spawn", "api", "limits")
    require_sound(alpha, beta)
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    require_sound(alpha, beta)
    alpha.ok("done", "auth")
    require_sound(alpha, beta)
    beta.ok("diff", "auth")
    require_sound(alpha, beta)
    (beta.root / "README").write_text("not committed\n")
    alpha.commit("api", "Change README", {"README": "changed\n"})
    alpha.ok("done", "api")
    alpha.ok("land", "auth", "api")
    wait_for(lambda: beta.git("rev-parse", "origin/main") == alpha.git("rev-parse", "main"))
    require_sound(alpha, beta)
    beta.git("checkout", "README")
    beta.ok("task", "add", "next", "--title", "Next")
    alpha.ok("spawn", "auth", "next")
    alpha.ok("cancel", "auth")
    require_sound(alpha, beta)


def require_sound(*machines: Machine) -> None:
    """Fail if `doctor` or `fsck` finds anything on a machine, or a background job has failed."""
    for one in machines:
        for verb in ("fsck", "doctor"):
            answer = one.run(verb)
            faults = [line for line in answer.out.splitlines() if not line.startswith("ok ")]
            assert answer.status == 0, (one.name, verb, faults)
        assert one.complaints() == [], one.name
