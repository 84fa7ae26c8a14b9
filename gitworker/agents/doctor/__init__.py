"""agents doctor: which agents are installed, and whether each can commit and reach the bus."""
