"""The house rules, executable: each says what it found and how to fix it."""
