"""Single keys from a terminal."""

import os
import termios

import pytest

from phaseloop.cli.keys import raw_keys


@pytest.fixture
def terminal():
    near, far = os.openpty()
    with os.fdopen(far, "r") as stream:
        yield near, stream
    os.close(near)


def test_keys_come_without_enter_and_other_letters_are_dropped(terminal):
    near, stream = terminal
    with raw_keys(stream) as keys:
        assert keys.pressed() == ""
        os.write(near, b"xyP")
        assert keys.pressed() == "p"
        assert keys.pressed() == ""


def test_the_terminal_is_as_it_was_afterwards_even_after_an_error(terminal):
    _, stream = terminal
    before = termios.tcgetattr(stream.fileno())
    with pytest.raises(RuntimeError), raw_keys(stream):
        raise RuntimeError
    assert termios.tcgetattr(stream.fileno()) == before
