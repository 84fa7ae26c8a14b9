"""git hooks: shims that notify the drain and run the user's own hook, per linked worktree.

The main checkout and the user's hook files are never touched. The scripts are in `githooks/`;
`shims` writes them into the state directory, `install` points a worktree at them.
"""
