"""JSON Schema contracts: every violation with its place, bounded messages, and no fetching."""

import http.server
import threading

import pytest

from phaseloop.adapters.contracts import CACHED, MAX_FINDINGS, JsonSchemaContracts, pointer

INTENT = {
    "type": "object",
    "required": ["title", "confidence"],
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "due": {"type": "string", "format": "date"},
        "a/b": {"items": {"type": "integer"}},
    },
}


def findings(schema, value, where=""):
    return JsonSchemaContracts().check(schema, value, where)


def test_a_value_that_fits_has_no_findings():
    assert findings(INTENT, {"title": "x", "confidence": 1, "due": "2026-11-30"}) == ()
    assert findings({}, None) == ()
    assert findings({"type": "integer"}, 7.0) == ()


def test_every_violation_is_a_finding_with_a_pointer():
    value = {"title": "", "due": "tomorrow", "a/b": [1, "x"]}
    found = findings(INTENT, value, "confirmedIntent")
    assert [(f.code, f.where) for f in found] == [
        ("schema", "confirmedIntent"),
        ("schema", "confirmedIntent/a~1b/1"),
        ("schema", "confirmedIntent/due"),
        ("schema", "confirmedIntent/title"),
    ]
    assert '"confidence" is a required property' in found[0].message
    assert '"x" is not of type "integer"' in found[1].message
    assert "/properties/title/minLength" in found[3].mend


def test_a_long_value_is_cut_in_the_message():
    found = findings({"maxLength": 3}, "v" * 10_000)
    assert len(found[0].message) < 300
    assert "…" in found[0].message
    assert found[0].message.endswith("is longer than 3 characters")


def test_a_flood_of_violations_is_cut():
    assert len(findings({"items": {"type": "string"}}, list(range(1000)))) == MAX_FINDINGS


def test_the_schema_is_read_as_2020_12():
    schema = {"prefixItems": [{"type": "string"}], "items": False}
    assert [f.where for f in findings(schema, ["a", 1])] != []
    assert findings(schema, ["a"]) == ()


def test_references_inside_the_schema_work():
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}
    assert [f.where for f in findings(schema, {"x": "1"})] == ["/x"]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "objekt"}, "objekt"),
        ({"pattern": "("}, "regex"),
        ({"$ref": "#/$defs/none"}, "does not exist"),
        ({"$ref": "file:///etc/passwd"}, "references may only point into it"),
        ({"$ref": "https://example.com/x.json"}, "references may only point into it"),
        (["type"], ""),
    ],
)
def test_an_unusable_schema_is_one_finding(schema, reason):
    contracts = JsonSchemaContracts()
    found = contracts.check(schema, {}, "x")
    assert [(f.code, f.where) for f in found] == [("schema_unusable", "x")]
    assert reason in found[0].message
    assert "\n" not in found[0].message
    assert reason in contracts.schema_error(schema)
    assert contracts.schema_error(schema)


def test_a_value_that_is_no_json_is_a_finding():
    assert [f.code for f in findings({"type": "object"}, object())] == ["schema_unusable"]


def test_a_remote_reference_is_never_fetched():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        found = findings({"$ref": f"http://127.0.0.1:{server.server_port}/schema"}, 1)
        server.shutdown()
        thread.join()
    assert [f.code for f in found] == ["schema_unusable"]
    assert asked == []


def test_a_validator_is_compiled_once_for_equal_schemas():
    contracts = JsonSchemaContracts()
    assert contracts._validator({"a": 1, "type": "object"}) is contracts._validator({"type": "object", "a": 1})


def test_only_so_many_validators_are_kept():
    contracts = JsonSchemaContracts()
    first = contracts._validator({"const": 0})
    for n in range(1, CACHED + 1):
        contracts.check({"const": n}, n)
    assert len(contracts._validators) == CACHED
    assert contracts._validator({"const": 0}) is not first


def test_a_pointer_escapes_what_it_must():
    assert pointer([]) == ""
    assert pointer(["a/b", 0, "~"]) == "/a~1b/0/~0"
