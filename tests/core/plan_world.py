"""A small world of tools, scopes and plans for the tests of the plan rules."""

from dataclasses import replace

from phaseloop.core.lint import PlanScope, errors, lint
from phaseloop.core.plan import ActivityType, Call, Plan, Severity, Step
from phaseloop.core.process import Activity
from phaseloop.core.tools import EffectClass, ToolSpec


def fields(closed=None, **kinds):
    required = [name for name in kinds if not name.endswith("_")]
    schema = {
        "type": "object",
        "properties": {n.rstrip("_"): k if isinstance(k, dict) else {"type": k} for n, k in kinds.items()},
        "required": required,
    }
    return schema if closed is None else {**schema, "additionalProperties": not closed}


ORDER = fields(order_id="string", amount="number", email={"type": ["string", "null"]})
TOOLS = (
    ToolSpec("get_order", effect=EffectClass.READ, input_schema=fields(order_id="string"), output_schema=ORDER),
    ToolSpec(
        "list_orders",
        effect=EffectClass.READ,
        input_schema=fields(customer="string", limit_="integer"),
        output_schema=fields(orders={"type": "array", "items": {"$ref": "#/$defs/row"}}) | {"$defs": {"row": ORDER}},
    ),
    ToolSpec(
        "refund",
        input_schema=fields(order_id="string", amount="number", note_="string", account_={"enum": ["main", "reserve"]}),
        conflict_key="order:{order_id}",
    ),
    ToolSpec(
        "send_email",
        input_schema=fields(to={"anyOf": [{"type": "string"}, {"type": "array"}]}, subject="string", body_="string"),
    ),
    ToolSpec(
        "set_level",
        input_schema=fields(
            level={"type": "integer", "enum": [1, 2]},
            who_={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            tags_={"type": "array", "items": {"type": "string"}},
        ),
        identity=("who",),
        repeatable=True,
    ),
)
SCOPE = PlanScope(
    request="Refund order O-1003 with 249.50 and mail ann@shop.example about it.",
    phase_id="p1",
    tools=TOOLS,
    all_tools=frozenset(tool.name for tool in TOOLS) | {"deploy"},
    activities=(
        Activity("classify", ActivityType.LLM, optional=True),
        Activity("confirm", ActivityType.HUMAN),
        Activity("make", ActivityType.LLM, optional=True, produces="report"),
    ),
    other_activities=frozenset({"publish"}),
    artifacts={"intent": {"title": "Refund", "lines": [{"sku": "A-77"}], "none": []}},
    inputs={"customer": "Northwind"},
    finished={"s1": Step("s1", "Read the order", call=Call("get_order", {"order_id": "O-1003"}))},
    failed={"s2": Step("s2", "Ask the bank")},
)


def ref(source, path=""):
    return {"$ref": source, "path": path}


def call(tool, label="s3", after=("s1",), **args):
    more = {name: args.pop(name) for name in ("each", "only_if", "produces", "output_schema") if name in args}
    return Step(label, f"Call {tool}", depends_on=tuple(after), call=Call(tool, args), **more)


REFUND = call("refund", order_id=ref("s1", "order_id"), amount=ref("s1", "amount"))
LIST = call("list_orders", customer=ref("input.customer"))
MAIL = call("send_email", "s4", ("s3",), to="ann@shop.example", subject="Refund")
OPEN = Step("s5", "Say what was done", depends_on=("s1",))


def plan(*steps, **more):
    return Plan("refund", steps or (REFUND,), **more)


def bad(tool, **args):
    return plan(call(tool, **args))


def asks(request):
    return replace(SCOPE, request=request)


IF = asks("Refund O-1003 if it is late.")
QUOTED = asks("Mail ann@shop.example with subject 'Budget 2027' about O-1003")
OUTPUTS = replace(SCOPE, outputs=("report", "plan"), gate_outputs=("seal",))
MUST = replace(SCOPE, activities=(Activity("check", ActivityType.RULE),))
START = replace(SCOPE, start_activity_id="classify")
TWICE = (replace(OPEN, activity_id="classify"), replace(OPEN, id="s6", activity_id="classify"))
EACH = {"each": ref("s3", "orders"), "after": ("s3",)}

NOTES = {"few-steps", "unknown-hint", "write-already-done", "parallel-writes"}
QUESTIONS = {"unused-read", "unused-literal", "condition-missing"}


def codes(a_plan, scope):
    return {finding.code for finding in lint(a_plan, scope)}


def check_case(code, caught, caught_scope, passing, passing_scope):
    found = [finding for finding in lint(caught, caught_scope) if finding.code == code]
    assert found, codes(caught, caught_scope)
    severity = Severity.NOTE if code in NOTES else Severity.QUESTION if code in QUESTIONS else Severity.ERROR
    assert {finding.severity for finding in found} == {severity}
    assert all(finding.mend for finding in found)
    assert all(not finding.where or repr(finding.where) in finding.message for finding in found)
    assert code not in codes(passing, passing_scope)
    assert not errors(lint(passing, passing_scope))
