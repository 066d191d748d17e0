import json

import pytest

from phaseloop.adapters.mcp_config import McpServer, load_mcp_config, parse_mcp_config
from phaseloop.core.errors import WrongUse


def parse(entry, environment=None):
    return parse_mcp_config({"mcpServers": {"weather": entry}}, "mcp.json", environment or {})


def test_the_usual_form_is_read():
    assert parse({"command": "npx", "args": ["-y", "@weather/mcp-server"], "env": {"API_KEY": "abcdefgh"}}) == (
        McpServer("weather", command="npx", args=("-y", "@weather/mcp-server"), env={"API_KEY": "abcdefgh"}),
    )
    assert parse({"url": "https://h/mcp", "headers": {"A": "b"}, "timeout": 5, "trusted": True, "type": "http"}) == (
        McpServer("weather", url="https://h/mcp", headers={"A": "b"}, timeout_seconds=5.0, trusted=True),
    )
    assert parse({"command": "x", "disabled": True}) == ()


def test_variables_and_their_defaults_are_filled_in():
    entry = {
        "command": "${BIN}",
        "args": ["--port=${PORT:-80}", "${EMPTY:-x}"],
        "env": {"K": "${KEY}-${KEY}"},
    }
    (server,) = parse(entry, {"BIN": "/bin/w", "KEY": "k", "EMPTY": ""})
    assert (server.command, server.args, server.env) == ("/bin/w", ("--port=80", "x"), {"K": "k-k"})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            {"command": "a", "url": "http://h"},
            "has both command and url; keep command for a local server (stdio)",
        ),
        ({}, "has neither command nor url"),
        ({"comand": "a"}, "unknown key 'comand'; did you mean 'command'"),
        ({"command": "${NOPE}"}, "command needs the environment variable NOPE, which is not set"),
        ({"command": ""}, "command must be text, not ''"),
        ({"command": ["a"]}, "command must be text, not ['a']"),
        ({"command": "a", "args": "-y"}, "args must be a list of texts, not '-y'"),
        ({"command": "a", "env": {"PORT": 80}}, "env.PORT must be text, not 80; write it in quotes"),
        ({"url": "h/mcp"}, "url must start with http:// or https://, not 'h/mcp'"),
        ({"url": "http://h", "type": "sse"}, "type 'sse' does not fit"),
        ({"command": "a", "timeout": 30_000}, "timeout must be seconds above 0 and at most 3600, not 30000"),
        ({"command": "a", "trusted": "yes"}, "trusted must be true or false, not 'yes'"),
        ("npx", "must be an object, not 'npx'"),
    ],
)
def test_an_entry_that_cannot_be_is_refused_with_the_mend(entry, said):
    with pytest.raises(WrongUse) as caught:
        parse(entry)
    assert str(caught.value).startswith("mcp.json: server 'weather'")
    assert said in str(caught.value)


def test_a_disabled_entry_needs_no_variables():
    assert parse({"command": "${NOPE}", "disabled": True}) == ()


def test_files_are_read_and_their_faults_named(tmp_path):
    path = tmp_path / "mcp.json"
    with pytest.raises(WrongUse, match="cannot be read"):
        load_mcp_config(path)
    path.write_text('{"mcpServers": {,}}')
    with pytest.raises(WrongUse, match="is not JSON: .* in line 1, column 17"):
        load_mcp_config(path)
    path.write_text("[]")
    with pytest.raises(WrongUse, match="expected"):
        load_mcp_config(path)
    path.write_text("\ufeff" + json.dumps({"mcpServers": {"a": {"command": "b"}}}), encoding="utf-8")
    assert load_mcp_config(path)[0].name == "a"


def test_what_a_server_is_given_in_secret_is_known_and_not_shown():
    (server,) = parse(
        {
            "command": "a",
            "env": {"API_KEY": "abcdefgh", "REGION": "eu"},
            "headers": {"Authorization": "Bearer tok"},
        }
    )
    assert server.secrets() == {"API_KEY": "abcdefgh", "Authorization": "tok"}
    assert "abcdefgh" not in repr(server)
