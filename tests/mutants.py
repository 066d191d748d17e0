"""Mutants of core and engine that the tests must kill: `python -m tests.mutants` (contract section 11)."""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 120  # a mutant that hangs the tests is found out too


@dataclass(frozen=True, slots=True)
class Mutant:
    """One text of a source file replaced by another, and the test files that must notice."""

    file: str
    old: str
    new: str
    tests: str


def core(file: str, old: str, new: str, *tests: str) -> Mutant:
    """A mutant of the core; `tests` are names under `tests/core`, the file's own test by default."""
    names = tests or (file,)
    return Mutant(f"core/{file}.py", old, new, " ".join(f"tests/core/test_{name}.py" for name in names))


def engine(file: str, old: str, new: str, *tests: str) -> Mutant:
    """A mutant of the engine."""
    names = tests or (file,)
    return Mutant(f"engine/{file}.py", old, new, " ".join(f"tests/engine/test_{name}.py" for name in names))


_APPEND = """        while not await self._append(messages):
            await self._catch_up()
"""
_RELEASE = """        self._waiting = []
        for message, future in messages:
            self._release(message, future)
"""
RELEASED, RELEASED_EARLY = _APPEND + _RELEASE, _RELEASE + _APPEND

MUTANTS = (
    # bands and caps
    core("verdicts", "if score >= band.accept:", "if score > band.accept:"),
    core("verdicts", "if score >= band.retry:", "if score > band.retry:"),
    core("verdicts", "step.attempt - 1 < state.limits.step_retries", "step.attempt - 1 <= state.limits.step_retries"),
    core("verdicts", "state.replans < state.limits.replans or", "state.replans <= state.limits.replans or"),
    core("verdicts", "step.best_score) >= state.limits.done_at_cap", "step.best_score) > state.limits.done_at_cap"),
    core("verdicts", "step.attempt > 1 and score <= step.score", "step.attempt > 1 and score < step.score"),
    core("verdicts", 'if scope == "deep" and action == "note" and not _has_best', "if False and not _has_best"),
    core("step_results", "verdict.score >= limits.plan_accept", "verdict.score > limits.plan_accept"),
    core("step_results", "if can_replan(state) and not came_back:", "if can_replan(state):"),
    core("step_results", 'if answer.outcome != "failed" or call', "if call", "ledger", "properties"),
    core("step_results", "safe = answer.unsent or not tool.writes", "safe = True", "ledger"),
    core(
        "step_results",
        "call.tries < state.limits.transport_attempts:",
        "call.tries <= state.limits.transport_attempts:",
        "ledger",
    ),
    core("gates", "gate.revisions + 1 > cap", "gate.revisions + 1 >= cap"),
    core("planning", "if attempt > 1 or count <= scope.max_steps:", "if count <= scope.max_steps:"),
    core(
        "planning",
        "state.phase.refusals > state.limits.lint_reasks",
        "state.phase.refusals >= state.limits.lint_reasks",
    ),
    # the verdict of a critic that is still to come
    core("machine_plans", 'event.scope == "step" and not asks', 'event.scope == "step"', "verdicts"),
    # doubt, ledger, locks
    core("machine_runs", 'kind = "Write" if', 'kind = "Read" if', "ledger"),
    core("machine_runs", "if isinstance(event, RunFailed) and call.status", "if False and call.status", "machine_runs"),
    core(
        "ledger",
        "if not tool.reads and _same_under_way(state, key):\n        return ()\n    if (why",
        "if False:\n        return ()\n    if (why",
    ),
    core("ledger", "entry = state.ledger.get(key)\n        return entry.call_id if entry else None", "return None"),
    core("contention", "and needs_lock(tools[call.tool])", "and False", "ledger"),
    core("ledger", "(ask.locked != held or", "(False or"),
    core("ledger", 'if call.next == "again" and ask.rested < call.tries:', "if False:"),
    core("ledger", "call.n == len(record.replies)", "True"),
    core(
        "ledger",
        "if ask.n < len(record_of(state, ask).replies):\n        return Serve",
        "if False:\n        return Serve",
    ),
    core("machine_calls", 'call.outcome == "ok" or call.refused', 'call.outcome == "ok"', "ledger"),
    core("machine_calls", "calls=(*record.calls, event.calls)", "calls=record.calls", "ledger"),
    # gates and permissions
    core("permissions", "if tool.risk is Risk.HIGH:", "if False:"),
    core("permissions", "if not in_plan:", "if False:"),
    core("permissions", "and not other.tainted:", ":"),
    core("machine_plans", "state.steps[dep].tainted for dep", "False for dep", "permissions"),
    core("gates", "if answer.version != asked.version:", "if False:"),
    core("gates", "< gate.asked.required:", "<= gate.asked.required:"),
    core("gate_policies", "if gate.asked.human_mode is GateMode.APPROVE:", "if False:"),
    core("gates", "if asked.separation_of_duties and", "if False and"),
    core("exit_gates", "config.human_mode is GateMode.APPROVE or", "False or"),
    core("exit_gates", "not state.phase.phase.auto_advance or", "False or"),
    core("exit_gates", 'or state.phase.judged == "veto"', ""),
    core(
        "phases",
        "return (*reached, *(human_gate(state, gate, at) if gate else ()))",
        "return (*reached, *_complete(state, (), at))",
    ),
    core("phases", "if known is not True:", "if known is False:"),
    core("phases", "not state.phase.contract_replanned", "True"),
    core(
        "machine_runs",
        'trigger = "given" if phase.phase.plan_from else',
        'trigger = "initial" if phase.phase.plan_from else',
        "phases",
    ),
    # scheduling
    core("scheduling", "and all(steps[d].ended for d in steps[sid].spec.depends_on)", ""),
    core("scheduling", "return running < state.limits.max_parallel", "return running <= state.limits.max_parallel"),
    core("scheduling", 'state.phase.trigger == "replan" and effect_of', "False and effect_of"),
    core("scheduling", "-plan.tails[sid]", "plan.tails[sid]"),
    core(
        "state",
        "return self.status in (ActivityStatus.COMPLETED, ActivityStatus.SKIPPED)",
        "return self.status not in (ActivityStatus.PENDING, ActivityStatus.RUNNING)",
        "scheduling",
        "properties",
    ),
    core("automatic", "_doubts, _orphans, _entry", "_doubts, _entry"),
    core(
        "automatic",
        "if state.idle_drives <= cap or is_waiting(state):",
        "if state.idle_drives < cap or is_waiting(state):",
    ),
    core("moves", "if n not in _BEGINS}", "}"),
    # the engine
    engine("driver", "messages = [*reports, *asks]", "messages = [*asks, *reports]"),
    engine("driver", "asks.sort(key=self._place)", "pass"),
    engine("driver", "event.drive > self._drive:", "False:"),
    engine(
        "driver",
        "except LogConflict:\n                return False",
        "except LogConflict:\n                return True",
    ),
    engine("driver", RELEASED, RELEASED_EARLY),
    engine("driver", "self._error = error\n", "pass\n"),
    engine("driver", "if self._out or self._mail", "if self._mail"),
    engine("driver", "ruling.call_id in self._out:", "False:"),
    engine("driver", "if self.state.status is RunStatus.PAUSED:", "if False:"),
    engine("desk", "self._record.note(ToolUnsure", "(ToolUnsure"),
    engine("desk", "await held.aclose()  # the lock", "pass  # the lock"),
    engine("desk", "clock.reschedule(None)", "pass"),
    engine(
        "perform",
        "        await record.tell(StepRaised(sid, attempt, str(failed.value)))\n        return",
        "        return",
    ),
    engine("host", "if driver.state.over or not (", "if True or not ("),
    engine("host", "if run_id in self._driving:", "if False:"),
)


def survives(mutant: Mutant) -> str:
    """Empty when the tests notice the mutant, else why it lives."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as place:
        home = Path(place)
        shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", home)
        (home / "tests").symlink_to(ROOT / "tests")
        source = home / "src" / "phaseloop" / mutant.file
        text = source.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            return f"its text occurs {text.count(mutant.old)} times, not once: mend the list"
        source.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests.split()]
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ended = subprocess.run(command, cwd=home, env=env, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return ""
        if ended.returncode == 1:
            return ""
        return "no test failed" if ended.returncode == 0 else ended.stdout.decode()[-600:]


def check(mutants: tuple[Mutant, ...] = MUTANTS, workers: int = 2) -> list[str]:
    """The mutants that live, each with why."""
    with ThreadPoolExecutor(workers) as pool:
        fates = list(pool.map(survives, mutants))
    return [f"{m.file}: {m.old!r} -> {m.new!r}: {fate}" for m, fate in zip(mutants, fates, strict=True) if fate]


if __name__ == "__main__":
    alive = check()
    print("\n".join(alive))
    print(f"{len(MUTANTS)} mutants, {len(MUTANTS) - len(alive)} killed")
    sys.exit(bool(alive))
