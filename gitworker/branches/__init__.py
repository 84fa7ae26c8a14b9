"""A worker's branch against the target: replay, stacks, approvals, remotes."""
