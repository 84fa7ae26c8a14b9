"""Trust: commands that the repository brings run only with the user's agreement."""

import pytest

from gitworker.errors import NotFound, Refused
from gitworker.verify.trust import (
    list_trusted,
    require_trusted,
    revoke,
    trust,
    untrusted_commands,
)
from tests.verify.scene import VerifyScene

FILE = ".gitworker.toml"


def bring(scene: VerifyScene, text: str) -> None:
    """Commit a settings file on the target."""
    scene.commit({FILE: text})


def is_trusted(scene: VerifyScene, kind: str = "verify") -> bool:
    """Return whether commands of that kind may run."""
    session = scene.session()
    if not untrusted_commands(session, kind):
        require_trusted(session, kind)
        return True
    with pytest.raises(Refused) as caught:
        require_trusted(session, kind)
    assert (caught.value.code, caught.value.hint) == ("untrusted", "git worker trust")
    return False


def agree(scene: VerifyScene) -> None:
    """Agree to whatever the repository brings."""
    session = scene.session()
    trust(session, untrusted_commands(session))


def test_agreement_is_to_a_text(scene: VerifyScene) -> None:
    """An agreement holds for exactly these commands with these declarations, and for no others."""
    assert is_trusted(scene)
    bring(scene, '[verify]\ncommands = ["make"]\n')
    assert not is_trusted(scene)
    agree(scene)
    assert is_trusted(scene)
    bring(scene, '[verify]\ncommands = ["make", "make"]\n')
    assert not is_trusted(scene)
    bring(scene, '[verify]\ncommands = ["make"]\nenv = ["LD_PRELOAD=x"]\n')
    assert not is_trusted(scene)
    agree(scene)
    assert is_trusted(scene)
    bring(scene, '[verify]\ncommands = ["make"]\n')
    assert is_trusted(scene)
    bring(scene, '[verify]\ncommands = []\nenv = ["A=1"]\ntimeout_s = 5\nkeep = ["x"]\n')
    assert is_trusted(scene)


def test_ones_own_commands(scene: VerifyScene) -> None:
    """Commands that the user has set need no agreement, unless the file declares for them."""
    bring(scene, '[verify]\ncommands = ["make"]\n')
    scene.world.git("config", "worker.verify.commands", "make test")
    assert is_trusted(scene)
    bring(scene, '[verify]\ncommands = ["make"]\nenv = ["PATH=here"]\n')
    assert not is_trusted(scene)
    scene.world.git("config", "worker.verify.env", "CI=1")
    assert is_trusted(scene)


def test_kinds_are_apart(scene: VerifyScene) -> None:
    """Agreement to verify commands is no agreement to the same commands for setup."""
    bring(scene, '[verify]\ncommands = ["make"]\n')
    agree(scene)
    bring(scene, '[verify]\ncommands = ["make"]\n[worktree]\nsetup = ["make"]\n')
    assert is_trusted(scene)
    assert not is_trusted(scene, "setup")
    assert [one.kind for one in untrusted_commands(scene.session())] == ["setup"]
    assert untrusted_commands(scene.session(), "verify") == []
    agree(scene)
    assert is_trusted(scene, "setup")


def test_list_and_revoke(scene: VerifyScene) -> None:
    """An agreement is listed with user and time, and can be removed by the start of its hash."""
    bring(scene, '[verify]\ncommands = ["make"]\nenv = ["A"]\n')
    agree(scene)
    agree(scene)
    (one,) = list_trusted(scene.session())
    assert (one.brought.kind, one.brought.commands, one.brought.env) == (
        "verify",
        ("make",),
        ("A",),
    )
    assert one.trusted_by == "Ada Tester (hq)"
    assert one.ts_ms > 0
    for wrong in ("", "x", one.brought.hash + "0"):
        with pytest.raises(NotFound):
            revoke(scene.session(), wrong)
    assert revoke(scene.session(), one.brought.hash[:8]) == one
    assert list_trusted(scene.session()) == []
    assert not is_trusted(scene)


def test_an_ambiguous_hash(scene: VerifyScene) -> None:
    """A beginning that two hashes share revokes neither."""
    for number in range(17):  # two of them begin with the same digit
        bring(scene, f'[verify]\ncommands = ["make {number}"]\n')
        agree(scene)
    firsts = [one.brought.hash[0] for one in list_trusted(scene.session())]
    shared = next(first for first in firsts if firsts.count(first) > 1)
    with pytest.raises(Refused) as caught:
        revoke(scene.session(), shared)
    assert caught.value.code == "ambiguous"
    assert len(list_trusted(scene.session())) == 17


def test_a_worker_cannot_agree(scene: VerifyScene) -> None:
    """A worker neither agrees nor revokes, unless workers may judge their own work."""
    bring(scene, '[verify]\ncommands = ["make"]\n')
    worker = scene.world.session(identity="auth")
    for act in (lambda: trust(worker, untrusted_commands(worker)), lambda: revoke(worker, "a")):
        with pytest.raises(Refused) as caught:
            act()
        assert caught.value.code == "not_allowed"
    assert not is_trusted(scene)
    scene.world.git("config", "worker.review.self", "true")
    worker = scene.world.session(identity="auth")
    trust(worker, untrusted_commands(worker))
    assert is_trusted(scene)
    assert list_trusted(worker)[0].trusted_by == "Ada Tester (auth)"


def test_a_branch_brings_nothing(scene: VerifyScene) -> None:
    """Commands in a worker's branch ask for nothing and run nowhere before they have landed."""
    bring(scene, '[verify]\ncommands = ["true"]\n')
    agree(scene)
    scene.world.working("auth", "login", {FILE: '[verify]\ncommands = ["touch /tmp/evil"]\n'})
    assert is_trusted(scene)
    assert scene.session().settings.verify_commands == ("true",)
