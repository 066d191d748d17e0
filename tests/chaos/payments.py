"""A tiny durable program for the tests of the kit: five payments, each noted before and after, in SQLite.

`payments.py DATABASE LEDGER` pays what is not noted as paid and prints `done`.
"""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.chaos.ledger import deliver

PAYMENTS = [f"payment-{n}" for n in range(1, 6)]


def main(database: str, ledger: str) -> None:
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE IF NOT EXISTS note (key TEXT, what TEXT, PRIMARY KEY (key, what))")
    for key in PAYMENTS:
        if db.execute("SELECT 1 FROM note WHERE key = ? AND what = 'paid'", (key,)).fetchone():
            continue
        db.execute("INSERT OR IGNORE INTO note VALUES (?, 'started')", (key,))
        deliver(ledger, {"key": key})
        db.execute("INSERT INTO note VALUES (?, 'paid')", (key,))
    db.close()
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
