from phaseloop.core.gate_events import GateOpened
from phaseloop.core.plan import Step
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.state import ArtifactState, GateState, RunState, StepState, final_artifacts, open_gates
from phaseloop.core.statuses import ActivityStatus, GateStatus, RunStatus


def test_a_new_run_is_created_and_not_over():
    assert RunState().status is RunStatus.CREATED
    assert not RunState().over
    assert RunState(status=RunStatus.CANCELLED).over


def test_a_step_goes_by_its_declared_activity_else_by_its_own_id():
    assert StepState(Step("s1", "x"), "p").activity_id == "s1"
    assert StepState(Step("s1", "x", activity_id="a"), "p").activity_id == "a"


def test_a_paused_step_is_active_and_a_skipped_one_has_ended():
    assert StepState(Step("s1", "x"), "p", status=ActivityStatus.PAUSED).active
    assert StepState(Step("s1", "x"), "p", status=ActivityStatus.SKIPPED).ended
    assert not StepState(Step("s1", "x"), "p", status=ActivityStatus.FAILED).ended


def test_only_final_artefacts_count_and_they_come_sorted():
    drafts = {name: ArtifactState(name, 1, name, "p", "a", final=name != "b") for name in ("c", "b", "a")}
    assert list(final_artifacts(RunState(artifacts=drafts))) == ["a", "c"]


def test_open_gates_come_oldest_first():
    def gate(gate_id, status):
        return GateState(GateOpened(gate_id, 1, GateKind.EXIT, "a", GateMode.CONFIRM), 0, status)

    gates = {
        "g1": gate("g1", GateStatus.RESOLVED),
        "g2": gate("g2", GateStatus.OPEN),
        "g3": gate("g3", GateStatus.OPEN),
    }
    assert [gate_id for gate_id, _ in open_gates(RunState(gates=gates))] == ["g2", "g3"]
