"""Rules: relative addresses of remotes, and the delays between pushes. Pure."""

TRIES = 10
FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 16.0


def is_relative(address: str) -> bool:
    """Return True if a remote's address is a path relative to git's directory."""
    return not address.startswith("/") and ":" not in address.split("/")[0]


def push_delay_s(attempt: int, random: float) -> float | None:
    """Return the delay after the `attempt`-th rejected push (from 1), None to give up.

    It doubles each time, minus up to half of it by `random` (0 to 1), so that two queues do not
    collide again: at most a minute in all.
    """
    if attempt >= TRIES:
        return None
    delay_s = min(FIRST_DELAY_S * 2.0 ** (attempt - 1), LONGEST_DELAY_S)
    return delay_s * (1 - random / 2)
