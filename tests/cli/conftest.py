"""The command line as a fixture."""

import pytest

from tests.cli.command_line import prepared


@pytest.fixture
def phaseloop(monkeypatch, capfd, tmp_path):
    return prepared(monkeypatch, capfd, tmp_path)
