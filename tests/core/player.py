"""Plays a run in memory, without a loop or a clock: `World` answers for roles, tools and people's machines."""

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from phaseloop.core.answers import (
    Begin,
    Checked,
    ChildEnded,
    ConditionKnown,
    Drive,
    ModelReplied,
    PlanJudged,
    Planned,
    PlanningFailed,
    StepJudged,
    StepRaised,
    StepReturned,
    TimerDue,
    ToolReturned,
    ToolUnsure,
    Verdict,
    Verified,
)
from phaseloop.core.asks import ChildWanted, Go, Lock, ModelCallWanted, Rest, Serve, ToolCallWanted, Wait
from phaseloop.core.decide import decide, receive, rule
from phaseloop.core.effects import (
    CallTool,
    EvaluateCondition,
    EvaluateRule,
    JudgePlan,
    JudgeStep,
    MakePlan,
    RunStep,
    SetTimer,
    StartChild,
    VerifyCall,
)
from phaseloop.core.limits import Limits
from phaseloop.core.machine import evolve, evolve_all
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import digest
from phaseloop.core.wanted import desired
from phaseloop.core.words import Answered

ANN = Who("ann", "cli", ("lead",))
READ = ToolSpec("look", effect=EffectClass.READ)
WRITE = ToolSpec("book", conflict_key="room:{room}")
IDEMPOTENT = ToolSpec("put", effect=EffectClass.IDEMPOTENT)
TOOLS = (READ, WRITE, IDEMPOTENT)
ASKS = (ModelCallWanted, ToolCallWanted, ChildWanted)
Messages = Generator[Any, Any, Any]


def read(label, *after, tool="look", **args):
    return Step(label, f"Look {label}", depends_on=after, call=Call(tool, args))


def write(label, *after, tool="book", **args):
    return Step(label, f"Book {label}", depends_on=after, call=Call(tool, args))


def think(label, *after, **more):
    return Step(label, f"Think {label}", depends_on=after, **more)


def plan(*steps, **more):
    return Plan("goal", steps, **more)


@dataclass
class Recorded:
    seq: int
    at: int
    event: Any


@dataclass
class World:
    """Everything outside the core. Each field may be replaced by a test."""

    plan: Callable[[MakePlan], Any] = lambda effect: plan(think("a"))
    step: Callable[[RunStep], Any] = lambda effect: f"done {effect.step.id}"
    judge: Callable[[Any], Any] = lambda effect: Verdict(10.0, by="model")
    tool: Callable[[str, Any, str], Any] = lambda tool, args, key: {"of": tool}
    condition: Callable[[str, Any], Any] = lambda expression, names: True
    rule: Callable[[str, Any], Any] = lambda check, names: ({"passed": True}, ())
    verify: Callable[[str, Any, str], Any] = lambda tool, args, key: (None, None)
    child: Callable[[StartChild], Any] = lambda effect: ChildEnded("", 0, "", "completed", result="child")
    checks: Callable[[Any, Any], Any] = lambda checks, output: ()
    sent: list[tuple[str, str, str]] = field(default_factory=list)
    """`(tool, key, call id)` of everything that left."""


class Failed(Exception):
    """A scripted tool returns one to fail: `Failed(error, transient=True)`; `unsure=True` for no answer."""

    def __init__(self, error="broken", *, outcome="failed", transient=False, unsent=False, unsure=False):
        super().__init__(error)
        self.outcome, self.transient, self.unsent, self.unsure = outcome, transient, unsent, unsure


class Strand:
    """One line of work of a performer; a step that calls several tools at once has several."""

    def __init__(self, work: Messages, effect_id: str, parent: "Strand | None" = None):
        self.work, self.effect_id, self.parent = work, effect_id, parent
        self.message: Any = None
        self.waits_for = 0
        self.results: list[Any] = []
        self.place = 0


class Player:
    def __init__(self, world=None, definition=FLAT, tools=TOOLS, limits=None, **begin):
        self.world = world or World()
        self.state = RunState()
        self.log: list[Recorded] = []
        self.at = 1000
        self.tasks: dict[str, list[Strand]] = {}
        self.waiting: list[Strand] = []
        self.out: dict[str, str] = {}
        self.watch: Callable[[RunState, Any], None] = lambda state, event: None
        self.drives = 0
        self.late: list[Any] = []
        self.hold: set[str] = set()
        self.post(Begin(begin.pop("goal", "Do it"), definition, limits or Limits(), tools, **begin))

    # ---- the log

    def take(self, events):
        for event in events:
            self.watch(self.state, event)
            self.state = evolve(self.state, event, self.at)
            self.log.append(Recorded(len(self.log) + 1, self.at, event))

    def post(self, answer):
        """A report or nothing, decided with its closure; returns the new events."""
        self.at += 1
        events, state = decide(self.state, answer, self.at)
        self.take(events)
        assert self.state == state
        return events

    def word(self, word):
        """A person's word, appended by whoever received it; the driver's closure comes with the next batch."""
        self.at += 1
        events = receive(self.state, word, self.at)
        evolve_all(self.state, events, self.at)  # refuse as a whole before anything is taken
        self.take(events)
        return events

    def of(self, *types):
        return [r.event for r in self.log if isinstance(r.event, types)]

    def names(self):
        return [type(r.event).__name__ for r in self.log]

    # ---- people

    def gate(self, kind=""):
        found = [(g, gate) for g, gate in open_gates(self.state) if not kind or gate.asked.kind == kind]
        assert found, f"no open gate {kind}; the run is {self.state.status} {self.state.failure}"
        return found[0]

    def answer(self, outcome, value=None, comment="", *, by=ANN, key="", kind="", gate=""):
        gate_id = gate or self.gate(kind)[0]
        version = self.state.gates[gate_id].asked.version
        return self.word(Answered(gate_id, version, outcome, by, value, comment, key))

    # ---- the driver

    def drive(self):
        """A new driver takes the run; what the last one had under way is forgotten."""
        self.tasks, self.waiting, self.out = {}, [], {}
        self.drives += 1
        return self.post(Drive(f"w{self.drives}"))

    def run(self, most=400):
        """Drive until the run is over or parked; one message from each strand a turn. Returns the state."""
        self.drive()
        for _ in range(most):
            self.reconcile()
            if self.stopped():
                return self.state
            self.turn(self.ready())
        raise AssertionError(f"no end after {most} turns: {self.names()[-20:]}")

    def stopped(self):
        if self.state.over:
            return True
        ready = self.ready()
        if ready or self.out:
            return False
        tasks = [task for task in self.tasks if not task.startswith("timer/")]
        if self.state.status is RunStatus.PAUSED or open_gates(self.state):
            return True
        if any(isinstance(strand.message, ChildWanted) for strand in self.waiting):
            return True
        raise AssertionError(f"stuck after {self.names()[-12:]}: {tasks}")

    def ready(self):
        return [
            strand
            for effect_id, strands in self.tasks.items()
            for strand in strands
            if strand.message is not None and strand not in self.waiting and effect_id not in self.hold
        ]

    def turn(self, strands):
        """One batch: reports, then all asks, old and new, in plan order; then the rulings."""
        reports = [s for s in strands if not isinstance(s.message, ASKS)]
        asks = [s for s in (*self.waiting, *strands) if isinstance(s.message, ASKS)]
        asks.sort(key=self._place)
        for strand in (*reports, *asks):
            self.post(strand.message)
        if not reports and not asks:
            self.post(None)
        self.waiting = []
        for strand in (*reports, *asks):
            self._release(strand)

    def _place(self, strand):
        ask = strand.message
        order = self.state.phase.plan.order if self.state.phase_index >= 0 else ()
        place = order.index(ask.step_id) if ask.step_id in order else -1
        return (place, getattr(ask, "n", 0), getattr(ask, "i", -1))

    def _release(self, strand):
        message = strand.message
        if isinstance(message, ASKS):
            ruling = rule(self.state, message)
            grant = getattr(ruling, "call_id", "") if isinstance(ruling, Go) else ""
            if isinstance(ruling, Wait) or (grant and grant in self.out):
                self.waiting.append(strand)
                return
            if grant:
                self.out[grant] = strand.effect_id
        else:
            ruling = None
            self.late.append(message)
            if isinstance(message, ToolReturned | ToolUnsure):
                self.out.pop(message.call_id, None)
            if isinstance(message, ModelReplied):
                self.out = {g: e for g, e in self.out.items() if e != message.scope}
        self._advance(strand, ruling)

    def _advance(self, strand, value):
        """Go on to the next message of a strand; a finished one hands its result to its parent."""
        strands = self.tasks.get(strand.effect_id)
        if strands is None or strand not in strands:
            return
        try:
            asked = strand.work.send(value)
        except StopIteration as stop:
            strands.remove(strand)
            parent = strand.parent
            if parent is not None:
                parent.results[strand.place] = stop.value
                parent.waits_for -= 1
                if not parent.waits_for:
                    self._advance(parent, parent.results)
            if not strands:
                self.tasks.pop(strand.effect_id, None)
            return
        if isinstance(asked, list):  # several calls at once
            strand.message, strand.waits_for, strand.results = None, len(asked), [None] * len(asked)
            for place, work in enumerate(asked):
                child = Strand(work, strand.effect_id, strand)
                child.place = place
                strands.append(child)
                self._advance(child, None)
            return
        strand.message = asked

    def reconcile(self):
        wanted = dict(desired(self.state))
        for effect_id in [effect_id for effect_id in self.tasks if effect_id not in wanted]:
            del self.tasks[effect_id]
            self.waiting = [s for s in self.waiting if s.effect_id != effect_id]
            self.out = {g: e for g, e in self.out.items() if e != effect_id}
        if self.state.status is RunStatus.PAUSED:
            return
        for effect_id, build in wanted.items():
            if effect_id not in self.tasks and not effect_id.startswith("timer/"):
                effect = build()
                strand = Strand(perform(self.world, effect), effect_id)
                self.tasks[effect_id] = [strand]
                self._advance(strand, None)

    def fire(self, timer_id):
        return self.post(TimerDue(timer_id))


def perform(world: World, effect: Any) -> Messages:
    """What the edge does for one effect, as messages."""
    match effect:
        case MakePlan():
            made = world.plan(effect)
            place = effect.phase_id, effect.version, effect.attempt
            yield PlanningFailed(*place, str(made)) if isinstance(made, Exception) else Planned(*place, made)
        case RunStep():
            yield from run_step(world, effect)
        case EvaluateRule(step=step, attempt=attempt):
            output, findings = world.rule(effect.check, effect.names)
            yield StepReturned(step.id, attempt, output, findings)
        case CallTool():
            yield from call_tool(world, effect)
        case JudgeStep() | JudgePlan():
            said = world.judge(effect)
            verdict = said if isinstance(said, Verdict) else Verdict(float(said), by="model")
            if isinstance(effect, JudgeStep):
                yield StepJudged(effect.step.id, effect.attempt, effect.scope, verdict)
            else:
                yield PlanJudged(effect.phase_id, effect.version, verdict)
        case EvaluateCondition():
            value = world.condition(effect.expression, effect.names)
            yield ConditionKnown(effect.subject, effect.expression, value, "" if value is not None else "no value")
        case VerifyCall():
            yield Verified(effect.call_id, *world.verify(effect.tool, effect.args, effect.key))
        case StartChild():
            yield from start_child(world, effect)
        case SetTimer():
            raise AssertionError("timers are fired by hand")


def call_tool(world: World, effect: CallTool) -> Messages:
    sid, attempt = effect.step.id, effect.attempt
    asks = [ToolCallWanted(sid, attempt, 0, i, c["tool"], c["args"]) for i, c in enumerate(effect.calls)]
    results = yield [guarded(world, ask) for ask in asks]
    if effect.checks and all(outcome == "ok" for outcome, _ in results):
        values = [value for _, value in results]
        output = values if effect.step.each is not None else values[0]
        yield Checked(sid, attempt, world.checks(effect.checks, output))


def guarded(world: World, ask: ToolCallWanted) -> Messages:
    """The door to a tool; returns `(outcome, value)`."""
    while True:
        ruling = yield ask
        match ruling:
            case Serve(outcome, value):
                return outcome, value
            case Lock(key):
                ask = replace(ask, locked=key)
            case Rest(_, tries):
                ask = replace(ask, rested=tries, locked="")
            case Go(key, call_id, tool, args):
                world.sent.append((tool, key, call_id))
                value = world.tool(tool, args, key)
                if not isinstance(value, Failed):
                    yield ToolReturned(call_id, "ok", value)
                    return "ok", value
                if value.unsure:
                    yield ToolUnsure(call_id, str(value))
                else:
                    yield ToolReturned(
                        call_id, value.outcome, error=str(value), transient=value.transient, unsent=value.unsent
                    )
                ask = replace(ask, locked="", unavailable="")


def run_step(world: World, effect: RunStep) -> Messages:
    """An open step: its script is a value, an exception, or a generator of desk requests.

    `("call", tool, args)` gives `(outcome, value)`; `("model", *calls)` is a request whose reply names those
    calls; a list of `(tool, args)` is several calls at once.
    """
    sid, attempt = effect.step.id, effect.attempt
    script = world.step(effect)
    n = i = 0
    said: Any = script
    if isinstance(script, Generator):
        got: Any = None
        while True:
            try:
                request = script.send(got)
            except StopIteration as stop:
                said = stop.value
                break
            if isinstance(request, list):
                asks = [ToolCallWanted(sid, attempt, n, i + k, *r) for k, r in enumerate(request)]
                i += len(request)
                got = yield [guarded(world, ask) for ask in asks]
            elif request[0] == "call":
                got = yield from guarded(world, ToolCallWanted(sid, attempt, n, i, *request[1:]))
                i += 1
            else:
                n, i = n + 1, 0
                calls = tuple(digest(*c) for c in request[1:])
                yield from model(effect.id, n, calls, sid, attempt)
    if isinstance(said, Exception):
        yield StepRaised(sid, attempt, str(said))
    else:
        yield StepReturned(sid, attempt, said, tuple(world.checks(effect.checks, said)), n)


def model(scope: str, n: int, calls: tuple[str, ...], sid: str, attempt: int) -> Messages:
    ruling = yield ModelCallWanted(scope, n, "executor", "m", f"f{n}", sid, attempt)
    if isinstance(ruling, Go):
        yield ModelReplied(scope, n, {"n": n}, calls)


def start_child(world: World, effect: StartChild) -> Messages:
    sid, attempt = effect.step.id, effect.attempt
    child_id = effect.child_run_id or f"child-{sid}-{attempt}"
    ask = ChildWanted(sid, attempt, child_id, effect.definition_id, effect.inputs)
    ruling = yield ask
    if not isinstance(ruling, Serve) or ruling.outcome != "ok":
        return
    ended = world.child(effect)
    if ended is None:
        yield replace(ask, parked=True)
        return
    yield replace(ended, step_id=sid, attempt=attempt, child_run_id=ruling.value)


def count(player: Player, kind: type, by: str) -> dict[str, int]:
    """How often each value of the attribute `by` occurs among events of `kind`."""
    counts: dict[str, int] = defaultdict(int)
    for event in player.of(kind):
        counts[getattr(event, by)] += 1
    return counts


__all__ = ["ANN", "Failed", "Player", "World", "Who", "count", "plan", "read", "think", "write"]
