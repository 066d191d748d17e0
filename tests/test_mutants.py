"""Every kept mutant of the core and the engine dies."""

import pytest

from tests.mutants import MUTANTS, check


def test_the_list_is_long_enough():
    assert len(MUTANTS) >= 30
    assert len({(m.file, m.old) for m in MUTANTS}) == len(MUTANTS)


@pytest.mark.slow
def test_every_mutant_dies():
    assert check() == []
