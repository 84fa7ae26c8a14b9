"""Landing: approved work reaches the target by replay and fast-forward, or not at all."""
