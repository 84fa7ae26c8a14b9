"""A plan in JSON Lines: one object each line, with the fields of one task. Pure."""

import json
from typing import Any

from gitworker.errors import Invalid
from gitworker.tasks.plan.rules_plan import PlannedTask, at_line, planned_task


def parse_json_lines(text: str) -> list[PlannedTask]:
    """Return the tasks of the lines; empty lines are skipped. Raises Invalid, naming the line."""
    found = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line, object_pairs_hook=_unique)
        except Invalid as error:
            raise at_line(number, error.message) from None
        except (ValueError, RecursionError) as error:
            raise at_line(number, f"this is not JSON: {str(error)[:80]}") from None
        if not isinstance(values, dict):
            raise at_line(number, 'a line must be one object, such as {"id": "form"}')
        found.append(planned_task(number, values))
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raise Invalid for a key that is given twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Invalid(f"{ascii(twice)[:40]} is given twice")
    return found
