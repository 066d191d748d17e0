from phaseloop.core.tools import EffectClass, ToolSpec, conflict_key


def test_a_tool_writes_unless_it_says_otherwise():
    assert ToolSpec("t").writes
    assert not ToolSpec("t").reads
    assert ToolSpec("t", effect=EffectClass.READ).reads
    assert not ToolSpec("t", effect=EffectClass.IDEMPOTENT).writes
    assert not ToolSpec("t", effect=EffectClass.IDEMPOTENT).reads


def test_the_conflict_key_defaults_to_the_tool_for_functions_and_to_the_server_for_mcp():
    assert conflict_key(ToolSpec("send"), {}) == "send"
    assert conflict_key(ToolSpec("mail_send", source="mcp:mail"), {}) == "mcp:mail"


def test_a_conflict_key_template_is_filled_from_the_arguments():
    tool = ToolSpec("book", conflict_key="calendar:{email}")
    assert conflict_key(tool, {"email": "a@x.io"}) == "calendar:a@x.io"
    assert conflict_key(tool, {}) == "calendar:"
    assert conflict_key(tool, None) == "calendar:"
