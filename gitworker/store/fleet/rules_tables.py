"""Which tables each machine of a fleet has for itself. Pure.

All other tables are shared: every machine has the same rows, in the order of PostgreSQL's log.
"""

from __future__ import annotations

LOCAL_TABLES = frozenset({
    "agent_hooks", "archives", "claim_clocks", "conflict_warnings", "cursors", "dead_letters",
    "deliveries", "export_positions", "export_state", "fleet_hand_ins", "fleet_outbox",
    "heartbeat_clocks", "heartbeats", "legal_transitions", "merge_verdicts", "meta",
    "notifications", "operations", "orphans", "own_rewrites", "published_branches",
    "published_tips", "radar_due",
    "replay_verdicts", "send_budgets", "tip_changes", "tip_forks", "trusted_commands",
})  # fmt: skip
# Columns that each machine has for itself. A claim is renewed by each heartbeat of its holder, so
# every machine keeps the time until which it regards the claim as held. A worktree is on one
# machine.
OWN_COLUMNS = {
    "task_claims": frozenset({"lease_until_ms"}),
    "workers": frozenset({"worktree", "admin_dir"}),
}
REQUIRED = frozenset({"lease_until_ms"})  # a new row has it on all machines
INTERNAL = "sqlite_"  # SQLite's own tables


def is_shared(table: str) -> bool:
    """Return whether a table has the same rows on all machines."""
    return table not in LOCAL_TABLES and not table.startswith(INTERNAL)
