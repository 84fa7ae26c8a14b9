"""The form in which the library gives messages to an agent."""

from typing import Any

# The keys are `seq`, `id`, `ts`, `from`, `to`, `type`, `correlation_id`, `in_reply_to`, `payload`,
# `payload_ref` and `payload_error` (see `gitworker.bus.client.library`).
Message = dict[str, Any]
