"""Labels of a planner's steps and what else may name them."""

import pytest

from phaseloop.core.plan_labels import aliases_of, label_of


@pytest.mark.parametrize(
    ("raw", "label"),
    [(1, "step1"), ("02", "step2"), (3.0, "step3"), ("S1", "S1"), (" a b ", "a b"), (None, ""), (True, ""),
     ([1], ""), (1.5, "")],
)  # fmt: skip
def test_a_number_becomes_a_label_that_a_condition_can_name(raw, label):
    assert label_of(raw) == label


def names(labels, texts=None, known=()):
    return aliases_of(labels, texts or [[] for _ in labels], known)


def test_a_label_of_the_draft_goes_before_an_earlier_step():
    found = names(["step1", "S2"], known=("s1", "s2", "s7"))
    assert [found.step(name) for name in ("s1", "S1", 1, "S2", "s2", 2, 7, "step 7", "s9")] == [
        "s1", "s1", "step1", "S2", "s2", "S2", "s7", "s7", None,
    ]  # fmt: skip


def test_what_may_mean_two_steps_means_none():
    found = names(["a1", "b", "c"], [["Look", "get"], ["look", "put"], ["put"]])
    assert found.step("LOOK") is None
    assert found.step("put") is None
    assert found.step("Get") == "a1"
    assert found.step("get", by_text=False) is None


def test_steps_without_labels_get_free_ones():
    assert names(["", "step1", ""]).labels == ("new_step1", "step1", "step3")
    assert names(["", ""]).step(2) == "step2"


def test_steps_without_numbers_may_be_named_by_their_place():
    assert names(["find", "pay"]).step("step 2") == "pay"
    assert names(["find", "s7"]).step(2) is None
