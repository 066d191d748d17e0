import json

import pytest

from phaseloop.adapters.json_ladder import candidates, find_json, head, read_braces

PLAN = {
    "goal": "g",
    "steps": [{"id": "s1", "action": "a", "tool_hint": None, "depends_on": []}],
    "constraints": [],
}
TEXT = json.dumps(PLAN)


def like_a_plan(value):
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


MALFORMED = {
    "fence": f"```json\n{TEXT}\n```",
    "fence without language": f"```\n{TEXT}\n```",
    "fence never closed": f"```json\n{TEXT}",
    "prose before": f"Here is the plan:\n{TEXT}",
    "prose after": f"{TEXT}\nLet me know if you need more!",
    "prose with a bracket before": f"As said [see above, I plan: {TEXT}",
    "another object first": f'{{"note": "thinking"}}\n{TEXT}',
    "tag": f"<tool_call>{TEXT}</tool_call>",
    "tools tag with copied braces": "<tools>{" + TEXT + "}</tools>",
    "copied braces": "{" + TEXT + "}",
    "trailing comma": TEXT[:-1] + ",}",
    "single quotes": str(PLAN),
    "comment": "{ // my plan\n" + TEXT[1:],
    "missing end brace": TEXT[:-1],
    "unquoted keys": '{goal: "g", steps: [{id: "s1", action: "a", tool_hint: null, depends_on: []}], constraints: []}',
    "call around it": json.dumps({"name": "make_plan", "arguments": PLAN}),
    "call with arguments as text": json.dumps({"name": "make_plan", "arguments": TEXT}),
    "one key around it": json.dumps({"response": PLAN}),
    "two wrappers": json.dumps({"result": {"plan": PLAN}}),
    "list of one": json.dumps([PLAN]),
    "schema echo with values": json.dumps({"type": "object", "properties": PLAN}),
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_reply_is_read_and_the_difference_is_told(text):
    found = find_json(text, like_a_plan)
    assert found is not None
    assert found.value == PLAN
    assert found.drift


def test_exact_json_has_no_drift():
    found = find_json(f"  {TEXT}\n", like_a_plan)
    assert found is not None
    assert (found.value, found.drift) == (PLAN, ())


def test_a_reply_without_json_gives_nothing():
    assert find_json("I am sorry, I cannot do that.", like_a_plan) is None
    assert find_json("", like_a_plan) is None


def test_the_candidate_that_is_accepted_wins_over_an_earlier_one():
    text = f'```json\n{{"steps": "none"}}\n```\nand\n```json\n{TEXT}\n```'
    assert find_json(text, like_a_plan).value == PLAN


def test_a_strict_candidate_wins_over_a_repaired_one():
    text = f'```json\n{{"steps": [],\n```\n{TEXT}'
    assert find_json(text, like_a_plan).value == PLAN


def test_brackets_inside_strings_do_not_end_a_candidate():
    value = {"steps": [], "goal": 'a } and a ] and a \\" quote'}
    assert find_json(f"see: {json.dumps(value)} ok", like_a_plan).value == value


def test_doubled_braces_everywhere_are_read():
    assert read_braces('{{"a": {{"b": 1}}}}') == (True, {"a": {"b": 1}})
    assert read_braces('{"a": 1}') == (False, None)


def test_numbers_that_json_does_not_have_are_refused_or_dropped():
    found = find_json('{"steps": [NaN]}', like_a_plan)
    assert found is None or json.dumps(found.value, allow_nan=False)


def test_a_reply_of_brackets_costs_no_time():
    assert find_json("[" * 5000, like_a_plan) is None


def test_deep_nesting_does_not_raise():
    assert find_json("[" * 3000 + "]" * 3000, like_a_plan) is None


def test_candidates_say_where_they_were():
    assert [where for _, where in candidates('<tool_call>{"a": 1}</tool_call>')] == [
        "inside a tag",
        "among other text",
    ]


def test_a_long_text_is_cut_to_one_line():
    assert head("a\n b" * 100, 10) == "a ba ba ba…"
