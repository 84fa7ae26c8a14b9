"""When an agent may continue after a limit: not in the quiet hours. Pure."""

DAY_MIN = 24 * 60
MINUTE_MS = 60_000


def after_quiet(at_ms: int, hours: str, *, minute: int) -> int:
    """Return the time, or the end of the quiet hours in which it falls.

    `hours` is HH:MM-HH:MM, empty without quiet hours. `minute` is the local minute of the day of
    the time. The result is less than a minute late.
    """
    if not hours:
        return at_ms
    start, end = (int(part[:2]) * 60 + int(part[3:]) for part in hours.split("-"))
    inside = (minute - start) % DAY_MIN < (end - start) % DAY_MIN
    return at_ms + (end - minute) % DAY_MIN * MINUTE_MS if inside else at_ms
