import asyncio
import sys
import threading

import pytest

from phaseloop.adapters.local_tools import tool
from phaseloop.adapters.secret_handles import Secret
from phaseloop.adapters.tool_errors import NothingSent, RetryWithOtherArguments, ToolError, ToolUnavailable
from phaseloop.adapters.toolbox import Toolbox
from phaseloop.core.errors import WrongUse
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.engine.ports import Returned


def call(made, args=None, key="k", **options):
    return asyncio.run(Toolbox([made], **options).call(made.spec.name, args or {}, key))


def raising(error, effect="write"):
    @tool(effect=effect)
    def act() -> None:
        raise error

    return act


def test_sync_and_async_tools_return_plain_json():
    @tool(effect="read")
    def plain_one(n: int) -> dict[str, set[int]]:
        assert threading.current_thread() is not threading.main_thread()
        return {"n": {n, 2}}

    @tool(effect="read")
    async def async_one() -> float:
        await asyncio.sleep(0)
        return float("nan")

    assert call(plain_one, {"n": 1}) == Returned("ok", {"n": [1, 2]})
    assert call(async_one) == Returned("ok", None)


def test_a_sync_function_that_returns_an_awaitable_is_awaited():
    async def inner():
        return 7

    assert call(tool(lambda: inner(), name="lazy")) == Returned("ok", 7)


def test_the_key_reaches_the_tool():
    @tool
    def pay(idempotency_key: str) -> str:
        return idempotency_key

    assert call(pay, key="run:pay:1").value == "run:pay:1"


def test_wrong_arguments_ask_for_others_and_nothing_runs():
    ran = []

    @tool
    def act(n: int) -> None:
        ran.append(n)

    returned = call(act, {"n": "many"})
    assert (returned.outcome, returned.error_kind) == ("retry", "arguments")
    assert "argument 'n' is \"many\"" in returned.error
    assert not ran


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_a_read_that_takes_too_long_failed_and_may_be_tried_again(effect):
    @tool(effect=effect, timeout=0.02)
    async def slow() -> None:
        await asyncio.Event().wait()

    assert call(slow) == Returned("failed", error="slow took longer than 0.02 s", error_kind="timeout", transient=True)


def test_a_write_that_takes_too_long_is_unsure_sync_and_async():
    release = threading.Event()

    @tool(timeout=0.02)
    async def slow() -> None:
        await asyncio.Event().wait()

    @tool(timeout=0.02, name="slow")
    def slow_thread() -> None:
        release.wait(5)

    for made in (slow, slow_thread):
        returned = call(made)
        assert (returned.outcome, returned.error_kind, returned.unsent) == ("unsure", "timeout", False)
        assert returned.error == "slow took longer than 0.02 s; whether it happened is not known"
    release.set()


def test_a_tool_that_ignores_its_cancellation_does_not_hold_the_engine():
    ended = []

    @tool(timeout=0.02)
    async def stubborn() -> None:
        for _ in range(2):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append(1)

    async def main():
        async with asyncio.timeout(5):
            returned = await Toolbox([stubborn]).call("stubborn", {}, "k")
        return returned.outcome

    assert asyncio.run(main()) == "unsure"
    assert ended


def test_a_cancelled_tool_gets_to_clean_up():
    cleaned = []

    @tool(timeout=0.02)
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    call(slow)
    assert cleaned == [1]


def test_the_cancellation_of_the_caller_passes_through_and_reaches_the_tool():
    seen = []
    begun = asyncio.Event()

    @tool
    async def slow() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main():
        running = asyncio.create_task(Toolbox([slow]).call("slow", {}, "k"))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0)

    asyncio.run(main())
    assert seen == ["cancelled"]


@pytest.mark.parametrize(
    ("error", "effect", "expected"),
    [
        (
            ValueError("no"),
            "write",
            Returned("failed", error="act raised ValueError: no", error_kind="exception"),
        ),
        (
            ToolError("no such room"),
            "write",
            Returned("failed", error="act: no such room", error_kind="tool"),
        ),
        (
            ToolUnavailable("down"),
            "write",
            Returned("failed", error="act: down", error_kind="unavailable", transient=True),
        ),
        (
            NothingSent("queue full"),
            "write",
            Returned("failed", error="act: queue full", error_kind="unavailable", transient=True, unsent=True),
        ),
        (
            ConnectionRefusedError("no"),
            "write",
            Returned(
                "failed",
                error="act raised ConnectionRefusedError: no",
                error_kind="network",
                transient=True,
                unsent=True,
            ),
        ),
        (
            ConnectionResetError("cut"),
            "read",
            Returned("failed", error="act raised ConnectionResetError: cut", error_kind="network", transient=True),
        ),
        (
            ConnectionResetError("cut"),
            "write",
            Returned(
                "unsure",
                error="act raised ConnectionResetError: cut; whether it happened is not known",
                error_kind="network",
            ),
        ),
        (
            RetryWithOtherArguments("use an IATA code"),
            "write",
            Returned("retry", error="act: use an IATA code", error_kind="arguments"),
        ),
    ],
)
def test_an_exception_becomes_an_outcome(error, effect, expected):
    assert call(raising(error, effect)) == expected


def test_an_exit_inside_a_tool_ends_the_call_and_not_the_process():
    @tool
    async def leave() -> None:
        sys.exit(3)

    @tool(name="leave")
    def leave_thread() -> None:
        sys.exit(3)

    @tool(name="leave")
    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    @tool(name="leave")
    def stop() -> None:
        raise StopIteration

    for made, said in (
        (leave, "SystemExit: 3"),
        (leave_thread, "SystemExit: 3"),
        (cancel_itself, "cancelled from inside"),
        (stop, "StopIteration"),
    ):
        returned = call(made)
        assert returned.outcome == "failed"
        assert said in returned.error


def test_a_result_without_json_form_fails_a_read_and_never_a_write():
    @tool(effect="read")
    def look() -> object:
        return object()

    @tool
    def act() -> object:
        return object()

    said = "cannot be recorded: its result is of type object, which has no JSON form"
    assert call(look) == Returned("failed", error=f"look {said}", error_kind="result")
    assert call(act) == Returned("ok", {"unreadable": f"act {said}"})


def test_a_result_that_is_too_large_fails_a_read_and_is_kept_in_short_for_a_write():
    @tool(effect="read")
    def look(n: int) -> str:
        return "ä" * n

    @tool
    def act() -> list[str]:
        return ["ä" * 5_000]

    returned = call(look, {"n": 200_000}, result_bytes=300_000)
    assert returned.error == "look returned 0.4 MB, more than 0.3 MB; page or filter in the tool"
    assert (returned.outcome, returned.error_kind, returned.value) == ("failed", "result", None)
    assert call(look, {"n": 149_999}, result_bytes=300_000).outcome == "ok"
    assert call(act, result_bytes=10_003) == Returned(
        "ok", {"cut": True, "bytes": 10_004, "head": ('["' + "ä" * 5_000)[:2_000]}
    )


def test_an_unknown_tool_is_answered_with_names_that_are_close():
    @tool(effect="read")
    def search_web() -> None: ...

    box = Toolbox([search_web])
    returned = asyncio.run(box.call("serch_web", {}, "k"))
    assert returned.error == "there is no tool 'serch_web'; did you mean 'search_web'?"
    assert (returned.outcome, returned.error_kind, returned.transient) == ("failed", "unknown_tool", False)


def test_secrets_are_masked_in_results_and_errors(monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", "abcdefgh-1")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("NOT_ONE", "visible-text")

    @tool(effect="read")
    def leak(fail: bool = False) -> dict[str, str]:
        if fail:
            raise ValueError("bad key abcdefgh-1")
        return {"k": "key=abcdefgh-1", "abcdefgh-1": "abc visible-text handed-in"}

    returned = call(leak, secrets=[Secret("MINE", "handed-in")])
    assert returned.masked
    assert returned.value == {
        "k": "key=[secret:DEMO_API_KEY]",
        "[secret:DEMO_API_KEY]": "abc visible-text [secret:MINE]",
    }
    failed = call(leak, {"fail": True})
    assert (failed.error, failed.masked) == ("leak raised ValueError: bad key [secret:DEMO_API_KEY]", True)


def test_a_handle_is_resolved_at_the_door_for_declared_names_and_their_tools_only(monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", "abcdefgh-1")
    monkeypatch.setenv("OTHER_API_KEY", "abcdefgh-2")
    seen = []

    @tool(effect="read")
    def fetch(headers: list[str]) -> None:
        seen.extend(headers)

    args = {"headers": ["Bearer ${DEMO_API_KEY}", "${OTHER_API_KEY}", "${LIMITED}"]}
    call(fetch, args, secrets=["DEMO_API_KEY", Secret("LIMITED", "only-for-mail", tools=("send_mail",))])
    assert seen == ["Bearer abcdefgh-1", "${OTHER_API_KEY}", "${LIMITED}"]
    assert args["headers"][0] == "Bearer ${DEMO_API_KEY}"


def test_a_secret_is_masked_in_the_findings_about_arguments():
    @tool(effect="read")
    def fetch(count: int) -> None: ...

    returned = call(fetch, {"count": "${MINE}"}, secrets=[Secret("MINE", "very-secret")])
    assert "very-secret" not in returned.error
    assert "[secret:MINE]" in returned.error
    assert "very-secret" not in repr(Secret("MINE", "very-secret"))


def test_a_declared_secret_without_a_value_is_refused():
    with pytest.raises(WrongUse, match="secret NOWHERE_TO_BE_FOUND has no value: set the environment variable"):
        Toolbox([], secrets=["NOWHERE_TO_BE_FOUND"])


def verify(hook, args=None):
    @tool(verify=hook, timeout=0.05)
    def send(to: str = "ann") -> None: ...

    return asyncio.run(Toolbox([send]).verify("send", args or {}, "k1"))


def test_verify_says_whether_a_write_happened():
    async def later(to, idempotency_key):
        return True, {"to": to, "key": idempotency_key}

    assert verify(later, {"to": "bo"}) == (True, {"to": "bo", "key": "k1"})
    assert verify(lambda to: to == "bo") == (False, None)
    assert verify(lambda: None) == (None, None)


def test_a_verify_hook_that_fails_cannot_tell(caplog):
    async def hang():
        await asyncio.Event().wait()

    def fail():
        raise ValueError("no access")

    assert verify(fail) == (None, None)
    assert verify(hang) == (None, None)
    assert verify(lambda: "yes") == (None, None)
    assert "verify of send raised ValueError: no access; a person is asked" in caplog.text
    assert "verify of send took longer than 0.05 s" in caplog.text
    assert "must say True, False or None" in caplog.text


def test_a_tool_without_a_hook_cannot_tell():
    assert asyncio.run(Toolbox([raising(ValueError())]).verify("act", {}, "k")) == (None, None)


def test_the_configuration_overrides_what_the_code_says():
    @tool(effect="read", timeout=0.02)
    async def slow() -> None:
        await asyncio.Event().wait()

    box = Toolbox([slow], rules={"slow": {"effect": "write", "timeout": 0.01, "risk": "high"}})
    assert box.catalogue()[0].effect is EffectClass.WRITE
    assert asyncio.run(box.call("slow", {}, "k")).outcome == "unsure"


def test_names_that_lead_nowhere_are_refused():
    @tool(fallback="search_b")
    def search_a() -> None: ...

    with pytest.raises(WrongUse, match="tool search_a: fallback 'search_b' is not a tool"):
        Toolbox([search_a])
    with pytest.raises(WrongUse, match="two tools are named 'act'"):
        Toolbox([raising(ValueError()), raising(ValueError())])
    with pytest.raises(WrongUse, match="rules are given for an unknown tool 'akt'; did you mean 'act'"):
        Toolbox([raising(ValueError())], rules={"akt": {"poll": True}})


class Elsewhere:
    def __init__(self):
        self.calls = []

    def catalogue(self):
        return (
            ToolSpec("far_read", effect=EffectClass.READ, source="mcp:far"),
            ToolSpec("act", source="mcp:far"),
        )

    def absent(self, tool):
        return "gone_x cannot be called" if tool == "gone_x" else ""

    def secrets(self):
        return {"FAR": "far-away-secret"}

    async def call(self, spec, args, key):
        self.calls.append((spec.name, args, key))
        return Returned("ok", "the far-away-secret")


def test_tools_from_elsewhere_pass_the_same_door():
    elsewhere = Elsewhere()
    box = Toolbox([raising(ValueError("here"))], mcp=elsewhere, rules={"far_read": {"category": "far"}})
    assert [(spec.name, spec.source, spec.category) for spec in box.catalogue()] == [
        ("act", "function", ""),
        ("far_read", "mcp:far", "far"),
    ]
    assert asyncio.run(box.call("far_read", {"a": 1}, "k")) == Returned("ok", "the [secret:FAR]", masked=True)
    assert elsewhere.calls == [("far_read", {"a": 1}, "k")]
    absent = asyncio.run(box.call("gone_x", {}, "k"))
    assert (absent.error_kind, absent.transient, absent.unsent) == ("unavailable", True, True)
    assert asyncio.run(box.call("act", {}, "k")).error == "act raised ValueError: here"


def test_many_slow_threads_run_side_by_side():
    gate = threading.Barrier(40, timeout=10)

    @tool(effect="read")
    def meet() -> int:
        return gate.wait()

    async def main():
        box = Toolbox([meet])
        return await asyncio.gather(*(box.call("meet", {}, "k") for _ in range(40)))

    assert sorted(one.value for one in asyncio.run(main())) == list(range(40))
