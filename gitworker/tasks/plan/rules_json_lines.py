"""A plan in JSON Lines: one object each line, with the fields of one task. Pure."""

import json

from gitworker.tasks.plan.rules_plan import PlannedTask, at_line, planned_task


def parse_json_lines(text: str) -> list[PlannedTask]:
    """Return the tasks of the lines; empty lines are skipped. Raises Invalid, naming the line."""
    found = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise at_line(number, f"this is not JSON: {str(error)[:80]}") from None
        if not isinstance(values, dict):
            raise at_line(number, 'a line must be one object, such as {"id": "form"}')
        found.append(planned_task(number, values))
    return found
