"""Finds the tools that `--tools` names: `package.module[:NAME]` or `file.py[:NAME]`."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from phaseloop.adapters.local_tools import LocalTool, tool
from phaseloop.adapters.tool_options import did_you_mean
from phaseloop.adapters.tool_values import is_array
from phaseloop.core.errors import WrongUse

_Tools = tuple[LocalTool[..., Any], ...]


def load_tools(source: str) -> _Tools:
    """The tools `source` names: every `@tool` of a module or file, or one NAME in it.

    NAME is a tool, a list of tools, or a function, which becomes a tool that writes. Modules are also
    looked for in the working directory. Raises `WrongUse`.
    """
    place, name = _split(source)
    if not place:
        raise WrongUse(f"tools {source!r}: write package.module, package.module:NAME or file.py:NAME")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    if name:
        return _named(module, name, source)
    found = {id(value): value for value in vars(module).values() if _is_tool(value)}
    if not found:
        raise WrongUse(f"{source} has no tools; mark its functions with @tool, or name one as in {place}:NAME")
    return tuple(found.values())


def _split(source: str) -> tuple[str, str]:
    """Place and name. The colon of a Windows drive is no separator, since what follows is no name."""
    place, _, name = source.rpartition(":")
    if place and (name.isidentifier() or not name):
        return place, name
    return source, ""


def _named(module: ModuleType, name: str, source: str) -> _Tools:
    if not hasattr(module, name):
        raise WrongUse(f"{source}: there is no {name!r}{did_you_mean(name, _public(module))}")
    value: Any = getattr(module, name)
    if _is_tool(value):
        return (value,)
    if is_array(value) and value and all(callable(one) for one in value):
        return tuple(_made(one) for one in value)
    if callable(value) and not isinstance(value, type):
        return (_made(value),)
    raise WrongUse(f"{source} is a {type(value).__name__}; it must be a tool, a function or a list of those")


def _is_tool(value: Any) -> TypeGuard[LocalTool[..., Any]]:
    return isinstance(value, LocalTool)


def _made(value: Callable[..., Any]) -> LocalTool[..., Any]:
    return value if _is_tool(value) else tool(value)


def _public(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if not name.startswith("_") and callable(value)]


def _load_module(name: str) -> ModuleType:
    _look_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            mend = f"; for a file write {name}.py" if Path(f"{name}.py").exists() else ""
            raise WrongUse(f"tools: there is no module {name!r} on the path or in {Path.cwd()}{mend}") from error
        raise WrongUse(_broken(name, error)) from error
    except Exception as error:
        raise WrongUse(_broken(name, error)) from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise WrongUse(f"tools: there is no file {path}")
    resolved = path.resolve()
    _look_in(resolved.parent)
    name = f"phaseloop_tools_{resolved.stem}"
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise WrongUse(f"tools: {path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their own module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise WrongUse(_broken(str(path), error)) from error
    return module


def _look_in(folder: Path) -> None:
    """A console script does not have the working directory on its path; later imports need it too."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _broken(place: str, error: Exception) -> str:
    """One sentence with the line in the user's file, never a traceback."""
    if isinstance(error, WrongUse):
        return f"{place}: {error}"
    if isinstance(error, SyntaxError):
        return f"{place} cannot be imported: {error.msg} in {error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    at = f" in {frames[-1].filename}, line {frames[-1].lineno}" if len(frames) > 1 else ""
    return f"{place} cannot be imported: {type(error).__name__}: {error}{at}"
