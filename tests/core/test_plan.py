from phaseloop.core.plan import MAX_STEPS, Call, Severity, Step


def test_a_step_is_bound_when_it_carries_its_call():
    assert Step("s1", "look", call=Call("look")).bound
    assert not Step("s1", "look", tool_hint="look").bound


def test_a_plan_has_at_most_eight_steps():
    assert MAX_STEPS == 8


def test_findings_are_errors_questions_or_notes():
    assert [severity.value for severity in Severity] == ["error", "question", "note"]
