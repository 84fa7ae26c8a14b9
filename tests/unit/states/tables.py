"""The machines, written by hand as text.

The tests compare the program's tables with these, never with themselves.
"""

WORKER = """
IDLE assign ASSIGNED
ASSIGNED start WORKING
ASSIGNED setup_failed FAILED
ASSIGNED expire FAILED
WORKING submit IN_REVIEW
WORKING fail FAILED
WORKING heartbeat_timeout STALE
IN_REVIEW approve APPROVED
IN_REVIEW request_changes WORKING
IN_REVIEW review_timeout STALE
APPROVED merge COMPLETED
APPROVED merge_conflict WORKING
STALE recover WORKING
STALE expire FAILED
FAILED reset IDLE
FAILED resume WORKING
COMPLETED recycle IDLE
IN_REVIEW merge_conflict WORKING
IN_REVIEW verify_failed WORKING
APPROVED verify_failed WORKING
APPROVED approval_withdrawn IN_REVIEW
STALE approve APPROVED
STALE request_changes WORKING
STALE resume_review IN_REVIEW
WORKING stop FAILED
IN_REVIEW stop FAILED
STALE stop FAILED
ASSIGNED cancel IDLE
WORKING cancel IDLE
IN_REVIEW cancel IDLE
APPROVED cancel IDLE
STALE cancel IDLE
FAILED cancel IDLE
"""

TASK = """
DEFINED DEPS_MET READY
READY ASSIGNED ASSIGNED
ASSIGNED AGENT_STARTED IN_PROGRESS
IN_PROGRESS AGENT_COMPLETED VERIFYING
VERIFYING VERIFY_PASSED COMPLETED
VERIFYING PR_CREATED AWAITING_APPROVAL
AWAITING_APPROVAL PR_MERGED COMPLETED
IN_PROGRESS AGENT_FAILED FAILED
VERIFYING VERIFY_FAILED FAILED
FAILED RETRY READY
FAILED MAX_RETRIES BLOCKED
IN_PROGRESS TOKENS_EXHAUSTED PAUSED
IN_PROGRESS AGENT_QUESTION WAITING_INPUT
WAITING_INPUT HUMAN_REPLIED IN_PROGRESS
WAITING_INPUT INPUT_TIMEOUT PAUSED
PAUSED RESUME_TIMER READY
IN_PROGRESS MAX_RETRIES BLOCKED
IN_PROGRESS RETRY READY
BLOCKED ADMIN_SKIP COMPLETED
FAILED ADMIN_SKIP COMPLETED
IN_PROGRESS ADMIN_STOP BLOCKED
BLOCKED ADMIN_RESTART READY
FAILED ADMIN_RESTART READY
COMPLETED ADMIN_RESTART READY
PAUSED ADMIN_RESTART READY
DEFINED ADMIN_RESTART READY
ASSIGNED ADMIN_RESTART READY
AWAITING_APPROVAL ADMIN_RESTART READY
VERIFYING ADMIN_RESTART READY
WAITING_INPUT ADMIN_RESTART READY
AWAITING_APPROVAL PR_CLOSED BLOCKED
IN_PROGRESS TIMEOUT BLOCKED
ASSIGNED TIMEOUT BLOCKED
ASSIGNED EXECUTION_ERROR READY
IN_PROGRESS RECOVERY READY
ASSIGNED RECOVERY READY
DEFINED USER_CANCELLED CANCELLED
READY USER_CANCELLED CANCELLED
ASSIGNED USER_CANCELLED CANCELLED
IN_PROGRESS USER_CANCELLED CANCELLED
WAITING_INPUT USER_CANCELLED CANCELLED
PAUSED USER_CANCELLED CANCELLED
VERIFYING USER_CANCELLED CANCELLED
AWAITING_APPROVAL USER_CANCELLED CANCELLED
FAILED USER_CANCELLED CANCELLED
BLOCKED USER_CANCELLED CANCELLED
CANCELLED ADMIN_RESTART READY
"""

WORKSTREAM = """
planned all_tasks_created ready
ready first_task_started executing
executing all_tasks_completed validating
executing critical_task_failed failed
validating validation_passed completed
validating validation_failed failed
planned user_cancelled cancelled
ready user_cancelled cancelled
executing user_cancelled cancelled
validating user_cancelled cancelled
completed user_cancelled cancelled
"""

AGENT = """
INITIALIZING registration_complete IDLE
IDLE task_assigned STARTING
STARTING agent_started BUSY
STARTING launch_failed ERROR
BUSY task_completed IDLE
BUSY tokens_exhausted PAUSED
PAUSED resume BUSY
PAUSED task_released IDLE
BUSY health_check_timeout UNRESPONSIVE
UNRESPONSIVE health_check_recovered IDLE
UNRESPONSIVE health_check_resumed BUSY
UNRESPONSIVE max_timeout_exceeded SHUTDOWN
IDLE pause PAUSED
PAUSED unpause IDLE
IDLE shutdown_requested SHUTDOWN
BUSY shutdown_requested SHUTDOWN
PAUSED shutdown_requested SHUTDOWN
STARTING shutdown_requested SHUTDOWN
ERROR shutdown_requested SHUTDOWN
BUSY unrecoverable_error ERROR
ERROR reset IDLE
"""

# the task lifecycle, with its cancellations
LIFECYCLE = """
pending scheduler_assigned queued
queued worker_started running
running execution_completed validating
running execution_failed retrying
running execution_failed failed
running user_cancelled cancelled
retrying retry_delay_elapsed queued
validating validation_passed completed
validating validation_failed failed
pending user_cancelled cancelled
queued user_cancelled cancelled
retrying user_cancelled cancelled
validating user_cancelled cancelled
"""

# lines of each step: status, event, view before -> the steps; `+` is the next incarnation,
# `!d` and `!v` the waiver, `~` AGENT_FAILED without a retry left
SKIP = "+pending>queued!v +queued>running!v +running>validating!v +validating>completed!v"
LIFECYCLE_LINES = f"""
DEFINED DEPS_MET pending: pending>queued
DEFINED ADMIN_RESTART pending: pending>queued!d
DEFINED USER_CANCELLED pending: pending>cancelled
READY ASSIGNED queued:
READY USER_CANCELLED queued: queued>cancelled
ASSIGNED AGENT_STARTED queued: queued>running
ASSIGNED EXECUTION_ERROR queued:
ASSIGNED RECOVERY queued:
ASSIGNED TIMEOUT queued: queued>cancelled
ASSIGNED ADMIN_RESTART queued:
ASSIGNED USER_CANCELLED queued: queued>cancelled
IN_PROGRESS AGENT_COMPLETED running: running>validating
IN_PROGRESS AGENT_FAILED running: running>retrying
IN_PROGRESS AGENT_FAILED~ running:
IN_PROGRESS TOKENS_EXHAUSTED running:
IN_PROGRESS AGENT_QUESTION running:
IN_PROGRESS TIMEOUT running: running>failed
IN_PROGRESS ADMIN_STOP running: running>failed
IN_PROGRESS MAX_RETRIES running: running>failed
IN_PROGRESS RETRY running: running>retrying retrying>queued
IN_PROGRESS RECOVERY running: running>cancelled +pending>queued
IN_PROGRESS USER_CANCELLED running: running>cancelled
WAITING_INPUT HUMAN_REPLIED running:
WAITING_INPUT INPUT_TIMEOUT running:
WAITING_INPUT ADMIN_RESTART running: running>cancelled +pending>queued
WAITING_INPUT USER_CANCELLED running: running>cancelled
PAUSED RESUME_TIMER running: running>cancelled +pending>queued
PAUSED ADMIN_RESTART running: running>cancelled +pending>queued
PAUSED USER_CANCELLED running: running>cancelled
VERIFYING VERIFY_PASSED validating: validating>completed
VERIFYING PR_CREATED validating:
VERIFYING VERIFY_FAILED validating: validating>failed
VERIFYING ADMIN_RESTART validating: validating>failed +pending>queued
VERIFYING USER_CANCELLED validating: validating>cancelled
AWAITING_APPROVAL PR_MERGED validating: validating>completed
AWAITING_APPROVAL PR_CLOSED validating: validating>failed
AWAITING_APPROVAL ADMIN_RESTART validating: validating>failed +pending>queued
AWAITING_APPROVAL USER_CANCELLED validating: validating>cancelled
COMPLETED ADMIN_RESTART completed: +pending>queued
FAILED RETRY running: running>retrying retrying>queued
FAILED MAX_RETRIES running: running>failed
FAILED ADMIN_SKIP running: running>failed {SKIP}
FAILED ADMIN_RESTART running: running>failed +pending>queued
FAILED USER_CANCELLED running: running>cancelled
FAILED RETRY failed: +pending>queued
FAILED MAX_RETRIES failed:
FAILED ADMIN_SKIP failed: {SKIP}
FAILED ADMIN_RESTART failed: +pending>queued
FAILED USER_CANCELLED failed:
FAILED RETRY retrying: retrying>queued
FAILED MAX_RETRIES retrying: retrying>cancelled
FAILED ADMIN_SKIP retrying: retrying>cancelled {SKIP}
FAILED ADMIN_RESTART retrying: retrying>queued
FAILED USER_CANCELLED retrying: retrying>cancelled
BLOCKED ADMIN_SKIP failed: {SKIP}
BLOCKED ADMIN_RESTART failed: +pending>queued
BLOCKED USER_CANCELLED failed:
BLOCKED ADMIN_SKIP cancelled: {SKIP}
BLOCKED ADMIN_RESTART cancelled: +pending>queued
BLOCKED USER_CANCELLED cancelled:
CANCELLED ADMIN_RESTART failed: +pending>queued!d
CANCELLED ADMIN_RESTART cancelled: +pending>queued!d
"""

COMMENT = """
draft send sent
sent handle handled
sent resolve resolved
handled resolve resolved
handled reopen reopened
resolved reopen reopened
reopened handle handled
reopened resolve resolved
"""


def rows(text: str) -> set[tuple[str, str, str]]:
    """Return a table's rows as (from, event, to)."""
    parsed = [tuple(line.split()) for line in text.strip().splitlines()]
    assert len(set(parsed)) == len(parsed)
    return {(start, event, end) for start, event, end in parsed}
