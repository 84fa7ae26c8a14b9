"""The pool: worktrees parked in advance, taken by spawn and by verify."""
