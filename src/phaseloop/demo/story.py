"""What the demo's models say: the script of planner, executor and critic, in English and Chinese."""

import json

from phaseloop.adapters.scripted_model import Rule
from phaseloop.core.values import Json

GOALS = {"en": "Create a page with a chart of the Q3 sales", "zh": "帮我创建一个销售数据图表页面"}
CHANGE = {"en": "put the total above the chart", "zh": "请把合计放在图表上方"}

CHART = (
    '<section id="chart"><h2>{title}</h2><svg width="480" height="120" role="img">'
    '<rect x="0" y="35" width="60" height="85"/><rect x="90" y="31" width="60" height="89"/>'
    '<rect x="180" y="20" width="60" height="100"/></svg></section>'
)
FILTER = '<section id="filter"><label>{label} <select>{options}</select></label></section>'


def _w(language: str, en: str, zh: str) -> str:
    return zh if language == "zh" else en


def _totals(step: str, language: str) -> Json:
    """The totals as HTML, filled with what the query really gave."""
    head = _w(language, "Total by region", "各地区合计")
    rows = "".join(f"<tr><td>{name}</td><td>{{{step}:{name}}}</td></tr>" for name in ("North", "South", "West"))
    return {"$tmpl": f'<section id="totals"><h2>{head}</h2><table>{rows}</table></section>'}


def _step(label: str, action: str, after: list[str], **more: Json) -> dict[str, Json]:
    return {"id": label, "action": action, "tool_hint": None, "depends_on": after, **more}


def _call(tool: str, **args: Json) -> dict[str, Json]:
    return {"tool_hint": tool, "call": {"tool": tool, "args": args}}


def _reads(language: str) -> list[dict[str, Json]]:
    return [
        _step("s1", _w(language, "Read the design tokens", "读取设计规范"), [], **_call("read_design_tokens")),
        _step("s2", _w(language, "Describe the sales table", "了解销售数据表"), [], **_call("describe_sales")),
        _step(
            "s3", _w(language, "Sum the sales by region", "按地区汇总销售额"), [], **_call("query_sales", by="region")
        ),
    ]


PIECE = {
    "type": "object",
    "required": ["html"],
    "properties": {"html": {"type": "string", "minLength": 40}},
    "additionalProperties": False,
}
CHOICES = {
    "type": "object",
    "required": ["html", "options"],
    "properties": {"html": {"type": "string"}, "options": {"type": "array", "minItems": 4}},
}


def first_plan(language: str) -> Json:
    """The design plan that a person confirms: three reads at once, then the whole page in one pass."""
    page = _step(
        "s4",
        _w(language, "Write the whole page in one pass", "一次写出整个页面"),
        ["s1", "s2", "s3"],
        output_schema=PIECE,
    )
    render = _step(
        "s5",
        _w(language, "Check the page in the renderer", "用渲染器检查页面"),
        ["s4"],
        **_call("render_page", html={"$ref": "s4", "path": "html"}),
    )
    save = _step(
        "s6",
        _w(language, "Save the component", "保存组件"),
        ["s5", "s3"],
        produces="generatedComponent",
        **_call(
            "save_component", component_id="sales-page", parts=[{"$ref": "s4", "path": "html"}, _totals("s3", language)]
        ),
    )
    return {
        "goal": _w(language, "A page with the Q3 sales", "第三季度销售页面"),
        "steps": [*_reads(language), page, render, save],
        "constraints": [],
    }


def _second_plan(language: str) -> Json:
    """The re-plan after the renderer refused: the page in parts, at the same time; finished reads are kept.

    Step ids count through the run: two phases took s1 to s3, the first design plan s4 to s9.
    """
    chart = _step("n1", _w(language, "Draw the trend chart", "绘制趋势图"), ["s5"], output_schema=PIECE)
    choice = _step("n2", _w(language, "Build the region filter", "制作地区筛选"), ["s5"], output_schema=CHOICES)
    months = _step(
        "n3", _w(language, "Sum the sales by month", "按月汇总销售额"), [], **_call("query_sales", by="month")
    )
    return {
        "goal": _w(language, "The page in parts", "分块制作页面"),
        "steps": [chart, choice, months, _save(["s6", "n1", "n2", "n3"], ["n1", "n3", "n2", "s6"], language)],
        "constraints": [],
    }


def _part(name: str, language: str) -> Json:
    """A part of the page: the totals and the months as queried, the others as written."""
    if name == "s6":
        return _totals(name, language)
    return _months(name, language) if name in ("n3", "s12") else {"$ref": name, "path": "html"}


def _months(step: str, language: str) -> Json:
    """The months in one sentence, filled with what the query really gave."""
    texts = ", ".join(f"{month} {{{step}:{month}}}" for month in ("2026-07", "2026-08", "2026-09"))
    return {"$tmpl": f"<p>{_w(language, 'By month', '每月')}: {texts}</p>"}


def _save(after: list[str], order: list[str], language: str, note: str = "") -> dict[str, Json]:
    parts: list[Json] = [_part(name, language) for name in order]
    args: dict[str, Json] = {"component_id": "sales-page", "parts": parts}
    if note:
        args["note"] = note
    return _step(
        "n9",
        _w(language, "Compose, check and save the page", "合成、检查并保存页面"),
        after,
        produces="generatedComponent",
        tool_hint="save_component",
        call={"tool": "save_component", "args": args},
    ) | {"tool_hint": "save_component"}


def _third_plan(language: str) -> Json:
    """What the person asked for: the same parts in another order, nothing else again."""
    step = _save(["s6", "s10", "s11", "s12"], ["s6", "s10", "s12", "s11"], language, CHANGE[language])
    return {"goal": CHANGE[language], "steps": [step], "constraints": [CHANGE[language]]}


def planner_rules(language: str) -> list[Rule]:
    """Which plan the planner gives to which request."""
    activities = (
        (
            ("ic_consume_agent_route", _w(language, "Take over the request", "接收请求")),
            ("ic_intent_classify", _w(language, "Work out the intent", "识别意图")),
        ),
        (("ic_plan_generate", _w(language, "Write the plan", "生成计划")),),
        (
            ("ic_integrate_component", _w(language, "Put the component into the page", "集成组件")),
            ("ic_integration_check", _w(language, "Check the page's files", "检查页面文件")),
        ),
        (
            ("ic_deploy_publish", _w(language, "Publish the page", "发布页面")),
            ("ic_deploy_verify", _w(language, "Verify what is online", "验证发布")),
        ),
    )
    again = (
        ("Understand|理解", _step("again", activities[0][1][1], [], produces="confirmedIntent")),
        ("Plan|规划", _step("again", activities[1][0][1], [], produces="approvedPlan")),
    )
    rules = [
        Rule(r"\[PHASE\]\n(Design|设计).*\[FEEDBACK\]", (json_text(_third_plan(language)),), (910, 240)),
        Rule(r"\[PHASE\]\n(Design|设计).*\[FAILURE\]", (json_text(_second_plan(language)),), (980, 410)),
    ]
    for phase, step in again:
        plan: Json = {"goal": step["action"], "steps": [step], "constraints": []}
        rules.append(Rule(rf"\[PHASE\]\n({phase}).*\[FEEDBACK\]", (json_text(plan),), (640, 70)))
    for listed in activities:
        steps = [
            _step(f"d{n}", title, [f"d{n - 1}"] if n > 1 else [], activityId=name)
            for n, (name, title) in enumerate(listed, 1)
        ]
        plan = {"goal": listed[-1][1], "steps": steps, "constraints": []}
        rules.append(Rule(listed[0][0], (json_text(plan),), (620, 90)))
    return rules


def executor_rules(language: str) -> list[Rule]:
    """What the executor answers to which step."""
    options = [_w(language, "All regions", "全部地区"), "North", "South", "West"]
    few, all_ = ("".join(f"<option>{o}</option>" for o in part) for part in (options[1:], options))
    label = _w(language, "Region", "地区")
    chart = CHART.format(title=_w(language, "Sales by month", "每月销售额"))
    intent = {
        "intentId": "create_page",
        "title": _w(language, "Sales page", "销售页面"),
        "description": _w(
            language,
            "A page that shows the Q3 sales as a chart, with a region filter and totals.",
            "展示第三季度销售额的页面，含图表、地区筛选和合计。",
        ),
        "slots": {"data": "sales.csv", "period": "2026-Q3"},
        "confidence": 0.94,
        "constraints": [_w(language, "totals match the ledger", "合计与账目一致")],
    }
    return [
        Rule(r"\[STEP\]\n(Work out the intent|识别意图)", (json_text(intent),), (540, 130)),
        Rule(r"\[STEP\]\n(Write the plan|生成计划)", (json_text(first_plan(language)),), (700, 360)),
        Rule(r"\[STEP\]\n(Write the whole page|一次写出)", (json_text({"html": chart}),), (1900, 2600)),
        Rule(r"\[STEP\]\n(Draw the trend|绘制趋势)", (json_text({"html": chart}),), (800, 310)),
        Rule(
            r"\[STEP\]\n(Build the region|制作地区).*\[?.*(4 items|fewer|less than|at least|minItems|has less)",
            (json_text({"html": FILTER.format(label=label, options=all_), "options": options}),),
            (860, 240),
        ),
        Rule(
            r"\[STEP\]\n(Build the region|制作地区)",
            (json_text({"html": FILTER.format(label=label, options=few), "options": options[1:]}),),
            (800, 220),
        ),
    ]


def critic_rules(language: str) -> list[Rule]:
    """What the critic says: the evidence is there, so it passes, with one remark."""
    verdict: Json = {
        "passed": True,
        "score": 9,
        "issues": [],
        "suggestion": _w(language, "name the period in the title", "标题中写明期间"),
    }
    return [Rule(r".", (json_text(verdict),), (410, 60))]


def json_text(value: Json) -> str:
    """A reply as a model writes it."""
    return json.dumps(value, ensure_ascii=False)
