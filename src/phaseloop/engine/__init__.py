"""The loop: ask the core, perform what it wants, append the facts. Standard library only."""
