"""What a tool raises to say more than "it failed": other arguments, not reachable, nothing was sent.

* ToolError                    the tool could not do it; the message is shown as it is
    * ToolUnavailable          the other side cannot be reached now; a repeat may help
        * NothingSent          proof that nothing left this process, so that even a write may be repeated
    * RetryWithOtherArguments  the arguments were wrong; the message says which ones would do
"""

from phaseloop.core.errors import PhaseloopError


class ToolError(PhaseloopError):
    """The tool could not do what was asked, and a repeat with the same arguments will not help."""


class ToolUnavailable(ToolError):
    """The tool cannot be reached now; reads and idempotent calls are tried again."""


class NothingSent(ToolUnavailable):
    """The call failed before anything left this process, so a write may be tried again as well."""


class RetryWithOtherArguments(ToolError):
    """Nothing was done; the message tells the caller which arguments would be accepted."""
