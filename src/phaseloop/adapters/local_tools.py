"""Makes tools of Python functions: `@tool`, for sync and async ones."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from phaseloop.adapters.docstrings import parse_docstring
from phaseloop.adapters.tool_arguments import KEY_PARAMETER, Arguments, output_schema_of
from phaseloop.adapters.tool_options import TOOL_NAME, ToolRules, with_rules
from phaseloop.core.errors import WrongUse
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json

P = ParamSpec("P")
R = TypeVar("R")


class ToolOptions(ToolRules, total=False):
    """Everything `@tool` takes: the rules, another `name`, and the `verify` hook.

    `verify` gets those of the tool's arguments that it names, and says after a crash whether a write
    happened: `True`, `False`, `None` for "cannot tell", or a pair of that and the result.
    """

    name: str
    verify: Callable[..., Any]


class LocalTool(Generic[P, R]):
    """A function that is a tool. Calling it calls the function, so that it can be tested as it is."""

    def __init__(self, function: Callable[P, R], options: ToolOptions) -> None:
        """Raises `WrongUse` when the function or an option cannot be taken."""
        self.function = function
        self.verify_hook = options.get("verify")
        name = options.get("name") or getattr(function, "__name__", "") or type(function).__name__
        if not TOOL_NAME.fullmatch(name):
            raise WrongUse(f"tool name {name!r} must be 1 to 64 letters, digits, '_' or '-'; give it one by name=")
        docs = parse_docstring(_docstring(function))
        self.arguments = Arguments(name, function, docs)
        spec = ToolSpec(
            name=name,
            description=docs.text,
            input_schema=self.arguments.schema,
            output_schema=output_schema_of(function),
            verify=self.verify_hook is not None,
        )
        rules = {key: value for key, value in options.items() if key not in ("name", "verify")}
        self.spec = with_rules(spec, rules)
        self._verify_takes = _check_hook(name, self.verify_hook, function)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name} ({self.spec.effect})>"

    @property
    def is_async(self) -> bool:
        """Whether the function is awaited; any other runs in a thread."""
        return _is_async(self.function)

    def bind(self, args: Json, key: str) -> Callable[[], Any]:
        """The call, ready to be made. Raises `ArgumentsRefused`."""
        accepted = self.arguments.accept(args)
        if self.arguments.takes_key:
            accepted[KEY_PARAMETER] = key
        return functools.partial(cast("Callable[..., Any]", self.function), **accepted)

    def bind_verify(self, args: Json, key: str) -> Callable[[], Any] | None:
        """The question whether the call happened, ready to be asked; `None` without a hook."""
        if self.verify_hook is None:
            return None
        known = {**self.arguments.defaults, **self.arguments.accept(args), KEY_PARAMETER: key}
        return functools.partial(
            self.verify_hook, **{name: value for name, value in known.items() if name in self._verify_takes}
        )

    @property
    def verify_is_async(self) -> bool:
        """Whether the hook is awaited."""
        return self.verify_hook is not None and _is_async(self.verify_hook)


@overload
def tool(function: Callable[P, R], /) -> LocalTool[P, R]: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[P, R]], LocalTool[P, R]]: ...


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> LocalTool[P, R]: ...


def tool(function: Callable[P, R] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a tool of a function, bare or with options: `@tool` or `@tool(effect="read", timeout=5)`.

    Name, description and schema come from the function, its docstring and its annotations. Without
    `effect` it is a write, the careful choice. A parameter `idempotency_key` receives the key of the call.
    Raises `WrongUse`.
    """
    if function is None:

        def decorate(given: Callable[P, R]) -> LocalTool[P, R]:
            return tool(given, **options)

        return decorate
    if not callable(function):
        raise WrongUse(f"@tool takes a function, not {function!r}; options go by name, as in @tool(name='search')")
    return LocalTool(function, options)


def _docstring(function: Callable[..., Any]) -> str | None:
    """The function's own text; an object that is callable may carry it on `__call__`."""
    own = function.func if isinstance(function, functools.partial) else function
    named = inspect.isroutine(own) or isinstance(own, type)
    return inspect.getdoc(own) if named else inspect.getdoc(type(own).__call__) or inspect.getdoc(own)


def _is_async(function: Callable[..., Any]) -> bool:
    own = inspect.unwrap(function)
    own = own.func if isinstance(own, functools.partial) else own
    return inspect.iscoroutinefunction(own) or inspect.iscoroutinefunction(getattr(own, "__call__", None))  # noqa: B004


def _check_hook(name: str, hook: Callable[..., Any] | None, function: Callable[..., Any]) -> frozenset[str]:
    """The arguments the hook takes. Raises `WrongUse` when it needs one that the tool does not have."""
    if hook is None:
        return frozenset()
    known = {*inspect.signature(function).parameters, KEY_PARAMETER}
    wanted = inspect.signature(hook).parameters
    for parameter in wanted.values():
        open_ended = parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        if open_ended:
            continue
        if parameter.default is inspect.Parameter.empty and parameter.name not in known:
            raise WrongUse(f"tool {name}: verify needs {parameter.name!r}, which is not an argument of the tool")
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in wanted.values())
    return frozenset(known if takes_all else known & set(wanted))
