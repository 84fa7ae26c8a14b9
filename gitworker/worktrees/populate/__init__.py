"""What a new worktree gets besides its files: links, copies, submodules, setup commands."""
