"""Lines from a terminal, and telling the reader to stop."""

import os
import threading

from phaseloop.cli.terminal_lines import StoppableLines


def opened():
    reading, writing = os.pipe()
    return os.fdopen(reading, encoding="utf-8"), writing


def test_lines_come_one_by_one_even_when_they_arrive_together_or_in_pieces():
    stream, writing = opened()
    with stream:
        lines = StoppableLines(stream, threading.Event())
        os.write(writing, "一\nb\nc".encode())
        assert [lines.readline(), lines.readline()] == ["一\n", "b\n"]
        os.write(writing, b"d\n")
        assert lines.readline() == "cd\n"
        os.close(writing)
        assert lines.readline() == ""


def test_a_reader_that_is_told_to_stop_stops_without_input():
    stream, writing = opened()
    with stream:
        over = threading.Event()
        got = []
        reader = threading.Thread(target=lambda: got.append(StoppableLines(stream, over).readline()))
        reader.start()
        over.set()
        reader.join(5)
        assert got == [""]
        os.close(writing)
