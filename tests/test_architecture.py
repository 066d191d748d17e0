"""Rules about the shape of the code that import-linter cannot see."""

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import phaseloop
from phaseloop.core import errors
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.plan import Finding
from tools import draw

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "phaseloop"
FILES = sorted(SRC.rglob("*.py"))
CORE = [path for path in FILES if path.parent.name == "core"]
MAX_LINES, MAX_FUNCTION, MAX_ARGUMENTS, MAX_EXPORTS, MAX_FOLDERS = 300, 40, 6, 25, 2
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "handle"}
IMPURE_CALLS = {
    "now",
    "utcnow",
    "today",
    "fromtimestamp",
    "open",
    "print",
    "input",
    "getenv",
    "uuid4",
    "sleep",
}
RAISED_BASES = {"Exception", "PhaseloopError"}
IMMUTABLE_BASES = {"StrEnum", "IntEnum", "Enum", "Protocol", *RAISED_BASES}
SPEAKS_WITH = {  # a library's own vocabulary: types and errors that its interface hands out
    "mcp": {"mcp_types", "httpx2", "pydantic"},
    "pydantic": {"typing_extensions", "pydantic_core"},
    "pydantic_ai": {"pydantic", "pydantic_core", "httpx2"},
}
PURE_RINGS = {"core", "roles", "engine"}
UNTESTED_ALONE = {  # modules of declarations only: nothing in them runs
    "answers",
    "asks",
    "call_events",
    "effects",
    "gate_events",
    "plan_events",
    "run_events",
    "statuses",
    "tables",
    "words",
}


def _id(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_a_file_has_at_most_300_lines(path):
    assert path.read_text(encoding="utf-8").count("\n") <= MAX_LINES


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_a_function_has_at_most_40_lines_and_6_arguments(path):
    for node in _functions(_tree(path)):
        where = f"{_id(path)}:{node.lineno} {node.name}"
        assert node.end_lineno - node.lineno < MAX_FUNCTION, f"{where} is too long"
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        own = [name for name in names if name not in ("self", "cls")]
        typer_command = any("command" in ast.unparse(d) for d in node.decorator_list)
        exempt = typer_command or "PLR0913" in path.read_text(encoding="utf-8").splitlines()[node.lineno - 1]
        assert exempt or len(own) <= MAX_ARGUMENTS, f"{where} takes {len(own)} arguments"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_a_module_says_what_it_is_for_in_its_first_line(path):
    first = (ast.get_docstring(_tree(path)) or "").partition("\n")[0]
    assert first, f"{_id(path)} has no docstring"
    assert first[-1] in ".?:", f"{_id(path)} starts with {first!r}, which is no sentence"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_a_module_lies_at_most_two_folders_deep_and_has_a_name_that_says_something(path):
    inside = path.relative_to(SRC)
    assert len(inside.parts) <= MAX_FOLDERS
    words = set(inside.stem.split("_"))
    assert not words & VAGUE_NAMES, f"{_id(path)}: {words & VAGUE_NAMES} explains nothing"


@pytest.mark.parametrize("path", CORE, ids=_id)
def test_the_core_has_no_coroutine_no_clock_and_no_global(path):
    for node in ast.walk(_tree(path)):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global | ast.Nonlocal)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert name not in IMPURE_CALLS, f"{_id(path)}:{node.lineno} calls {name}()"


@pytest.mark.parametrize("path", CORE, ids=_id)
def test_every_class_of_the_core_is_frozen_and_slotted(path):
    for node in ast.walk(_tree(path)):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
        decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
        frozen = "frozen=True" in decorators and "slots=True" in decorators
        assert frozen or bases & IMMUTABLE_BASES, f"{_id(path)}:{node.lineno} {node.name}"


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name in PURE_RINGS], ids=_id)
def test_core_roles_and_engine_import_only_the_standard_library(path):
    outside = _third_party(path)
    assert not outside, f"{_id(path)} imports {sorted(outside)}"


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name == "adapters"], ids=_id)
def test_an_adapter_file_knows_one_library(path):
    outside = _third_party(path)
    outside -= set().union(*(SPEAKS_WITH.get(name, set()) for name in outside))
    assert len(outside) <= 1, f"{_id(path)} imports {sorted(outside)}; one adapter file, one library"


def _third_party(path: Path) -> set[str]:
    """Top-level names that are neither ours nor in the standard library."""
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"phaseloop"}


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=lambda cls: cls.__name__)
def test_an_event_is_named_in_the_past_tense(event_type):
    past = re.search(r"(ed|Set|Out|Taken)$", event_type.__name__)
    assert past, f"{event_type.__name__} does not end like something that happened"


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=lambda cls: cls.__name__)
def test_an_event_has_fields_and_no_methods(event_type):
    own = {name for name, value in vars(event_type).items() if inspect.isfunction(value)}
    assert not {name for name in own if not name.startswith("__")}
    assert dataclasses.is_dataclass(event_type)
    assert event_type.__dataclass_params__.frozen


def test_no_two_events_share_a_name():
    names = [event_type.__name__ for event_type in EVENT_TYPES]
    assert len(names) == len(set(names))


def _error_types() -> list[type[PhaseloopError]]:
    """Every error class of ours, wherever it is defined; only the modules that define one are imported."""
    classes = [
        (path, node.name, {ast.unparse(base).rpartition(".")[2] for base in node.bases})
        for path in FILES
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef)
    ]
    found: dict[str, type[PhaseloopError]] = {"PhaseloopError": PhaseloopError}
    grown = True
    while grown:
        new = [(path, name) for path, name, bases in classes if name not in found and bases & found.keys()]
        for path, name in new:
            dotted = ".".join(("phaseloop", *path.relative_to(SRC).with_suffix("").parts))
            found[name] = getattr(importlib.import_module(dotted), name)
        grown = bool(new)
    del found["PhaseloopError"]
    return [found[name] for name in sorted(found)]


def _example(parameter: inspect.Parameter) -> object:
    """A value for one argument of an error's constructor, by its annotation."""
    annotation = str(parameter.annotation)
    if "Finding" in annotation:
        return (Finding("code", "what is wrong", "s1"),)
    if "tuple" in annotation or "Sequence" in annotation or "list" in annotation:
        return ("one", "two")
    if parameter.annotation in (int, float):
        return 7
    return f"the {parameter.name}"


@pytest.mark.parametrize("error_type", _error_types(), ids=lambda cls: cls.__name__)
def test_an_error_survives_copy_and_pickle_and_says_what_it_holds(error_type):
    own = error_type.__init__ is not Exception.__init__ and "__init__" in vars(error_type)
    parameters = list(inspect.signature(error_type.__init__).parameters.values())[1:] if own else []
    error = error_type(*(_example(parameter) for parameter in parameters) if own else ("why",))
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is error_type
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
    assert str(error)
    assert "object at 0x" not in str(error)


def test_the_error_tree_in_the_docstring_is_complete():
    for error_type in _error_types():
        if error_type.__module__ == errors.__name__:
            assert f"* {error_type.__name__} " in errors.__doc__, f"{error_type.__name__} is not in the tree"


@pytest.mark.parametrize("path", CORE, ids=_id)
def test_a_core_module_has_its_own_test_file(path):
    if path.stem in UNTESTED_ALONE or path.stem == "__init__":
        return
    assert (ROOT / "tests" / "core" / f"test_{path.stem}.py").exists(), f"tests/core/test_{path.stem}.py"


@pytest.mark.parametrize("name", sorted(UNTESTED_ALONE))
def test_a_module_without_a_test_file_declares_and_does_nothing(name):
    path = SRC / "core" / f"{name}.py"
    assert path.exists(), f"{name} is gone; take it off the list"
    assert not _functions(_tree(path)), f"{name} has functions; give it tests/core/test_{name}.py"


def test_the_public_names_are_few_and_can_all_be_imported():
    names = getattr(phaseloop, "__all__", None)
    assert names is not None, "phaseloop/__init__.py does not say what is public"
    assert len(names) <= MAX_EXPORTS
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(phaseloop, name, None) is not None, f"phaseloop.{name} cannot be imported"


def test_nothing_public_is_missing_from_all():
    modules = {info.name for info in pkgutil.iter_modules(phaseloop.__path__)}
    reachable = {name for name in dir(phaseloop) if not name.startswith("_")} - modules
    assert reachable == set(phaseloop.__all__)


def test_the_architecture_page_is_up_to_date():
    assert draw.PAGE.read_text(encoding="utf-8") == draw.render(), "run: python -m tools.draw"


def test_the_architecture_page_draws_every_table_of_moves():
    tables = draw.tables()
    assert tables
    page = draw.PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        assert f"`{name}`" in page
        for status in table:
            assert f"{status}" in page
