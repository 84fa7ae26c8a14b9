"""Record a step of a machine: one row in `transitions`, which changes the state of its entity."""

import json
from collections.abc import Mapping

from gitworker import clock
from gitworker.bus.publish import json_text
from gitworker.store.api import Writer
from gitworker.store.messages.transitions import (
    NewTransition,
    insert_transition,
    last_transition_ms,
)


def transition_time(writer: Writer) -> int:
    """Return now, but no time before the newest transition, so that the log stays ordered."""
    return max(clock.now_ms(), last_transition_ms(writer))


def record_transition(
    writer: Writer,
    *,
    machine: str,
    entity: str,
    version: int,
    states: tuple[str, str, str],
    now: int,
    actor: str,
    metadata: Mapping[str, object],
    lines: list[dict[str, object]],
) -> None:
    """Insert a transition, which changes the state of its entity."""
    from_state, event, to_state = (str(part) for part in states)
    insert_transition(
        writer,
        NewTransition(
            machine, entity, version, from_state, event, to_state, now, actor,
            metadata=_json(metadata), lines=_json(lines),
        ),
    )  # fmt: skip


def _json(value: object) -> str:
    """Return JSON in ASCII; lone surrogates become `?` (see `json_text`)."""
    text = json.dumps(value)
    return json.dumps(json.loads(json_text(value))) if "\\ud" in text else text
