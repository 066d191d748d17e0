"""Measures of the runtime: scheduling, overhead, parked runs; beside a peer. `python -m bench --help`."""
