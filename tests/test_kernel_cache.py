"""Compiled kernels: every one is warmed, kept, found again, and never stale."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

needs_jit = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the compiler is off")


def python(code: str, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
    environment |= {"XDG_CACHE_HOME": str(cache)} | more
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


#: Prints how many signatures of each kernel have code, for other kernels and for Python, and what those for Python call, directly or not.
COVERED = """
import json
from types import ModuleType
from tiersim.scenarios.warm import compile_all
from tiersim import kernel
compile_all()
counts = {
    name: [len(form._cache._cache_file._load_index()) for form in (one.inner, one.outer)]
    for name, one in kernel.registry.items()
}
names = {id(one): name for name, one in kernel.registry.items()}
called, left = set(), [name for name, (_, outer) in counts.items() if outer]
while left:
    function = kernel.registry[left.pop()].inner.py_func
    known = [function.__globals__.get(name) for name in function.__code__.co_names]
    known += [getattr(one, name, None) for one in known if isinstance(one, ModuleType) for name in function.__code__.co_names]
    new = {names[id(one)] for one in known if isinstance(one, kernel.Kernel)} - called
    called |= new
    left += new
print(json.dumps([counts, sorted(called)]))
"""


@needs_jit
@pytest.mark.long
def test_warm_up_covers_every_kernel_once() -> None:
    done = subprocess.run([sys.executable, "-c", COVERED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts, called = json.loads(done.stdout)
    assert len(counts) > 30
    assert [name for name, (_, outer) in counts.items() if not outer and name not in called] == []
    # entry points of the engine compile to one signature: integer tags, not types, tell devices apart
    assert counts["tiersim.simulator.compiled.loop.advance"] == [0, 1]
    assert max(counts["tiersim.devices.station.choose"]) <= 1


@needs_jit
def test_an_edited_helper_of_another_module_gives_the_new_answer(tmp_path: Path) -> None:
    package = tmp_path / "copy" / "tiersim"
    shutil.copytree(ROOT / "src" / "tiersim", package)
    code = (
        "from tiersim.devices.hdd_kernels import angle_at; from tiersim.devices import outer; print(outer.twice(10**9))"
    )
    (package / "devices" / "outer.py").write_text(
        "from tiersim.devices.hdd_kernels import angle_at\nfrom tiersim.kernel import kernel\n\n"
        "@kernel\ndef twice(now):\n    return 2 * angle_at(now, 4_000_000_000, 7)\n"
    )
    first = python(code, tmp_path / "cache", PYTHONPATH=str(package.parent))
    helper = package / "devices" / "hdd_kernels.py"
    helper.write_text(helper.read_text().replace("+ phase_ps) % revolution_ps", "+ phase_ps) % revolution_ps + 1"))
    second = python(code, tmp_path / "cache", PYTHONPATH=str(package.parent))
    assert int(second.stdout) == int(first.stdout) + 2, first.stderr + second.stderr


@needs_jit
def test_a_copy_elsewhere_finds_the_code_that_its_sources_give(tmp_path: Path) -> None:
    hits = (
        "from tiersim.random_numbers import random_bits; random_bits(1, 2, 3, 4); "
        "print(sum(random_bits.outer.stats.cache_hits.values()))"
    )
    copies = [tmp_path / name / "tiersim" for name in ("one", "two")]
    for copy in copies:
        shutil.copytree(ROOT / "src" / "tiersim", copy)
    (copies[1] / "devices" / "hdd_kernels.py").write_text("# nothing that random numbers come from\n")
    (copies[1] / "random_numbers.py").touch()
    found = [python(hits, tmp_path / "cache", PYTHONPATH=str(copy.parent)).stdout.strip() for copy in copies]
    assert found == ["0", "1"]


@needs_jit
def test_only_the_newest_versions_are_kept(tmp_path: Path) -> None:
    own = tmp_path / "tiersim" / "kernels" / "tiersim.random_numbers"
    for index in range(6):
        (own / f"old{index}").mkdir(parents=True)
        os.utime(own / f"old{index}", (index, index))
    python("import tiersim.random_numbers", tmp_path)
    assert len(list(own.iterdir())) == 3
    assert {"old5", "old4"} < {path.name for path in own.iterdir()}


@needs_jit
def test_two_processes_at_once_and_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    code = "from tiersim.random_numbers import random_bits; print(random_bits(1, 2, 3, 4))"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=environment | {"XDG_CACHE_HOME": str(tmp_path)}, stdout=-1)
        for _ in range(2)
    ]
    answers = {process.communicate()[0] for process in both}
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    answers |= {python(code, blocked).stdout.encode()}
    assert len(answers) == 1
    assert int(answers.pop()) >= 0
