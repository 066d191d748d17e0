"""The story of the pictures: five phases, one retry, one re-plan, parallel steps, a gate that waits."""

from datetime import UTC, datetime

from phaseloop.core.call_events import ModelCallFinished, ModelCallStarted, Usage
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateOpened, GateResolved
from phaseloop.core.plan import ActivityType, Step
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityStarted,
    PlanUpdated,
    ResultJudged,
)
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.run_events import (
    ArtifactFinalized,
    DriveStarted,
    PhaseAdvanced,
    PhaseCompleted,
    PhaseExitReached,
    PhaseRow,
    PhaseStarted,
    RunStarted,
    Who,
)
from phaseloop.engine.ports import Recorded

RUN = "r_8f3c21"
START = int(datetime(2026, 11, 30, 14, 2, 11, tzinfo=UTC).timestamp() * 1000)


def phase(order: int, name: str, chinese: str, output: str, gate: str, *, auto: bool = False) -> PhaseRow:
    return PhaseRow(
        name.lower(),
        {"en": name, "zh": chinese},
        order,
        produced_outputs=(output,),
        exit_human_activity_id=gate,
        auto_advance=auto,
    )


PHASES = (
    phase(1, "Understand", "理解", "confirmedIntent", "human_intent_confirm", auto=True),
    phase(2, "Plan", "规划", "approvedPlan", "ic_user_confirm", auto=True),
    phase(3, "Design", "设计", "generatedComponent", "human_design_approval"),
    phase(4, "Integrate", "集成", "integratedPage", "human_integrate"),
    phase(5, "Deploy", "部署", "deploymentResult", "human_deploy"),
)
SCHEMA = {
    "type": "object",
    "properties": {
        "audience": {
            "type": "string",
            "title": "Who may open it",
            "description": "Decides which group the route is bound to.",
            "enum": ["team", "company", "link"],
            "x-labels": ["My team", "Whole company", "Anyone with the link"],
            "default": "team",
        },
    },
    "required": ["audience"],
}


class Story:
    """A history under construction: `at` counts seconds from the first event."""

    def __init__(self) -> None:
        self.history: list[Recorded] = []

    def tell(self, at: float, *events: Event) -> "Story":
        for event in events:
            seq = len(self.history) + 1
            self.history.append(Recorded(RUN, seq, START + int(at * 1000), event))
        return self


def model_call(call: str, step: str, tokens: int, cost: float, role: str = "executor") -> tuple[Event, Event]:
    """A whole model call charged to `step`."""
    scope = f"step/{step}/1"
    return (
        ModelCallStarted(call, role, "m", scope, 1, f"{scope}/m1", step_id=step),
        ModelCallFinished(call, scope, 1, usage=Usage(tokens, 0), cost_usd=cost),
    )


def done(step: str, score: float = 10, **more: object) -> ActivityCompleted:
    return ActivityCompleted(step, step, score=score, **more)


def begun(step: str, attempt: int = 1, title: str = "") -> ActivityStarted:
    return ActivityStarted(step, ActivityType.LLM, step, title, attempt)


def exit_gate(gate: str, phase_id: str, activity: str, title: str, mode: GateMode, **more: object) -> GateOpened:
    words = {GateMode.CONFIRM: ("confirm", "revise", "cancel")}.get(mode, ("approve", "reject", "cancel"))
    kind = GateKind.EXIT
    return GateOpened(
        gate, 1, kind, activity, mode, title, outcomes=words, is_exit_gate=True, phase_id=phase_id, **more
    )


def opening() -> Story:
    """Run start to the end of the second phase."""
    story = Story()
    budget = {"tokens": 120_000, "cost_usd": 1.5, "seconds": 1200, "replans": 2}
    story.tell(
        0,
        RunStarted(
            "Build the sales dashboard page for the Q3 review",
            "Sales dashboard page for the Q3 review",
            "five-phase",
            by=Who("kai", "cli"),
            phases=PHASES,
            budget=budget,
            thresholds={"pass": 7, "retry": 4},
        ),
        DriveStarted(1, "w1"),
    )
    story.tell(1, PhaseStarted("understand", 1))
    story.tell(1, ModelCallStarted("c1", "planner", "m", "plan/understand/1/1", 1, "k"))
    story.tell(3, ModelCallFinished("c1", "plan/understand/1/1", 1, usage=Usage(400, 0), cost_usd=0.001))
    plan = (Step("u1", "Read the goal"), Step("u2", "Name the audience", depends_on=("u1",)))
    story.tell(3, PlanUpdated("understand", 1, "intent", plan), begun("u1"))
    story.tell(9, done("u1"), begun("u2"))
    gate = exit_gate("g1", "understand", "human_intent_confirm", "Confirm the intent", GateMode.CONFIRM, auto_pass=True)
    passed = GateResolved("g1", "human_intent_confirm", "confirm", "auto_pass", rule="confidence >= 0.9")
    intent = ArtifactFinalized("confirmedIntent", 1, "u2", "understand")
    story.tell(15, done("u2"), PhaseExitReached("understand"), gate, passed, intent)
    story.tell(15, PhaseCompleted("understand", ("confirmedIntent",)), PhaseAdvanced("understand", "plan", "p1"))
    story.tell(15, PhaseStarted("plan", 2))
    story.tell(15, ModelCallStarted("c2", "planner", "m", "plan/plan/1/1", 1, "k2"))
    story.tell(16, ModelCallFinished("c2", "plan/plan/1/1", 1, usage=Usage(400, 0), cost_usd=0.001))
    plan = (Step("p1", "List the parts"), Step("p2", "Order them", depends_on=("p1",)))
    story.tell(16, PlanUpdated("plan", 1, "plan", plan), begun("p1"))
    story.tell(30, done("p1"), begun("p2"))
    until = START + 30 * 60 * 1000
    asked = exit_gate("g2", "plan", "ic_user_confirm", "Approve the plan", GateMode.APPROVE, timeout_at=until)
    story.tell(39, done("p2"), PhaseExitReached("plan"), asked)
    answered = GateResolved("g2", "ic_user_confirm", "approve", user="Kai", edits=1)
    plan_made = ArtifactFinalized("approvedPlan", 1, "p2", "plan", approved_by="Kai")
    story.tell(113, answered, plan_made, PhaseCompleted("plan", ("approvedPlan",)))
    return story.tell(114, PhaseAdvanced("plan", "design", "s1"), PhaseStarted("design", 3))


FIRST = (
    Step("s1", "Read the design tokens", "files.read"),
    Step("s2", "Describe the sales tables", "warehouse.describe"),
    Step("s3", "Generate the whole page in one pass", None, ("s2",)),
    Step("s4", "Compose the page", "compose-page", ("s3",)),
)
SECOND = (
    *FIRST[:2],
    Step("s5", "Trend chart", None, ("s2",)),
    Step("s6", "Region filter", None, ("s2",)),
    Step("s7", "Totals that match the ledger", "warehouse.query", ("s2",)),
    Step("s8", "Compose and check the page", "compose-page", ("s1", "s5", "s6", "s7")),
)


def live() -> Story:
    """Up to the moment of `cli-live`."""
    story = opening()
    story.tell(114, PlanUpdated("design", 1, "page", FIRST, reason="given"), begun("s1"), begun("s2"))
    story.tell(116, *model_call("c3", "s1", 300, 0.001), done("s1"))
    story.tell(120, *model_call("c4", "s2", 640, 0.002), done("s2"))
    story.tell(123, begun("s3"), *model_call("c5", "s3", 9800, 0.091))
    issues = ("No region filter, though the goal names one", "No totals")
    story.tell(147, ResultJudged("step", False, 3, "replan", "model", "s3", "s3", issues=issues))
    story.tell(147, ActivityFailed("s3", "quality", "score 3", "s3", next="replan"))
    diff = {"kept": ("s1", "s2"), "dropped": ("s3", "s4"), "added": ("s5", "s6", "s7", "s8")}
    story.tell(148, PlanUpdated("design", 2, "page", SECOND, reason="replan", **diff))
    story.tell(148, begun("s6"), *model_call("c6", "s6", 4300, 0.038))
    story.tell(152, begun("s7"))
    story.tell(155, begun("s5"))
    story.tell(158, *model_call("c7", "s7", 1900, 0.012), done("s7", 9))
    lost = ("Filter does not keep its choice after reload",)
    story.tell(165, ResultJudged("step", False, 5, "retry", "model", "s6", "s6", issues=lost))
    return story.tell(165, begun("s6", 2))


def waiting() -> Story:
    """Up to the moment of `cli-gate`: the design waits for a person."""
    story = live()
    story.tell(175, done("s5", 8), done("s6", 8), begun("s8"))
    story.tell(200, *model_call("c8", "s8", 20_000, 0.17), done("s8", 9))
    payload = {
        "artefact": {"name": "generatedComponent", "value": "<html>" + "x" * 18_000 + "</html>"},
        "schema": SCHEMA,
        "values": {"audience": "team"},
    }
    gate = GateOpened(
        "g3",
        1,
        GateKind.EXIT,
        "human_design_approval",
        GateMode.APPROVE,
        "Approve the page design",
        payload=payload,
        outcomes=("approve", "reject", "cancel"),
        is_exit_gate=True,
        phase_id="design",
        timeout_at=START + (33 * 60 - 11) * 1000,
        no_match_policy="cancel",
        consequence="Integrate will add a route and write 3 files to the shop repository.",
    )
    return story.tell(211, PhaseExitReached("design"), gate)
