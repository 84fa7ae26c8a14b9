"""Landing: what is approved reaches the target by replay and fast-forward, or not at all."""
