import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.values import canonical, digest, size

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_the_canonical_text_does_not_depend_on_the_order_of_keys():
    assert canonical({"b": 1, "a": [1, "二"]}) == canonical({"a": [1, "二"], "b": 1}) == '{"a":[1,"二"],"b":1}'


def test_a_digest_tells_values_and_their_places_apart():
    assert digest("mail", {"to": "a"}) == digest("mail", {"to": "a"})
    assert digest("mail", {"to": "a"}) != digest("mail", {"to": "b"})
    assert digest("a", "b") != digest("b", "a")
    assert digest("ab") != digest("a", "b")


@given(JSON)
def test_size_counts_the_bytes_of_the_canonical_text(value):
    assert size(value) == len(canonical(value).encode())


def test_what_is_not_json_is_refused():
    with pytest.raises(TypeError):
        canonical({1, 2})
