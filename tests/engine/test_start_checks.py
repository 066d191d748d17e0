import pytest

from phaseloop.core.errors import WrongUse
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import Activity, Definition
from phaseloop.engine.start_checks import MAX_GOAL, check_goal, check_tools

PUBLISH = Definition("d", activities=(Activity("a1", ActivityType.TOOL, config={"tool": "publish"}),))


def test_a_process_that_names_a_tool_nobody_gave_is_refused_before_it_starts():
    with pytest.raises(WrongUse, match="activity a1 needs the tool 'publish'; no tools are given"):
        check_tools(PUBLISH, ())
    with pytest.raises(WrongUse, match="known are mail"):
        check_tools(PUBLISH, {"mail"})
    check_tools(PUBLISH, {"publish"})


def test_an_empty_goal_is_refused_where_one_is_needed():
    with pytest.raises(WrongUse, match="empty"):
        check_goal("  ", needed=True)
    check_goal("", needed=False)


def test_a_goal_may_be_long_but_not_endless_and_must_be_whole_unicode():
    check_goal("x" * MAX_GOAL, needed=True)
    with pytest.raises(WrongUse, match="100,001 characters"):
        check_goal("x" * (MAX_GOAL + 1), needed=True)
    with pytest.raises(WrongUse, match="broken Unicode at character 2"):
        check_goal("a\ud800b", needed=True)
