"""What one run of a model role holds while it talks to its desk."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json
from phaseloop.roles.protocols import Desk


def as_it_is(value: Json) -> Json:
    """The value, unchanged."""
    return value


def no_drift(text: str) -> tuple[str, ...]:
    """Nothing to say about a reply whose form is free."""
    return ()


@dataclass(slots=True)
class Door:
    """The desk of one effect, and what was counted on the way to it. Lives as long as one role call.

    `offered` maps the name a model sees to the tool. `prompt` is the rendered first prompt, for the
    record. `inspect` says how the text of a reply without tool calls differs from the form asked for.
    `show` makes a tool result fit for a prompt. `asked` counts model requests, `places` maps a call id
    of the last reply to its place in it, `counts` counts equal calls by digest.
    """

    desk: Desk
    role: str
    model: str
    prompt: Json = None
    rounds: int = 1
    offered: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    inspect: Callable[[str], tuple[str, ...]] = no_drift
    show: Callable[[Json], Json] = as_it_is
    asked: int = 0
    places: dict[str, int] = field(default_factory=dict[str, int])
    drift: list[str] = field(default_factory=list[str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    withdrawn: bool = False

    def tool_name(self, offered_name: str) -> str:
        """The tool's own name for the name a model used."""
        spec = self.offered.get(offered_name)
        return spec.name if spec else offered_name
