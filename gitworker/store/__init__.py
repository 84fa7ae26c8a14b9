"""What is stored: named queries behind a narrow protocol, and rows as frozen dataclasses."""
