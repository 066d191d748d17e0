"""What is built is what works: the wheel alone, without the source tree."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import phaseloop

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path) -> str:
    """stdout of a command that has to succeed; its environment does not know this checkout."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{command}: {ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without the network from this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target, folder=ROOT)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "phaseloop").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == files


def test_the_installed_wheel_runs_without_the_source(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    site = next(place.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    dependencies = Path(pytest.__file__).parents[1]  # the locked ones of this environment, without its `.pth` files
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    python = place / "bin" / "python"
    where = run(python, "-c", "import phaseloop; print(phaseloop.__file__)", folder=tmp_path).strip()
    assert Path(where).is_relative_to(site)
    assert Path(where) != Path(phaseloop.__file__)
    assert "run" in run(python, "-m", "phaseloop", "--help", folder=tmp_path)
