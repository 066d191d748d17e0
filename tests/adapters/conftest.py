"""Stores on one file, and second processes that use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseloop.adapters.sqlite_log import open_store

PROGRAM = Path(__file__).with_name("store_program.py")


@pytest.fixture
def store_path(tmp_path):
    return str(tmp_path / "store.db")


@pytest.fixture
def open_stores(store_path):
    """Opens stores on `store_path` and closes them all."""
    stores = []

    def open_one(**options):
        stores.append(open_store(store_path, **options))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def second_process():
    """Starts second processes and ends those that are left."""
    running = []

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        running.append(
            subprocess.Popen(
                [sys.executable, str(PROGRAM), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()
