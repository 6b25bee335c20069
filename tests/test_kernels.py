"""Compiled kernels: what they are given and return, both ways of compiling them, and machine code that is kept, found
again, and never stale.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runs import needs_jit
from tiersim.kernel import fetch, kernel, table_set
from tiersim.kernel.machine_code import level_here
from tiersim.kernel.store import folder
from tiersim.kernel.versions import plain_numba

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "tiersim" / "kernel"

ITEM = np.dtype([("count", np.int64), ("next", np.uint32), ("share", np.float64)], align=True)


@table_set
class Inner(NamedTuple):
    rows: NDArray[Any]  # ITEM
    grid: NDArray[np.int32]


@table_set
class Outer(NamedTuple):
    times: NDArray[np.float64]
    inner: Inner
    flags: NDArray[np.bool_]


def outer() -> Outer:
    rows = np.zeros(3, ITEM)
    rows["count"], rows["next"], rows["share"] = [1, 2, 3], [2, 0, 1], [0.5, 0.25, 0.125]
    grid = np.arange(12, dtype=np.int32).reshape(3, 4)
    return Outer(np.array([1.5, 2.5]), Inner(rows, grid), np.array([True, False]))


@kernel
def _walk(rows: Any, place: int, steps: int) -> int:
    total = 0
    for _ in range(steps):
        total += rows[place]["count"]
        place = rows[place]["next"]
    return total


@kernel
def visit(tables: Outer, place: int, factor: float, doubled: bool) -> tuple[int, float, bool]:
    """Use all that a kernel can be given."""
    row = tables.inner.rows[place]
    row["count"] += (
        tables.inner.grid[place, 1] + len(tables.times) + tables.inner.grid.size + tables.inner.grid.shape[1]
    )
    tables.times[0] = row["share"] * factor
    tables.flags[1] = doubled
    return _walk(tables.inner.rows, place, 3), tables.times[-1] * (2 if doubled else 1), tables.flags[0]


@kernel
def last(column: NDArray[np.int64]) -> int:
    """Return the last item: a constant may count from the end."""
    return int(column[-1])


@kernel
def item(column: NDArray[np.int64], place: int) -> int:
    """Return an item."""
    return int(column[place])


@kernel
def fetched_item(column: NDArray[np.int64], place: int) -> int:
    """Return an item after its row and one far behind the end were fetched."""
    fetch(column, place)
    fetch(column, place + 1_000_000)
    return item(column, place)


@kernel(checked=True)
def checked_item(column: NDArray[np.int64], place: int) -> int:
    """Return an item of what may be foreign bytes."""
    return item(column, place)


@kernel
def add_up(grid: NDArray[np.int64]) -> int:
    """Sum two dimensions."""
    total = 0
    for row in range(grid.shape[0]):
        for column in range(grid.shape[1]):
            total += grid[row, column]
    return total


@kernel
def clear(column: NDArray[np.int64]) -> None:
    """Write."""
    column[0] = 0


def test_numbers_arrays_and_sets_of_tables_go_in_and_numbers_come_out() -> None:
    tables = outer()
    found = visit(tables, 1, 2.0, True)
    assert found == (2 + 5 + 2 + 12 + 4 + 1 + 3, 5.0, True)
    assert [type(value) for value in found] == (
        [int, float, bool] if hasattr(visit, "function") else [np.int64, np.float64, np.bool_]
    )
    assert tables.times[0] == 0.5
    assert tables.inner.rows["count"].tolist() == [1, 25, 3]
    assert tables.flags.tolist() == [True, True]
    assert clear(np.ones(1, np.int64)) is None
    narrow = visit(outer(), np.uint8(1), np.float64(2.0), np.bool_(True))  # type: ignore[arg-type]
    assert narrow == found


def test_a_changed_copy_of_a_set_is_another_set() -> None:
    tables = outer()
    assert visit(tables, 0, 1.0, False)[1] == 2.5
    moved = tables._replace(times=np.array([0.0, 7.0]))
    assert visit(moved, 0, 1.0, False)[1] == 7.0
    assert visit(tables, 0, 1.0, False)[1] == 2.5


def test_a_slice_and_a_transposed_array_are_read_where_they_lie() -> None:
    grid = np.arange(24, dtype=np.int64).reshape(4, 6)
    for view in (grid, grid.T, grid[::2, 1::3], grid[:, ::-1]):
        assert add_up(view) == view.sum()


def test_a_row_that_is_fetched_is_what_it_was_and_there_may_be_none() -> None:
    assert fetched_item(np.arange(3), 2) == 2


def test_a_constant_counts_from_the_end() -> None:
    assert last(np.array([3, 4, 5])) == 5


def closing_over(factor: int) -> Any:
    @kernel
    def times(value: int) -> int:
        return factor * value

    return times


def test_what_a_kernel_closes_over_is_a_part_of_it() -> None:
    assert [closing_over(factor)(7) for factor in (3, 4)] == [21, 28]


@needs_jit
def test_a_foreign_index_is_refused() -> None:
    column = np.array([3, 4, 5])
    assert checked_item(column, 2) == 5
    for place in (3, -1, 1 << 40, -(1 << 62)):
        with pytest.raises(IndexError, match="checked_item: an index lies outside its table"):
            checked_item(column, place)


@needs_jit
def test_what_no_kernel_takes_is_named() -> None:
    for wrong in ("text", None, [1, 2]):
        with pytest.raises(
            TypeError, match=f"a kernel cannot take {type(wrong).__name__}; give numbers, arrays, or a NamedTuple"
        ):
            item(np.zeros(1, np.int64), wrong)  # type: ignore[arg-type]


@needs_jit
def test_what_must_not_be_written_is_not_and_what_is_not_aligned_is_refused() -> None:
    column = np.ones(3, np.int64)
    column.flags.writeable = False
    assert last(column) == 1
    with pytest.raises(Exception, match="setitem"):
        clear(column)
    with pytest.raises(TypeError, match="is not aligned; copy it before a kernel takes it"):
        last(np.zeros(17, np.uint8)[1:].view(np.int64))


def python(code: str, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_", "TIERSIM_"))
    }
    environment |= {"XDG_CACHE_HOME": str(cache)} | more
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


#: Prints some bits, and whether a compiler was loaded for them.
BITS = (
    "import sys; from tiersim.random_numbers import random_bits; print(random_bits(1, 2, 3, 4),"
    " not {'tiersim.kernel.translate', 'tiersim.kernel.plain'}.isdisjoint(sys.modules))"
)


def kept(cache: Path, name: str = "tiersim.random_numbers.random_bits") -> list[Path]:
    return [path for path in (cache / "tiersim" / "kernels").glob(f"{name}.*") if path.suffix != ".lock"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has been written to."""
    cache = tmp_path_factory.mktemp("compiled")
    first = python(BITS, cache)
    assert first.stdout.split() == ["1806996011", "True"], first.stderr
    return cache


@needs_jit
def test_code_that_is_there_needs_no_compiler(compiled: Path) -> None:
    second = python(BITS, compiled)
    assert second.stdout.split() == ["1806996011", "False"], second.stderr


@needs_jit
def test_an_edited_helper_of_another_module_gives_the_new_answer(tmp_path: Path) -> None:
    package = tmp_path / "copy" / "tiersim"
    shutil.copytree(ROOT / "src" / "tiersim", package)
    code = (
        "from tiersim.devices.hdd.hdd_geometry import angle_at; from tiersim.devices import outer;"
        " print(outer.twice(10**9))"
    )
    (package / "devices" / "outer.py").write_text(
        "from tiersim.devices.hdd.hdd_geometry import angle_at\nfrom tiersim.kernel import kernel\n\n"
        "@kernel\ndef twice(now):\n    return 2 * angle_at(now, 4_000_000_000, 7)\n"
    )
    first = python(code, tmp_path / "cache", PYTHONPATH=str(package.parent))
    helper = package / "devices" / "hdd" / "hdd_geometry.py"
    helper.write_text(helper.read_text().replace("+ phase_ps) % revolution_ps", "+ phase_ps) % revolution_ps + 1"))
    second = python(code, tmp_path / "cache", PYTHONPATH=str(package.parent))
    assert int(second.stdout) == int(first.stdout) + 2, first.stderr + second.stderr


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize(
    ("edits", "stays"),
    [
        (
            {
                '"""Random numbers without state': '"""Numbers without state',  # documentation
                '    """Return 32 random bits': "    # a comment\n\n    " + '"""Return some bits',
                "ROTATION_PHASE, SERVICE,": "ROTATION_PHASE, SERVICED,",  # no kernel of these reads it
            },
            True,
        ),
        ({"_MASK = 0xFFFF_FFFF": "_MASK = 0x7FFF_FFFF"}, False),  # a constant
        ({"value ^ (value >> 15)": "value ^ (value >> 14)"}, False),  # a helper
    ],
    ids=["nothing that runs", "a constant", "a helper"],
)
def test_what_kernels_reach_says_whether_code_is_stale(
    compiled: Path, tmp_path: Path, edits: dict[str, str], stays: bool
) -> None:
    shutil.copytree(compiled, tmp_path / "cache")
    package = tmp_path / "copy" / "tiersim"
    shutil.copytree(ROOT / "src" / "tiersim", package)
    module = package / "random_numbers.py"
    text = module.read_text()
    for old, new in edits.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    module.write_text(text)
    second = python(BITS, tmp_path / "cache", PYTHONPATH=str(package.parent))
    assert second.stdout.split()[1] == str(not stays), second.stderr
    assert (second.stdout.split()[0] == "1806996011") == stays


@needs_jit
def test_only_what_was_used_last_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "tiersim" / "kernels"
    place.mkdir(parents=True)
    for index in range(12):
        old = place / f"tiersim.random_numbers.random_bits.{index:024d}"
        old.touch()
        os.utime(old, (index, index))
    python(BITS, tmp_path)
    numbers = {path.suffix[1:] for path in kept(tmp_path)}
    assert len(numbers) == 8
    assert {f"{index:024d}" for index in range(5, 12)} < numbers


def _damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _open_to_all(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize("harm", [_damage, _shorten, _open_to_all])
def test_code_that_cannot_be_trusted_is_made_anew(compiled: Path, tmp_path: Path, harm: Any) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(compiled, cache)
    (path,) = kept(cache)
    before = path.read_bytes()
    harm(path)
    again = python(BITS, cache)
    assert again.stdout.split() == ["1806996011", "True"], again.stderr
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o022 == 0


@needs_jit
def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "tiersim" / "kernels"
    place.mkdir(parents=True)
    place.chmod(0o777)
    assert [python(BITS, tmp_path).stdout.split() for _ in range(2)] == [["1806996011", "True"]] * 2
    assert list(place.iterdir()) == []


@pytest.mark.long
@needs_jit
def test_two_processes_at_once_and_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
    both = [
        subprocess.Popen([sys.executable, "-c", BITS], env=environment | {"XDG_CACHE_HOME": str(tmp_path)}, stdout=-1)
        for _ in range(2)
    ]
    # one makes it, the other waits for that
    assert sorted(process.communicate()[0].split()[1] for process in both) in ([b"False", b"True"],)
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert python(BITS, blocked).stdout.split() == ["1806996011", "True"]


#: Runs kernels of each kind and prints what comes of them.
EACH_WAY = """
import hashlib, json, sys
import numpy as np
from tiersim.histogram import FINE_BITS, bins, count_durations
from tiersim.random_numbers import fill_random_bits
from tiersim.simulator.policies import POLICIES, misses, numbered
column = np.zeros(4000, np.int64)
fill_random_bits(column, 1, 2, 3)
histograms, (sums, most) = np.zeros((2, bins(FINE_BITS)), np.int64), np.zeros((2, 2), np.int64)
count_durations(histograms, sums, most, (column % 2).astype(np.uint8), column)
pages, distinct = numbered(column % 97 * (column % 5))
found = [misses(policy, pages, distinct, 23) for policy in POLICIES]
print(json.dumps([hashlib.sha256(histograms.tobytes() + sums.tobytes() + most.tobytes()).hexdigest(), found]))
"""

#: As usual, without wide registers, and as numba compiles by itself.
WAYS: list[dict[str, str]] = [{}, {"TIERSIM_PROCESSOR": "x86-64-v2"}, {"TIERSIM_PLAIN_NUMBA": "1"}]


@needs_jit
@pytest.mark.long
def test_each_way_of_compiling_gives_the_same_results(tmp_path: Path) -> None:
    here, *others = [python(EACH_WAY, tmp_path, **more) for more in WAYS]
    for other in others:
        assert json.loads(here.stdout) == json.loads(other.stdout), here.stderr + other.stderr
    wrong = python(BITS, tmp_path, TIERSIM_PROCESSOR="i386")
    assert "TIERSIM_PROCESSOR is i386; set it to x86-64-v3 or x86-64-v2, or to nothing" in wrong.stderr


needs_own_way = pytest.mark.skipif(plain_numba(), reason="this version of LLVM was not tried, and numba compiles")


@pytest.mark.long
@needs_jit
@needs_own_way
def test_machine_code_is_the_same_whatever_was_compiled_before(tmp_path: Path) -> None:
    calls = ("random_bits(1, 2, 3, 4)", "random_below(5, 1, 2, 3, 4)")
    for name, order in (("one", calls), ("other", calls[::-1])):
        code = f"from tiersim.random_numbers import random_below, random_bits; {'; '.join(order)}"
        assert python(code, tmp_path / name).returncode == 0
    found = [
        {path.name: path.read_bytes() for path in kept(tmp_path / name, "tiersim.random_numbers.random_*")}
        for name in ("one", "other")
    ]
    assert len(found[0]) == 2
    assert found[0] == found[1]


needs_levels = pytest.mark.skipif(
    level_here() is None, reason="code is shipped for x86-64 processors with Linux; this is another machine"
)


@pytest.mark.long
@needs_jit
@needs_own_way
@needs_levels
def test_code_that_came_with_the_package_is_used_while_it_is_right(tmp_path: Path) -> None:
    package, level = tmp_path / "copy" / "tiersim", str(level_here())
    shutil.copytree(ROOT / "src" / "tiersim", package)

    def run(cache: str, **more: str) -> list[str]:
        done = python(BITS, tmp_path / cache, PYTHONPATH=str(package.parent), **more)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run("made", TIERSIM_PROCESSOR=level) == ["1806996011", "True"]
    shutil.copytree(tmp_path / "made" / "tiersim" / "kernels", package / "kernel" / "shipped" / level)
    assert run("empty") == ["1806996011", "False"]
    assert run("checks", NUMBA_BOUNDSCHECK="1") == ["1806996011", "True"]
    module = package / "random_numbers.py"
    text = module.read_text()
    module.write_text(text.replace("value ^ (value >> 15)", "value ^ (value >> 14)"))
    # bytecode is taken for a source of the same second and size: the edited one's must not outlive the edit
    edited, compiled = run("edited", PYTHONDONTWRITEBYTECODE="1")
    assert (edited != "1806996011", compiled) == (True, "True")
    module.write_text(text)
    (file,) = (package / "kernel" / "shipped" / level).glob("*random_bits.?*[!k]")
    _damage(file)
    assert run("damaged") == ["1806996011", "True"]


@needs_jit
def test_a_version_of_llvm_that_was_not_tried_takes_plain_numba_and_says_so_once(tmp_path: Path) -> None:
    code = (
        f"from tiersim.kernel import versions; versions.TESTED['llvmlite'] = ('0.1.0',); {BITS}; from"
        " tiersim.random_numbers import random_below; random_below(5, 1, 2, 3, 4); print(versions.plain_numba())"
    )
    done = python(code, tmp_path)
    assert done.stdout.split() == ["1806996011", "True", "True"]
    assert done.stderr.count("was not tried (0.1.0 were): kernels compile for minutes; install llvmlite==0.1.0") == 1


#: What of numba and llvmlite is used beyond what they document for users and extensions.
PRIVATE = {
    "numba.core.typing.templates.AttributeTemplate",
    "numba.core.typing.templates.infer_getattr",
    "numba.core.typing.templates.signature",
    # of its objects
    ".args",
    ".call_conv",
    ".fndesc",
    ".get_call_template",
    ".llvm_func_name",
    ".maxval",
    ".overloads",
    ".return_user_exc",
    ".signature",
}


def test_the_private_names_of_the_compiler_are_these() -> None:
    """Names that are imported, and attributes of numba's objects: another version may change them."""
    used = set()
    for path in SOURCES.glob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("numba.", "llvmlite.")):
                used |= {
                    f"{node.module}.{one.name}"
                    for one in node.names
                    if ".core" in str(node.module) or one.name.startswith("_")
                }
            if isinstance(node, ast.Attribute) and path.stem in ("types", "plain", "machine_code"):
                used.add(f".{node.attr}")
    listed = {name for name in PRIVATE if name.startswith(".")}
    assert {name for name in used if not name.startswith(".")} == PRIVATE - listed
    assert listed <= used


#: Prints for which kernels code is asked for, from Python, how many of each, and which have none, neither their own nor
#: within another.
COVERED = """
import json
from tiersim import kernel
from tiersim.kernel import store
from tiersim.kernel.reach import reached
from tiersim.scenarios import warm
asked, find = {}, store.find
def noted(name, key):
    asked.setdefault(name, set()).add(key)
    return find(name, key)
store.find, warm.processors = noted, lambda: 1  # no second process takes a part of it
warm.compile_all()
within = {one for name in asked if name in kernel.registry for one in reached(kernel.registry[name])}
left_out = [name for name, one in kernel.registry.items() if one not in within]
print(json.dumps([{name: len(keys) for name, keys in asked.items()}, left_out]))
"""


@needs_jit
@pytest.mark.long
def test_warm_up_covers_every_kernel_once(tmp_path: Path) -> None:
    """Kernels that lie in the cache count, too: the test notes which ones warm-up asks for."""
    place = folder()
    done = python(COVERED, tmp_path if place is None else place.parents[1])
    assert done.returncode == 0, done.stderr
    counts, left_out = json.loads(done.stdout.splitlines()[-1])
    assert len(counts) > 30
    assert left_out == []
    # the loop and the functions of stations compile to one signature: integer tags, not types, tell devices apart
    assert counts["tiersim.simulator.compiled.engine.advance"] == 1
    assert {count for name, count in counts.items() if ".station." in name} == {1}
