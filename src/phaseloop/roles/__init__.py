"""The roles as protocols, and deterministic ones that need no network."""
