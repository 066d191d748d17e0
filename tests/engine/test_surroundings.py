"""What only the machine knows."""

import asyncio
import os
import subprocess
import sys

import pytest

from phaseloop.core.errors import WrongUse
from phaseloop.engine.surroundings import DEFAULT_STORE, is_gone, me, now, run_alone, store_url, worker_name


def test_a_worker_of_this_process_lives_and_one_of_a_process_that_ended_is_gone():
    assert not is_gone(worker_name())
    ended = subprocess.run(
        [sys.executable, "-c", "from phaseloop.engine.surroundings import worker_name; print(worker_name())"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert is_gone(ended.stdout.strip())


@pytest.mark.parametrize("worker", ["", "another-host/1-abc", "1-abc", "w1"])
def test_nothing_is_known_of_workers_of_other_places(worker):
    assert not is_gone(worker)


def test_the_named_user_acts_else_that_of_the_machine(monkeypatch):
    monkeypatch.setenv("PHASELOOP_USER", "kai")
    assert (me().id, me().via, me("cli").via) == ("kai", "library", "cli")
    monkeypatch.setenv("PHASELOOP_USER", "")
    assert me().id


def test_the_store_is_the_given_one_else_the_set_one_else_the_default(monkeypatch):
    monkeypatch.setenv("PHASELOOP_STORE", "set.db")
    assert (store_url("given.db"), store_url(None)) == ("given.db", "set.db")
    monkeypatch.delenv("PHASELOOP_STORE")
    assert store_url(None) == DEFAULT_STORE


def test_time_is_in_milliseconds():
    assert 1_700_000_000_000 < now() < 4_000_000_000_000


def test_a_loop_of_its_own_is_refused_inside_another():
    async def answer():
        return 42

    assert run_alone(answer) == 42

    async def inside():
        return run_alone(answer)

    with pytest.raises(WrongUse, match="where an event loop runs"):
        asyncio.run(inside())
