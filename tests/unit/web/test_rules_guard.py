"""The rules that admit a request: its own name, its own site, a body that can be read."""

import pytest

from gitworker.web.rules_guard import BODY_AT_MOST, FORM, JSON, Asked, denied, is_json

OWN = Asked("POST", "/x", ["127.0.0.1:80"], ["http://127.0.0.1:80"], ["same-origin"], [FORM], ["3"])


def status(asked: Asked, port: int | None = 80) -> int:
    """Return the status of the refusal; 0 without one."""
    found = denied(asked, port=port)
    return found.status if found else 0


def test_own_requests() -> None:
    """The page's own requests are admitted, also without a port and in JSON."""
    assert status(OWN) == 0
    assert status(OWN._replace(hosts=["LOCALHOST"], origins=["http://localhost"])) == 0
    assert status(OWN._replace(types=[f"{JSON}; charset=utf-8"], sites=[])) == 0
    assert status(Asked("GET", "/", ["[::1]:80"])) == 0
    assert status(Asked("GET", "/open", ["localhost:80"], sites=["cross-site"])) == 0


def test_behind_a_socket_every_port_is_ours() -> None:
    """Behind a socket the port is that of the forwarding program."""
    asked = OWN._replace(hosts=["localhost:8080"], origins=["http://localhost:8080"])
    assert (status(asked, None), status(asked)) == (0, 421)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"method": "PUT"}, 405),
        ({"hosts": []}, 421),
        ({"hosts": ["127.0.0.1:80", "127.0.0.1:80"]}, 421),
        ({"hosts": ["evil.example:80"]}, 421),
        ({"hosts": ["127.0.0.1:\u0668\u0660"]}, 421),
        ({"origins": ["null"]}, 403),
        ({"origins": []}, 403),
        ({"sites": ["cross-site"]}, 403),
        ({"types": []}, 415),
        ({"types": ["text/plain"]}, 415),
        ({"lengths": []}, 411),
        ({"lengths": ["-1"]}, 411),
        ({"lengths": [str(BODY_AT_MOST + 1)]}, 413),
        ({"lengths": ["9" * 5000]}, 413),
    ],
)
def test_refusals(change: dict[str, object], wanted: int) -> None:
    """A request that differs in one part is refused with this status."""
    assert status(OWN._replace(**change)) == wanted


def test_json_is_named() -> None:
    """Only a body that says so is read as JSON."""
    assert (is_json([JSON]), is_json([FORM]), is_json([])) == (True, False, False)
