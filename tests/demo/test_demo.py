"""The demo does what its README says, offline: and again after it was killed at its worst moments."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.cli.demoing import demo_policy
from phaseloop.compose import StartOptions
from phaseloop.core.call_events import ToolCallFinished, ToolCallStarted
from phaseloop.core.machine import fold
from phaseloop.core.plan_events import ActivityCompleted, ActivityStarted, PlanUpdated, ResultJudged
from phaseloop.core.run_events import ArtifactDrafted, ArtifactFinalized
from phaseloop.demo.roles import demo_app, demo_folder
from phaseloop.demo.story import GOALS
from phaseloop.engine.replay import replay
from tests.cli.command_line import prepared

OUTPUTS = ["approvedPlan", "confirmedIntent", "deploymentResult", "generatedComponent", "integratedPage"]


async def played(store, folder, language, pace=0.0):
    """The whole demo with its own policy at the gates: its result, its history, how it was timed."""
    async with demo_app(str(store), folder, language, pace) as made:
        run = await made.start(GOALS[language], **StartOptions(process="sales-page"))
        answer = demo_policy(language)
        while (result := await made.result(run.id)).status == "waiting":
            outcome, value, comment = answer(result.waiting_for[0])
            await made.answer(run.id, result.waiting_for[0].gate_id, outcome, value=value, comment=comment)
        return result, await made.store.read(run.id)


def of(history, kind):
    return [recorded.event for recorded in history if isinstance(recorded.event, kind)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_whole_story_happens(tmp_path, language):
    began = time.monotonic()
    result, history = asyncio.run(played(tmp_path / "runs.db", tmp_path / "demo", language))
    took = time.monotonic() - began
    assert result.status == "completed"
    assert sorted(result.artifacts) == OUTPUTS
    page = (tmp_path / "demo" / "production" / "q3-sales.html").read_text(encoding="utf-8")
    assert all(f'id="{part}"' in page for part in ("chart", "filter", "totals"))
    assert page.index("totals") < page.index('id="chart"'), "the change that the person asked for is not in the page"
    assert result.value["verified"] is True
    assert (result.usage.replans, result.usage.retries) == (1, 1)
    assert took < 8, f"{took:.1f} s: the demo has to wait for itself only"
    assert replay(history).difference is None
    assert fold(history).status == "completed"


def test_a_new_plan_keeps_what_is_done_and_a_revision_makes_a_new_version(tmp_path):
    _, history = asyncio.run(played(tmp_path / "runs.db", tmp_path / "demo", "en"))
    design = [plan for plan in of(history, PlanUpdated) if plan.phase_id == "phase_design"]
    assert [plan.reason for plan in design] == ["given", "replan", "human"]
    finished = {event.step_id for event in of(history, ActivityCompleted)}
    kept = {step.id for step in design[0].steps} & {step.id for step in design[1].steps}
    assert len(kept) == 4
    assert kept <= finished
    starts = Counter((event.step_id, event.attempt) for event in of(history, ActivityStarted) if event.step_id)
    assert set(starts.values()) == {1}, "a step was carried out twice"
    retried = [event for event in of(history, ResultJudged) if event.action == "retry"]
    assert [event.step_id for event in retried] == ["s11"]
    versions = [event.version for event in of(history, ArtifactDrafted) if event.name == "generatedComponent"]
    assert versions == [1, 2]
    final = {event.name: event for event in of(history, ArtifactFinalized)}
    assert final["generatedComponent"].version == 2
    assert final["generatedComponent"].approved_by


def test_reads_of_one_plan_overlap_in_time(tmp_path):
    """At a pace of 0.1 s the three reads take 0.1, 0.2 and 0.2 s: together 0.2, one by one 0.5."""
    _, history = asyncio.run(played(tmp_path / "runs.db", tmp_path / "demo", "en", pace=0.1))
    reads = ("read_design_tokens", "describe_sales", "query_sales")
    started, ended, names = {}, {}, {}
    for recorded in history:
        event = recorded.event
        if isinstance(event, ToolCallStarted) and event.tool in reads and len(started) < 3:
            started[event.call_id], names[event.call_id] = recorded.at, event.tool
        if isinstance(event, ToolCallFinished) and event.call_id in started:
            ended[event.call_id] = recorded.at
    assert sorted(names.values()) == sorted(reads)
    assert max(started.values()) < min(ended.values()), "they ran one by one"
    assert max(ended.values()) - min(started.values()) < 450


def test_the_folder_of_the_tools_lies_beside_the_store():
    assert demo_folder(".phaseloop/runs.db") == Path(".phaseloop/demo")
    assert demo_folder("sqlite:////data/x.db") == Path("/data/demo")
    assert demo_folder("memory:") == Path(".phaseloop/demo")


# ---- killed


PACED = "import sys; from phaseloop.demo import roles; roles.PACE = 0.1; from phaseloop.cli.main import main; main()"


def demo_process(folder):
    environment = {**os.environ, "PHASELOOP_USER": "kai", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    environment.pop("PHASELOOP_STORE", None)
    return subprocess.Popen(
        [sys.executable, "-c", PACED, "demo"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed_at(folder, word):
    """Run the demo until its output says `word`, then kill it with no chance to say goodbye."""
    process = demo_process(folder)
    said = []
    for line in process.stdout:
        said.append(line)
        if re.search(word, line):
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "".join(said)


def in_store(folder):
    store = open_store(str(folder / ".phaseloop" / "runs.db"))

    async def read():
        rows = await store.runs.list_runs()
        return rows, {row.run_id: await store.read(row.run_id) for row in rows}

    found = asyncio.run(read())
    store.close()
    return found


MOMENTS = [
    pytest.param("replan 1/2", id="after the new plan", marks=pytest.mark.slow),
    pytest.param("phase phase_design", id="in the reads", marks=pytest.mark.slow),
    pytest.param("release", id="at the last gate", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("word", MOMENTS)
def test_a_demo_that_was_killed_goes_on_where_it_was(tmp_path, word):
    killed_at(tmp_path, word)
    rows, before = in_store(tmp_path)
    (run_id,) = before
    assert rows[0].ended_at is None
    again = demo_process(tmp_path)
    out, err = again.communicate(timeout=180)
    assert again.returncode == 0, err
    assert f"Going on with run {run_id}" in out
    _, after = in_store(tmp_path)
    assert list(after) == [run_id], "it began a new run"
    history = after[run_id]
    assert history[: len(before[run_id])] == before[run_id], "what was recorded changed"
    assert fold(history).status == "completed"
    writes = {"save_component", "integrate_component", "publish_page"}
    sent = {(event.tool, event.key) for event in of(history, ToolCallStarted) if event.tool in writes}
    assert Counter(name for name, _ in sent) == {"save_component": 2, "integrate_component": 1, "publish_page": 1}
    ended = Counter(event.call_id for event in of(history, ToolCallFinished) if event.outcome == "ok")
    assert set(ended.values()) == {1}
    completed = Counter(event.step_id for event in of(history, ActivityCompleted) if event.step_id)
    assert set(completed.values()) == {1}
    assert replay(history).difference is None


def test_a_finished_demo_starts_a_new_run_and_new_starts_one_beside_an_open_one(tmp_path, monkeypatch, capfd):
    phaseloop = prepared(monkeypatch, capfd, tmp_path)
    monkeypatch.setattr("phaseloop.demo.roles.PACE", 0.0)
    first = phaseloop("demo", "--yes")
    assert first.code == 0, first
    assert "Going on" not in first.out
    assert "the demo's own policy answers" in first.out
    second = phaseloop("demo", "--yes")
    assert second.code == 0
    ids = [json.loads(line)["run_id"] for line in phaseloop("runs", "--json").out.splitlines()]
    assert len(set(ids)) == 2
    for command in re.findall(r"^  (phaseloop (?:show|replay) \w+)$", second.out, re.MULTILINE):
        assert phaseloop(*command.split()[1:]).code == 0


def test_a_run_of_the_demo_goes_on_with_the_demos_models_by_resume_and_answer(tmp_path, monkeypatch, capfd):
    """The offline roles would plan and write something else under the same run."""
    phaseloop = prepared(monkeypatch, capfd, tmp_path)
    monkeypatch.setattr("phaseloop.demo.roles.PACE", 0.0)
    folder = demo_folder(str(tmp_path / ".phaseloop" / "runs.db"))

    async def begun():
        async with demo_app(str(tmp_path / ".phaseloop" / "runs.db"), folder, "en", 0.0) as made:
            run = await made.start(GOALS["en"], **StartOptions(process="sales-page"))
            await made.result(run.id)
            return run.id

    run_id = asyncio.run(begun())
    assert phaseloop("answer", run_id, "ic_user_confirm", "confirm").code == 10
    done = phaseloop("resume", run_id, "--yes", "--json")
    assert done.code == 0, done
    assert done.result["value"]["verified"] is True
