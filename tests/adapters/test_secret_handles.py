import pytest

from phaseloop.adapters.secret_handles import Secret, Secrets
from phaseloop.core.errors import WrongUse


def test_names_that_look_like_secrets_are_masked_from_eight_characters_on():
    environment = {"A_KEY": "12345678", "B_token": "abcdefgh", "C_KEY": "short", "HOME": "/home/ann/x"}
    secrets = Secrets([], environment, {})
    assert secrets.mask("12345678 abcdefgh short /home/ann/x") == (
        "[secret:A_KEY] [secret:B_token] short /home/ann/x",
        True,
    )
    assert secrets.mask(["none", {"n": 1, "t": None}]) == (["none", {"n": 1, "t": None}], False)


def test_a_declared_secret_is_masked_however_short():
    assert Secrets([Secret("PIN", "4711")], {}, {}).mask({"a": ["pin 4711"]}) == ({"a": ["pin [secret:PIN]"]}, True)


def test_a_secret_inside_a_longer_one_leaves_no_rest():
    secrets = Secrets([Secret("INNER", "abcd")], {"OUTER_KEY": "xx-abcd-yy"}, {})
    assert secrets.mask_text("xx-abcd-yy abcd") == "[secret:OUTER_KEY] [secret:INNER]"


def test_handles_are_resolved_by_declared_name_and_tool():
    secrets = Secrets(["A_KEY", Secret("ONLY", "v", tools=("mail",))], {"A_KEY": "12345678", "B_KEY": "abcdefgh"}, {})
    args = {"h": "Bearer ${A_KEY}", "x": ["${B_KEY}", "${ONLY}", "$A_KEY", 1]}
    assert secrets.resolve("web", args) == {"h": "Bearer 12345678", "x": ["${B_KEY}", "${ONLY}", "$A_KEY", 1]}
    assert secrets.resolve("mail", "${ONLY}") == "v"


def test_values_from_elsewhere_are_masked_and_never_resolved():
    secrets = Secrets([], {}, {"FAR": "far-away-secret"})
    assert secrets.resolve("web", "${FAR}") == "${FAR}"
    assert secrets.mask_text("a far-away-secret") == "a [secret:FAR]"


def test_bad_declarations_are_refused():
    with pytest.raises(WrongUse, match="secret A_KEY has no value: set the environment variable A_KEY"):
        Secrets(["A_KEY"], {}, {})
    with pytest.raises(WrongUse, match="secret name 'a-b' must be letters"):
        Secret("a-b", "x")
