"""Everything phaseloop raises on purpose.

* PhaseloopError
    * IllegalMove          an event arrived in a state that does not allow it
    * UnresolvedReference  a `$ref` or `$tmpl` names something that is not there
    * LogConflict          another writer already appended at this place
    * LogBroken            the store could not say whether an append was written
    * StoreUnusable        the store cannot be opened (locked, full, newer, not ours)
    * Fenced               a newer drive has the run
    * Stuck                a drive found nothing to do: our fault, never the run's
    * ModelFailed          a model call failed, now or in the record
    * RecordUnreadable     a recorded reply cannot be decoded: our fault, never the step's
    * RunUnknown           no run has this id
    * AnswerRefused        an answer to a gate cannot be taken; says what would be
    * DefinitionRefused    a process definition breaks rules; holds the findings
    * WrongUse             a caller's mistake: a bad option, file or value
"""

from phaseloop.core.plan import Finding


class PhaseloopError(Exception):
    """Base of every error raised by phaseloop."""


class IllegalMove(PhaseloopError):
    """The event is not allowed in the present status."""

    def __init__(self, event: str, subject: str, status: str) -> None:
        super().__init__(event, subject, status)
        self.event = event
        self.subject = subject
        self.status = status

    def __str__(self) -> str:
        return f"{self.event} is not allowed while {self.subject} is {self.status}"


class UnresolvedReference(PhaseloopError):
    """A reference points at nothing; a missing path is an error, `null` is a value (contract section 5)."""

    def __init__(self, reference: str, why: str) -> None:
        super().__init__(reference, why)
        self.reference = reference
        self.why = why

    def __str__(self) -> str:
        return f"reference {self.reference} cannot be resolved: {self.why}"


class LogConflict(PhaseloopError):
    """The log already has an event at this place."""

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(run_id, seq)
        self.run_id = run_id
        self.seq = seq

    def __str__(self) -> str:
        return f"run {self.run_id} already has an event at {self.seq}"


class LogBroken(PhaseloopError):
    """A commit failed; whether it was written is unknown until the log is read again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the store did not take the write: {self.reason}; nothing that was recorded is lost"


class StoreUnusable(PhaseloopError):
    """The store cannot be used; the message says why and what to do."""

    def __init__(self, store: str, reason: str) -> None:
        super().__init__(store, reason)
        self.store = store
        self.reason = reason

    def __str__(self) -> str:
        return f"store {self.store} cannot be used: {self.reason}"


class Fenced(PhaseloopError):
    """Another drive took the run; this one must stop and append nothing."""

    def __init__(self, run_id: str, mine: int, newer: int) -> None:
        super().__init__(run_id, mine, newer)
        self.run_id = run_id
        self.mine = mine
        self.newer = newer

    def __str__(self) -> str:
        return f"drive {self.mine} of run {self.run_id} lost the run to drive {self.newer}"


class Stuck(PhaseloopError):
    """A drive cannot go on although the run is not over; the log holds everything."""

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(run_id, why)
        self.run_id = run_id
        self.why = why

    def __str__(self) -> str:
        return f"run {self.run_id} cannot go on: {self.why}; this is a defect, please report it with the log"


class ModelFailed(PhaseloopError):
    """A model call failed, now or in the record; the message says how."""


class RecordUnreadable(PhaseloopError):
    """A recorded value cannot be decoded by this release."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason)
        self.what = what
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.what} cannot be read: {self.reason}"


class RunUnknown(PhaseloopError):
    """No run has this id in this store."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"there is no run {self.run_id} in this store"


class AnswerRefused(PhaseloopError):
    """The answer was not taken. `status` is the HTTP status that says the same (409, 410, 422, 403, 404)."""

    def __init__(self, gate_id: str, reason: str, status: int = 422) -> None:
        super().__init__(gate_id, reason, status)
        self.gate_id = gate_id
        self.reason = reason
        self.status = status

    def __str__(self) -> str:
        return f"gate {self.gate_id}: {self.reason}"


class DefinitionRefused(PhaseloopError):
    """The definition breaks a rule; `findings` name each one with its mend."""

    def __init__(self, source: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(source, findings)
        self.source = source
        self.findings = findings

    def __str__(self) -> str:
        lines = [
            f"{f.where + ': ' if f.where else ''}{f.message}{' (' + f.mend + ')' if f.mend else ''}"
            for f in self.findings
        ]
        return f"definition {self.source} is refused: " + "; ".join(lines)


class WrongUse(PhaseloopError):
    """The caller asked for something that cannot be; the message says what would be right."""
