import sys

import pytest

from phaseloop.adapters.tool_loading import load_tools
from phaseloop.core.errors import WrongUse

SOURCE = '''
from phaseloop.adapters.local_tools import tool

@tool(effect="read")
def look(city: str) -> str:
    """Look around."""
    return city

@tool
def act() -> None: ...

again = look
both = [act, look]
number = 3

def plain(name: str) -> str:
    """Say a name."""
    return name
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "demo_tools.py").write_text(SOURCE)
    package = tmp_path / "demo_pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "more.py").write_text(SOURCE)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("demo_", "phaseloop_tools_")):
            del sys.modules[name]


def names(source):
    return [one.spec.name for one in load_tools(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("demo_tools", ["look", "act"]),
        ("demo_pack.more", ["look", "act"]),
        ("demo_tools:look", ["look"]),
        ("demo_tools:both", ["act", "look"]),
        ("demo_tools:plain", ["plain"]),
        ("demo_tools.py", ["look", "act"]),
        ("demo_pack/more.py:both", ["act", "look"]),
    ],
)
def test_tools_are_found_by_module_file_and_name(folder, source, expected):
    assert names(source) == expected
    assert names(str(folder / "demo_tools.py")) == ["look", "act"]


def test_a_file_may_import_its_neighbour(folder):
    (folder / "demo_user.py").write_text("from demo_tools import look\n")
    assert names("demo_user.py") == ["look"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("demo_missing", "there is no module 'demo_missing' on the path or in "),
        ("demo_pack.missing", "there is no module 'demo_pack.missing'"),
        ("demo_missing.py", "there is no file demo_missing.py"),
        ("demo_tools:lok", "demo_tools:lok: there is no 'lok'; did you mean 'look'?"),
        ("demo_tools:number", "demo_tools:number is a int; it must be a tool, a function or a list"),
        (
            "demo_pack",
            "demo_pack has no tools; mark its functions with @tool, or name one as in demo_pack:NAME",
        ),
        ("", "write package.module, package.module:NAME or file.py:NAME"),
    ],
)
def test_what_cannot_be_found_is_said_with_the_mend(folder, source, said):
    with pytest.raises(WrongUse) as caught:
        load_tools(source)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import not_installed_here", "ModuleNotFoundError: No module named 'not_installed_here'"),
        ("def (:", "line 1"),
        ("\n1 / 0", "ZeroDivisionError: division by zero in "),
        (
            "from phaseloop.adapters.local_tools import tool\n@tool(effect='x')\ndef a(): ...",
            "demo_bad.py: tool a: effect must be one of read, idempotent, write, not 'x'",
        ),
    ],
)
def test_a_module_that_does_not_import_is_told_in_one_sentence(folder, body, said):
    (folder / "demo_bad.py").write_text(body)
    with pytest.raises(WrongUse) as caught:
        load_tools("demo_bad.py")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(WrongUse, match="demo_bad"):
        load_tools("demo_bad")
