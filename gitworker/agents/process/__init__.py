"""The process of an agent: its family, its streams, its terminal, its log."""
