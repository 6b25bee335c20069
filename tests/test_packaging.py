"""The wheel holds every source file under the one name ``tiersim``; the links lead to the parts."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatch_build import unlinked

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("simulator", "traces", "devices", "scenarios", "cli")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.packaging
def test_wheel_holds_exactly_the_tree(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ground = ROOT / "src/tiersim"
    foundation = {path.name for path in ground.iterdir() if path.is_file()}
    foundation |= {f"kernel/{path.name}" for path in (ground / "kernel").glob("*.py")}
    tree = {f"tiersim/{name}" for name in foundation} | {
        f"tiersim/{path.relative_to(ROOT).as_posix()}"
        for part in PARTS
        for path in (ROOT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == tree


@pytest.mark.long
@pytest.mark.packaging
def test_wheel_with_machine_code_is_for_one_python_on_one_kind_of_processor(tmp_path: Path) -> None:
    made = tmp_path / "made" / "x86-64-v2" / "tiersim" / "kernels"
    made.mkdir(parents=True)
    for name in ("one.key", "one.lock"):
        (made / name).write_text("code")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    environment = os.environ | {"TIERSIM_MACHINE_CODE": str(tmp_path / "made")}
    wheels: list[Path] = []
    for folder in ("first", "second"):
        subprocess.run([*command, str(tmp_path / folder), str(ROOT)], check=True, capture_output=True, env=environment)
        wheels += (tmp_path / folder).glob("*.whl")
    assert {wheel.name.split("-", 2)[2] for wheel in wheels} == {
        f"cp{sys.version_info.major}{sys.version_info.minor}-none-manylinux_2_17_x86_64.whl"
    }
    shipped = [name for name in zipfile.ZipFile(wheels[0]).namelist() if "/shipped/" in name]
    assert shipped == ["tiersim/kernel/shipped/x86-64-v2/one.key"]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


@pytest.mark.packaging
@pytest.mark.long
def test_installed_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(target), str(wheel)], check=True, capture_output=True)
    code = "import tiersim, tiersim.devices.catalogue as c; print(tiersim.__file__); c.load_device('aws-gp3')"
    environment = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(target / "tiersim" / "__init__.py")
    assert {path.name for path in target.iterdir() if not path.name.endswith(".dist-info")} <= {"tiersim", "bin"}


def test_links_lead_to_the_parts() -> None:
    for part in PARTS:
        assert (ROOT / "src" / "tiersim" / part).resolve() == ROOT / part


def test_parts_that_are_files_in_place_of_links_are_named(tmp_path: Path) -> None:
    """As git leaves them on a system without symbolic links."""
    (tmp_path / "cli").write_text("../../cli")
    for name in ("errors.py", "py.typed"):
        (tmp_path / name).touch()
    (tmp_path / "kernel").mkdir()
    assert unlinked(tmp_path) == ["cli"]
    assert unlinked(ROOT / "src" / "tiersim") == []
