"""Every command from outside: what it prints, where, and with which exit code."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.app_world import gate_process
from tests.cli.command_line import BIN
from tests.test_compose import ELEVEN, GOLDEN, TEMPLATED

GOAL = "调研竞品，输出对比报告，给出落地建议"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
TOOLS = '''
from phaseloop import tool

@tool(effect="write")
def pay(to: str) -> str:
    """Pay somebody."""
    with open("paid.txt", "a") as file:
        file.write(to + "\\n")
    return "paid " + to
'''
PAYING = {
    "definitionId": "paying",
    "phases": [{"phaseId": "p", "order": 1, "startActivityId": "go", "autoAdvance": True, "producedOutputs": []}],
    "activities": [
        {
            "activityId": "go",
            "type": "TOOL",
            "phaseRef": "p",
            "config": {"tool": "pay", "args": {"to": {"$ref": "input.who"}}},
        }
    ],
    "inputs": {"who": {"type": "string"}},
}
FAILING = {
    "definitionId": "failing",
    "phases": [{"phaseId": "p", "order": 1, "startActivityId": "go", "autoAdvance": True, "producedOutputs": []}],
    "activities": [{"activityId": "go", "type": "RULE", "phaseRef": "p", "config": {"check": "1 > 2"}}],
}


# ---- run


def test_a_run_without_a_model_plans_three_steps_and_ends_with_the_result(phaseloop):
    ended = phaseloop("run", GOAL, "--yes", "--json")
    assert ended.code == 0
    assert (ended.result["status"], ended.result["score"], ended.result["usage"]["replans"]) == ("completed", 10, 0)
    assert ended.result["results"] == [
        "完成[1]: 调研竞品 -> 产出1",
        "完成[2]: 输出对比报告 -> 产出2",
        "完成[3]: 给出落地建议 -> 产出3",
    ]
    assert [line["seq"] for line in ended.lines] == list(range(1, len(ended.lines) + 1))
    assert all("result" not in line for line in ended.lines[:-1])
    assert ended.err.count("\n") == 1
    assert "no model is configured" in ended.err


@pytest.mark.parametrize(
    ("goal", "count"),
    [*((goal, len(wanted)) for goal, wanted in GOLDEN), *((goal, 3) for goal in TEMPLATED), (ELEVEN, 8)],
    ids=repr,
)
def test_every_golden_value_holds_through_run(phaseloop, goal, count):
    ended = phaseloop("run", goal, "--yes", "--json")
    plans = [line["steps"] for line in ended.lines if line["event"] == "plan_updated"]
    assert [len(plan) for plan in plans] == [count]
    assert (ended.code, ended.result["score"], len(ended.result["results"])) == (0, 10, count)
    for action, wanted in zip(plans[0], dict(GOLDEN).get(goal, []), strict=False):
        assert action["action"] == wanted


def test_lines_for_a_pipe_say_each_turning_point_and_the_end(phaseloop):
    ended = phaseloop("run", GOAL)
    assert ended.code == 0
    assert re.search(r"plan 1,?  ?3 steps", ended.out)
    assert "run completed" in ended.out
    assert "完成[3]: 给出落地建议 -> 产出3" in ended.out
    assert not CONTROL.search(ended.out + ended.err)


def test_ascii_and_chinese_change_the_signs_and_the_words_only(phaseloop, monkeypatch):
    plain = phaseloop("run", "a, b", "--ascii")
    assert plain.out.isascii()
    monkeypatch.setenv("PHASELOOP_LANG", "zh")
    chinese = phaseloop("run", "a, b")
    assert "运行完成" in chinese.out
    assert "接下来" in chinese.out


def test_a_process_tools_and_inputs_are_taken(phaseloop):
    process, tools = phaseloop.file("p.json", PAYING), phaseloop.file("t.py", TOOLS)
    ended = phaseloop("run", "pay ann", "--process", process, "--tools", tools, "--input", "who=ann", "--json")
    assert (ended.code, ended.result["value"]) == (0, "paid ann")
    assert (phaseloop.folder / "paid.txt").read_text() == "ann\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mode", "fast"], "--mode is normal or design, not 'fast'"),
        (["--input", "who"], "'who' is not of the form NAME=VALUE"),
        (["--process", "nowhere.json"], "nowhere.json cannot be read"),
        (["--tools", "nowhere.py"], "there is no file nowhere.py"),
        (["--mcp", "nowhere.json"], "nowhere.json cannot be read"),
        (["--model", "gpt-5"], "gpt-5"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(phaseloop, arguments, words):
    ended = phaseloop("run", "a, b", *arguments)
    assert ended.code == 2, ended
    sentences = [line for line in ended.err.splitlines() if line.startswith("phaseloop: ")]
    assert len(sentences) == 1
    assert words in sentences[0]
    assert "Traceback" not in ended.err
    assert phaseloop("runs", "--json").out == ""


def test_a_flag_that_does_not_exist_is_wrong_use(phaseloop):
    assert phaseloop("run", "a", "--nonsense").code == 2
    assert phaseloop("nonsense").code == 2


# ---- gates


def waiting(phaseloop, mode="approve", **config):
    process = phaseloop.file("gated.json", gate_process(mode, **config))
    ended = phaseloop("run", "a, b", "--process", process)
    assert ended.code == 10
    (run_id,) = re.findall(r"phaseloop answer (\w{26}) ", ended.out.split("answer:")[1])[:1]
    return run_id, ended


def test_a_run_that_waits_exits_10_with_the_exact_command(phaseloop):
    run_id, ended = waiting(phaseloop)
    command = f"phaseloop answer {run_id} sign_off approve"
    assert command in ended.out
    assert ended.out.rstrip().endswith("exit 10 (waiting for a person)")
    answered = phaseloop(*command.split()[1:])
    assert answered.code == 0
    assert "run completed" in answered.out


def test_the_json_of_a_run_that_waits_ends_with_what_it_waits_for(phaseloop):
    process = phaseloop.file("gated.json", gate_process())
    ended = phaseloop("run", "a, b", "--process", process, "--json")
    assert (ended.code, ended.result["status"]) == (10, "waiting")
    (gate,) = ended.result["waiting_for"]
    assert (gate["gate_id"], gate["activity_id"], gate["mode"]) == ("g1", "sign_off", "approve")
    assert "approve" in gate["outcomes"]


def test_yes_answers_and_yes_safe_leaves_approvals_open(phaseloop):
    process = phaseloop.file("gated.json", gate_process())
    assert phaseloop("run", "a, b", "--process", process, "--yes-safe").code == 10
    done = phaseloop("run", "a, b", "--process", process, "--yes", "--json")
    assert done.code == 0
    (resolved,) = [line for line in done.lines if line["event"] == "gate_resolved"]
    assert resolved["user"] == "kai"
    confirm = phaseloop.file("gated.json", gate_process("confirm"))
    assert phaseloop("run", "a, b", "--process", confirm, "--yes-safe").code == 0


def test_yes_leaves_open_what_it_may_not_answer_and_says_why(phaseloop):
    process = phaseloop.file("gated.json", gate_process(separationOfDuties=True))
    ended = phaseloop("run", "a, b", "--process", process, "--yes")
    assert ended.code == 10
    assert "kai started the run and may not approve it" in ended.err


def test_gates_lists_open_questions_with_their_commands(phaseloop):
    assert phaseloop("gates").out == "Nothing needs you.\n"
    run_id, _ = waiting(phaseloop)
    listed = phaseloop("gates")
    assert f"{run_id}  g1  sign_off" in listed.out
    assert f"phaseloop answer {run_id} sign_off approve" in listed.out
    (as_json,) = phaseloop("gates", "--json").lines
    assert (as_json["run_id"], as_json["gate_id"], as_json["mode"]) == (run_id, "g1", "approve")
    assert "[sign_off]" in phaseloop("runs", "--needs-me").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["g1", "confirm"], "'confirm' is no outcome here; it takes approve, reject"),
        (["g1", "reject"], "needs a comment"),
        (["g7", "approve"], "no open gate of this name; open: g1 (sign_off)"),
        (["g1", "approve", "--value", "1", "--set", "a=1"], "give the answer's value once"),
        (["g1", "approve", "--plan", "nowhere.yaml"], "nowhere.yaml cannot be read"),
    ],
)
def test_an_answer_that_cannot_be_taken_is_one_sentence_and_the_gate_stays_open(phaseloop, arguments, words):
    run_id, _ = waiting(phaseloop)
    ended = phaseloop("answer", run_id, *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert phaseloop("answer", run_id, "g1", "approve").code == 0
    closed = phaseloop("answer", run_id, "g1", "approve")
    assert (closed.code, "over" in closed.err or "already answered" in closed.err) == (2, True)


def test_a_form_is_answered_field_by_field(phaseloop):
    schema = {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    }
    run_id, ended = waiting(phaseloop, "form", schema=schema)
    assert "submit --set city=..." in ended.out
    assert phaseloop("answer", run_id, "g1", "submit", "--set", "n=2").code == 2
    assert phaseloop("answer", run_id, f"{run_id}.g1", "submit", "--set", "city=Rome", "--set", "n=2").code == 0
    assert '"city": "Rome"' in phaseloop("events", run_id).out


def test_an_answer_can_be_recorded_without_driving(phaseloop):
    run_id, _ = waiting(phaseloop)
    recorded = phaseloop("answer", run_id, "g1", "approve", "--no-drive")
    assert (recorded.code, recorded.out) == (0, "")
    assert "goes on" in recorded.err
    assert phaseloop("show", run_id, "--json").lines[-1]["status"] == "running"
    assert phaseloop("resume", run_id).code == 0


# ---- an existing run


def test_runs_show_events_and_rebuild_read_what_is_there(phaseloop):
    assert "No runs yet" in phaseloop("runs").out
    run_id = phaseloop("run", GOAL, "--json").result["run_id"]
    assert f"{run_id}  completed   1/1  {GOAL}" in phaseloop("runs").out
    (row,) = phaseloop("runs", "--json").lines
    assert (row["run_id"], row["state"]) == (run_id, "completed")
    shown = phaseloop("show", run_id[:12])
    assert shown.code == 0
    assert "给出落地建议" in shown.out
    assert "完成[3]" in shown.out
    assert phaseloop("show", run_id[-6:], "--json").lines[0]["status"] == "completed"
    step = phaseloop("show", run_id, "--step", "s2")
    assert "activity_completed" in step.out
    assert "s3" not in step.out
    assert phaseloop("show", run_id, "--step", "s9").code == 2
    assert "plan 1, 3 steps" in phaseloop("show", run_id, "--events").out
    events = phaseloop("events", run_id, "--after", "3").lines
    assert events[0]["seq"] == 4
    assert events[-1]["event"] == "run_completed"
    assert phaseloop("rebuild").out == "1 runs rebuilt\n"
    assert phaseloop("runs", "--json").lines == [row]


def test_a_run_is_found_by_letters_that_only_it_has(phaseloop):
    ids = [phaseloop("run", "a, b", "--json").result["run_id"] for _ in range(2)]
    ambiguous = phaseloop("show", "01")
    assert ambiguous.code == 2
    assert "2 runs begin or end with 01: write more letters" in ambiguous.err
    for letters in ("nothing", ""):
        missing = phaseloop("show", letters)
        assert missing.code == 2
        assert "there is no run" in missing.err
    assert phaseloop("show", ids[0][-8:]).code == 0


def test_replay_finds_no_difference(phaseloop):
    run_id = phaseloop("run", GOAL, "--json").result["run_id"]
    ended = phaseloop("replay", run_id)
    assert ended.code == 0
    assert ended.out.endswith("no difference\n")


def test_resume_of_a_finished_run_shows_it_and_changes_nothing(phaseloop):
    ended = phaseloop("run", GOAL, "--json")
    again = phaseloop("resume", ended.result["run_id"], "--json")
    assert (again.code, again.lines) == (0, ended.lines)


def test_watch_shows_a_run_until_it_rests(phaseloop):
    run_id, _ = waiting(phaseloop)
    ended = phaseloop("watch", run_id)
    assert ended.code == 10
    assert f"phaseloop answer {run_id} sign_off approve" in ended.out


def test_cancel_ends_a_run_and_says_so_once(phaseloop):
    run_id, _ = waiting(phaseloop)
    ended = phaseloop("cancel", run_id, "--comment", "no longer needed")
    assert (ended.code, ended.out) == (0, f"run {run_id} is cancelled\n")
    assert phaseloop("resume", run_id).code == 3
    again = phaseloop("cancel", run_id)
    assert (again.code, "cancelled already" in again.err) == (2, True)


def test_pause_rests_a_run_and_resume_goes_on(phaseloop):
    run_id, _ = waiting(phaseloop)
    paused = phaseloop("pause", run_id)
    assert paused.code == 0
    assert f"phaseloop resume {run_id}" in paused.out
    assert "paused" in phaseloop("runs").out
    assert phaseloop("resume", run_id, "--yes").code == 0


def test_a_failed_run_exits_1_and_every_command_of_its_card_exists(phaseloop):
    process = phaseloop.file("failing.json", FAILING)
    ended = phaseloop("run", "a, b", "--process", process)
    assert ended.code == 1
    assert "Failed" in ended.out
    commands = re.findall(r"^  (phaseloop .*?)(?:  .*)?$", ended.out, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        told = phaseloop(*[word.strip('"') for word in command.split()[1:]])
        assert told.code in (0, 1), (command, told)
        assert "Usage" not in told.err


def test_replan_needs_a_word_and_gives_it_to_the_planner(phaseloop):
    process = phaseloop.file("failing.json", FAILING)
    run_id = phaseloop("run", "a, b", "--process", process, "--json").result["run_id"]
    assert phaseloop("replan", run_id).code == 2
    ended = phaseloop("replan", run_id, "--comment", "leave the check out", "--json")
    assert ended.code == 1
    (reopened,) = [line for line in ended.lines if line["event"] == "run_reopened"]
    assert (reopened["reason"], reopened["by"]["id"]) == ("leave the check out", "kai")
    assert phaseloop("retry", run_id).code == 1
    done = phaseloop("run", "a, b", "--json").result["run_id"]
    refused = phaseloop("retry", done)
    assert (refused.code, "only a failed run" in refused.err) == (2, True)


def test_a_run_does_not_go_on_without_the_tools_it_began_with(phaseloop):
    tools, process = phaseloop.file("t.py", TOOLS), gate_process()
    process["activities"].insert(0, {**PAYING["activities"][0], "phaseRef": "work"})
    process["activities"][0]["config"] = {"tool": "pay", "args": {"to": "ann"}}
    process["phases"][0]["startActivityId"] = "go"
    file = phaseloop.file("both.json", process)
    ended = phaseloop("run", "pay ann", "--process", file, "--tools", tools, "--store", "other.db")
    assert ended.code == 10
    (command,) = re.findall(r"phaseloop (answer \w+ sign_off approve.*)", ended.out)
    assert command.endswith(f"--store other.db --tools {tools}"), "the printed command does not reach the run"
    run_id = command.split()[1]
    without = phaseloop("answer", run_id, "g1", "approve", "--store", "other.db")
    assert without.code == 2
    assert "uses pay: name the file or package they are in with --tools" in without.err
    assert phaseloop(*command.split()).code == 0


def test_check_says_what_to_mend(phaseloop):
    good, bad = phaseloop.file("good.json", FAILING), phaseloop.file("bad.json", {"phases": [{"phaseId": 3}]})
    assert phaseloop("check", good).code == 0
    ended = phaseloop("check", bad)
    assert ended.code == 2
    assert "phases[0].phaseId" in ended.out
    assert phaseloop("check", bad, "--json").lines[0]["severity"]


# ---- as a process


def process(*arguments, folder, **environment):
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
    env.pop("PHASELOOP_MODEL", None)
    return subprocess.Popen(
        [BIN, *arguments], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


SLOW = '''
import time
from phaseloop import tool

@tool(effect="write")
def pay(to: str) -> str:
    """Pay somebody."""
    with open("paid.txt", "a") as file:
        file.write(to + "\\n")
    return "paid " + to

@tool(effect="read")
def rest() -> str:
    """Take a rest."""
    open("resting", "w").close()
    time.sleep(60)
    return "rested well"
'''


def test_ctrl_c_says_how_to_go_on_and_loses_nothing(tmp_path):
    both = {**PAYING, "activities": [*PAYING["activities"]], "inputs": {}}
    both["activities"] = [
        {"activityId": "go", "type": "TOOL", "phaseRef": "p", "config": {"tool": "pay", "args": {"to": "ann"}}},
        {"activityId": "rest", "type": "TOOL", "phaseRef": "p", "config": {"tool": "rest", "args": {}}},
    ]
    (tmp_path / "p.json").write_text(json.dumps(both))
    (tmp_path / "t.py").write_text(SLOW)
    options = ["--tools", "t.py", "--json"]
    running = process("run", "pay ann and rest", "--process", "p.json", *options, folder=tmp_path)
    deadline = time.monotonic() + 30
    while not (tmp_path / "resting").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=15)
    assert running.returncode == 130
    assert "Traceback" not in err
    (told,) = re.findall(r"The run rests at event \d+; nothing is lost\. Go on: phaseloop (.*)", err)
    assert told.endswith("--tools t.py")
    (tmp_path / "t.py").write_text(SLOW.replace("time.sleep(60)", "pass"))
    ended = process(*told.split(), "--json", folder=tmp_path)
    out, err = ended.communicate(timeout=30)
    assert ended.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["result"]["results"] == ["paid ann", "rested well"]
    assert (tmp_path / "paid.txt").read_text() == "ann\n"


@pytest.mark.parametrize("arguments", [["--help"], ["runs"]], ids=" ".join)
def test_a_command_that_needs_no_model_imports_none(tmp_path, arguments):
    code = (
        "import sys; from phaseloop.cli.main import main; sys.argv = ['phaseloop', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'pydantic_ai', 'mcp', 'openai', 'httpx'} & set(sys.modules)\n"
        "sys.exit(','.join(sorted(heavy)) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_a_pipe_that_is_closed_early_is_no_error(tmp_path):
    ended = subprocess.run(
        f"{BIN} run 'a, b' >/dev/null 2>&1; {BIN} events $({BIN} runs | cut -c1-26) | head -1; {BIN} --help | head -1",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "run_started" in ended.stdout
    assert ended.stderr == ""
