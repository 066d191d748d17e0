"""`python -m bench [sched|overhead|parked|all] [--peer langgraph]`: one JSON line a row, then a table."""

import argparse
import os
import platform
import sys

from bench import overhead, parked, sched
from bench.peer import PEERS, peer_row
from bench.report import table

BENCHES = {"sched": sched.rows, "overhead": overhead.rows, "parked": parked.rows}


def measured(chosen, peers):
    """The rows of the chosen benches, in order, each when it is ready; peers run right after what they stand beside."""
    for name in chosen:
        for row in BENCHES[name]():
            yield row
            if name == "overhead" and "runs/s" in row.bars:
                for peer in peers:
                    yield peer_row(peer, row)


def main(arguments=None):
    """Exit code 0 when every bar is held, 1 when one is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("bench", nargs="?", default="all", choices=[*BENCHES, "all"])
    parser.add_argument("--peer", action="append", default=[], choices=PEERS, help="measure this one beside us")
    options = parser.parse_args(arguments)
    chosen = list(BENCHES) if options.bench == "all" else [options.bench]
    if options.peer and "overhead" not in chosen:
        parser.error("--peer stands beside the overhead bench: name overhead or all")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}", file=sys.stderr)
    rows = []
    for row in measured(chosen, options.peer):
        print(row.line(), flush=True)
        rows.append(row)
    print()
    print(table(rows))
    missed = [miss for row in rows for miss in row.misses()]
    for miss in missed:
        print(f"missed: {miss}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
