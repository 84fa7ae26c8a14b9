"""A worker's branch and the target: replay, stacks, approvals, remotes."""
