"""The cheapest arrays for several recordings: against all placements, each simulated; what does not fit is said."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from benchmarks.packing import ARRAYS as ALL_ARRAYS
from benchmarks.packing import write_databases
from tests.runs import needs_jit
from tests.test_replay import write_trace
from tiersim import parallel
from tiersim.cli.main import app
from tiersim.cli.pack import _show, _why
from tiersim.errors import ScenarioError
from tiersim.scenarios.packing.boxes import Box
from tiersim.scenarios.packing.pack import PackingOptions, _cost, _Trial, _usable, pack_tenants, without_a_drive
from tiersim.scenarios.replay import play
from tiersim.scenarios.sizing.candidates import combinations, read_candidates
from tiersim.scenarios.sizing.judging import judge_run
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.tenants.demands import worked_ns
from tiersim.scenarios.tenants.model import read_tenants
from tiersim.scenarios.tenants.shared_runs import Recordings, Tenant, parts_on
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_files, sort_files
from tiersim.traces.samples import start

pytestmark = needs_jit

ARRAYS = """
price_date = "2026-11"
[prices.seagate-cheetah-15k7-300]
price = 120
[prices.micron-s650dc-800]
price = 900
[[candidates]]
device = "seagate-cheetah-15k7-300"
count = [2, 4, 8]
layout = "raid10"
[[candidates]]
device = "micron-s650dc-800"
count = 2
layout = "raid1"
"""
TWO = """
[tenants.shop]
recording = "shop.trace"
targets = ["p99(data read) < 12 ms"]
[tenants.bill]
recording = "bill.trace"
targets = ["p99(data read) < 25 ms"]
"""
FOUR = f"""{TWO}[tenants.third]
recording = "shop.trace"
[tenants.fourth]
recording = "bill.trace"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("pack")
    for name, count, per_s in (("shop", 1500, 300.0), ("bill", 3000, 600.0)):
        (top / name).mkdir()
        write_trace(top / name, count, per_s).rename(top / f"{name}.trace")
    (top / "arrays.toml").write_text(ARRAYS)
    return top


@pytest.fixture
def recordings(folder: Path) -> Iterator[Any]:
    with TemporaryDirectory() as work:

        def read(text: str) -> Recordings:
            path = folder / "databases.toml"
            path.write_text(text)
            model = read_tenants(path)
            bundles = {name: Bundle(folder / one.recording) for name, one in model.tenants.items()}
            return Recordings(path, model, bundles, Path(work))

        yield read


def candidates(folder: Path, text: str = ARRAYS) -> Sequence[Any]:
    (folder / "own.toml").write_text(text)
    model = read_candidates(folder / "own.toml")
    return combinations(model, "seagate-cheetah-15k7-300", ["replay.mode=open"], folder)


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(rest, size):
            left = [item for item in rest if item not in chosen]
            for others in partitions(left):
                yield [[first, *chosen], *others]


@pytest.mark.long
def test_the_answer_is_the_cheapest_of_all_placements_that_hold_when_each_is_simulated(
    folder: Path, recordings: Any
) -> None:
    asked = PackingOptions(recordings(FOUR), [], 0.0, False)
    found = candidates(folder)
    document = pack_tenants(asked, found)
    kinds, _ = _usable(found, asked)
    trial = _Trial(asked, kinds)
    cost: dict[tuple[int, ...], float] = {}
    for size in range(1, 5):
        for items in itertools.combinations(range(4), size):
            tried = trial.together([Box(kind, items) for kind in range(len(kinds))])
            holding = [_cost(kind) for kind, one in zip(kinds, tried, strict=True) if one.why is None]
            cost[items] = min(holding, default=np.inf)
    best = min(sum(cost[tuple(part)] for part in parts) for parts in partitions(range(4)))
    assert document["fits"]
    assert document["at_least"] <= document["cost"] == best
    assert sorted(name for one in document["arrays"] for name in one["tenants"]) == ["bill", "fourth", "shop", "third"]
    assert len(document["arrays"]) > 1


@pytest.mark.long
def test_each_array_of_an_answer_holds_its_tenants_when_it_is_simulated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Databases of the benchmark, on arrays that hold few of them; whatever the workers."""
    path = write_databases(tmp_path, seed=3, count=24, span_s=20, tightness=1)
    model = read_tenants(path)
    bundles = {name: Bundle(tmp_path / one.recording) for name, one in model.tenants.items()}
    asked = PackingOptions(Recordings(path, model, bundles, tmp_path), [], 0.0, False)
    small = ALL_ARRAYS.replace("[16, 32, 64]", "[4, 8, 16]").replace("[8, 16, 24]", "[2, 4, 8]")
    arrays = candidates(tmp_path, small.replace("price = 3000", "price = 300"))
    document = pack_tenants(asked, arrays)
    assert document["fits"]
    assert document["at_least"] <= document["cost"]
    assert len(document["refused"]) > 0
    assert sorted(name for one in document["arrays"] for name in one["tenants"]) == sorted(model.tenants)
    scenarios = {one.name: one.scenario for one in arrays}
    for one in document["arrays"]:
        scenario = scenarios[one["candidate"]]
        tenants = [tenant for tenant in asked.recordings.on(scenario) if tenant.name in one["tenants"]]
        played = play(parts_on(asked.recordings, tenants, scenario))
        for place, tenant in enumerate(tenants):
            summary = played.result(place, tenant.name).summary
            judged = [judge_run(target, summary, "requests", None) for target in asked.targets_of(tenant.name)]
            assert all(each.met for each in judged)
            assert [each["used"] for each in one["targets"][tenant.name]] == [each.high for each in judged]
            assert not set(model.tenants[tenant.name].apart) & set(one["tenants"])
    monkeypatch.setattr(parallel, "processors", lambda: 1)
    assert pack_tenants(asked, arrays) == document


def test_tenants_that_are_apart_do_not_share_an_array(folder: Path, recordings: Any) -> None:
    flash = ARRAYS.replace("price = 900", "price = 1")
    together = pack_tenants(PackingOptions(recordings(FOUR), [], 0.0, False), candidates(folder, flash))
    assert len(together["arrays"]) == 1
    text = FOUR.replace("[tenants.bill]", 'apart = ["third"]\n[tenants.bill]')
    apart = pack_tenants(PackingOptions(recordings(text), [], 0.0, False), candidates(folder, flash))
    assert len(apart["arrays"]) == 2
    assert not any({"shop", "third"} <= set(one["tenants"]) for one in apart["arrays"])


def test_cores_memory_and_size_are_counted(folder: Path, recordings: Any) -> None:
    flash = ARRAYS.replace("price = 900", "price = 1")
    flash = flash.replace("layout =", 'set = { "host.cores" = [8] }\nlayout =')
    for key in ("cores = 3", 'size = "300 GB"'):
        text = FOUR.replace("recording =", f"{key}\nrecording =")
        document = pack_tenants(PackingOptions(recordings(text), [], 0.0, False), candidates(folder, flash))
        assert len(document["arrays"]) == 2, key


def test_cores_are_those_of_the_processors_and_have_to_be_known(folder: Path, recordings: Any) -> None:
    flash = ARRAYS.replace("price = 900", "price = 1")
    text = FOUR.replace("recording =", "cores = 3\nrecording =")
    for count, arrays in ((1, 4), (2, 2)):  # of four cores each
        cpu = f'set = {{ "host.cpu" = ["xeon-x5570"], "host.count" = [{count}] }}\nlayout ='
        asked = PackingOptions(recordings(text), [], 0.0, False)
        document = pack_tenants(asked, candidates(folder, flash.replace("layout =", cpu)))
        assert len(document["arrays"]) == arrays
    for key, line in (("cores", "cores = 3"), ("memory", 'memory = "1 GiB"')):
        asked = PackingOptions(recordings(FOUR.replace("[tenants.bill]", f"{line}\n[tenants.bill]")), [], 0.0, False)
        with pytest.raises(ScenarioError, match=rf"tenants.shop.{key}: .* does not say what {key} its host has"):
            pack_tenants(asked, candidates(folder))


def test_targets_are_judged_at_the_load_that_they_are_of(folder: Path, recordings: Any) -> None:
    """A multiple, a rate, growth in whole sessions: what runs is no less."""
    [flash] = [one for one in candidates(folder) if "micron" in one.name]
    text = TWO.replace("[tenants.bill]", "replay = { clients = 5 }\n[tenants.bill]")
    for targets, growth, least in (
        (["throughput >= 2x"], 0.0, 2.0), ([], 0.25, 1.25), (["throughput >= 1.1x"], 0.5, 1.5),
        (["throughput >= 420/s"], 0.0, 1.4),
    ):  # fmt: skip
        asked = PackingOptions(recordings(text), [parse_target(one) for one in targets], growth, False)
        trial = _Trial(asked, [flash])
        played = play(parts_on(asked.recordings, trial.tenants, flash.scenario))
        assert played.result(0, "shop").summary["replay"]["load_reached"] >= 0.995 * least
    found = pack_tenants(PackingOptions(recordings(TWO), [parse_target("throughput >= 3x")], 0.0, False), [flash])
    assert found["loads"] == {"shop": 3.0, "bill": 3.0}


def test_a_column_of_a_striped_volume_serves_the_same_of_a_tenant_wherever_it_lies(tmp_path: Path) -> None:
    """Reads at multiples of two stripe units keep half of the columns busy, alone and behind another tenant."""
    path = write_databases(tmp_path, seed=3, count=2, span_s=20, tightness=0.5)
    model = read_tenants(path)
    bundles = {name: Bundle(tmp_path / one.recording) for name, one in model.tenants.items()}
    recordings = Recordings(path, model, bundles, tmp_path)
    [scenario] = [one.scenario for one in candidates(tmp_path) if one.name.startswith("8 ×")]
    first, second = recordings.on(scenario)

    def columns(*tenants: Tenant) -> NDArray[np.float64]:
        worked = worked_ns(play(parts_on(recordings, tenants, scenario)))
        return np.array([own[-1] for place, own in worked.items() if place.startswith("disk arm")])

    alone = columns(first), columns(second)
    assert all(own.shape == (4,) and own[[1, 3]].max() < 0.5 * own[[0, 2]].min() for own in alone)
    for both in (columns(first, second), columns(second, first)):
        assert both == pytest.approx(sum(alone), rel=0.2)
    moved = replace(first, model=first.model.model_copy(update={"offset": 64 << 10}))
    beside = columns(moved, second)
    assert beside == pytest.approx(columns(moved) + alone[1], rel=0.2)
    assert beside[[1, 3]].min() > alone[0][[0, 2]].min()


def test_what_a_limit_on_one_tenant_takes_is_taken_of_nobody_else(folder: Path, recordings: Any) -> None:
    [flash] = [one for one in candidates(folder) if "micron" in one.name]
    text = TWO.replace("[tenants.bill]", "limit = { iops = 10000 }\n[tenants.bill]")
    free, limited = (
        pack_tenants(PackingOptions(recordings(one), [], 0.0, False), [flash])["arrays"][0] for one in (TWO, text)
    )
    assert limited["filled"]["busiest part"] == pytest.approx(free["filled"]["busiest part"], rel=0.02)


def test_a_target_beside_who_is_seldom_there_is_met_in_doubt(folder: Path, recordings: Any) -> None:
    """Both recordings are of 5 s: the second that they have in common says little of what they do to each other."""
    [flash] = [one for one in candidates(folder) if "micron" in one.name]
    doubts = {}
    for shift in ("0 s", "4 s"):
        asked = PackingOptions(recordings(f'{TWO}shift = "{shift}"\n'), [], 0.0, False)
        [array] = pack_tenants(asked, [flash])["arrays"]
        doubts[shift] = [one for one in array["doubts"] if one["why"].endswith("% of its time only")]
    assert doubts["0 s"] == []
    assert [(one["tenants"], one["why"].partition(" for ")[0]) for one in doubts["4 s"]] == [
        (["shop"], "bill is there"), (["bill"], "shop is there")
    ]  # fmt: skip


def test_what_is_known_to_be_wrong_of_an_array_is_said(
    folder: Path, recordings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Databases of some GB lie at the outer edge of its disks: what each asks for is found by short seeks."""
    text = '[tenants.shop]\nrecording = "shop.trace"\n[tenants.bill]\nrecording = "bill.trace"\n'
    disks = [one for one in candidates(folder) if "8 × seagate" in one.name]
    document = pack_tenants(PackingOptions(recordings(text), [], 0.0, False), disks)
    [array] = document["arrays"]
    [caveat] = [one for one in array["caveats"] if "disk arms move little" in one]
    _show(document, "databases")
    assert f"{caveat[0].upper()}{caveat[1:]}." in capsys.readouterr().out


def test_what_does_not_fit_is_said_with_the_reason_for_each_candidate(folder: Path, recordings: Any) -> None:
    asked = PackingOptions(recordings(FOUR), [parse_target("p99(data read) < 1 us")], 0.0, False)
    document = pack_tenants(asked, candidates(folder))
    assert not document["fits"]
    assert document["arrays"] == []
    assert {one["tenant"] for one in document["does_not_fit"]} == {"shop", "bill", "third", "fourth"}
    assert all("not below 1 µs" in why for one in document["does_not_fit"] for why in one["why"].values())


def test_an_array_that_saturates_has_no_mean_to_judge(folder: Path, recordings: Any) -> None:
    """Disks that five times the load saturates are refused for that, and SSDs taken."""
    asked = PackingOptions(recordings(TWO), [parse_target("mean(data read) < 1 s")], 4.0, False)
    document = pack_tenants(asked, candidates(folder))
    assert document["fits"]
    assert all("micron-s650dc-800" in one["candidate"] for one in document["arrays"])


def test_room_grows_as_the_data_do(folder: Path, recordings: Any) -> None:
    """Without a size the data are what lies between the first address and the last, as ``tiersim size`` takes them."""
    [flash] = [one for one in candidates(folder) if "micron" in one.name]
    large = TWO.replace("[tenants.bill]", 'size = "100 GB"\n[tenants.bill]')
    plain, grown = (
        pack_tenants(PackingOptions(recordings(large), [], growth, False), [flash])["arrays"][0]["filled"]["room"]
        for growth in (0.0, 0.5)
    )
    assert plain["shop"] == pytest.approx(100 / 800, rel=0.01)
    assert grown == pytest.approx({name: 1.5 * share for name, share in plain.items()})


@pytest.mark.long
def test_growth_and_a_failed_drive_cost_more_or_the_same(folder: Path, recordings: Any) -> None:
    plain = pack_tenants(PackingOptions(recordings(TWO), [], 0.0, False), candidates(folder))
    spare = pack_tenants(PackingOptions(recordings(TWO), [], 0.5, True), candidates(folder))
    assert spare["cost"] > plain["cost"]
    texts = [target["text"] for one in spare["arrays"] for own in one["targets"].values() for target in own]
    assert any(text.endswith("with a failed drive") for text in texts)
    assert "a failed drive is not rebuilt meanwhile" in spare["assumed"]
    assert "rebuilt" not in plain["assumed"]


def test_an_array_without_a_drive_has_it_failed(folder: Path) -> None:
    for one in candidates(folder):
        lesser = without_a_drive(one.scenario)
        assert [volume.failed for volume in lesser.volumes.values()] == [(0,)]
        assert [volume.failed for volume in one.scenario.volumes.values()] == [()]


def test_candidates_that_lose_data_are_left_out(folder: Path, recordings: Any) -> None:
    text = ARRAYS.replace('count = 2\nlayout = "raid1"', "count = 1")
    document = pack_tenants(PackingOptions(recordings(TWO), [], 0.0, True), candidates(folder, text))
    assert document["left_out"] == [{"name": "1 × micron-s650dc-800", "why": "a drive that fails takes data with it"}]
    text = text.replace('count = [2, 4, 8]\nlayout = "raid10"', "count = 1")
    with pytest.raises(ScenarioError, match=r"no candidate can be used: .* takes data with it"):
        pack_tenants(PackingOptions(recordings(TWO), [], 0.0, True), candidates(folder, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FOUR + 'apart = ["shp"]\n', "'shp' is not one of the other tenants; did you mean 'shop'"),
        (FOUR + 'targets = ["endurance >= 5 years"]\n', "'endurance >= 5 years': is of hardware"),
        (FOUR + 'targets = ["p99(query) < 1 ms"]\n', "fourth has requests and no query; write for example"),
        (FOUR + 'targets = ["p99(data reed) < 1 ms"]\n', "'data reed' has no latency; did you mean 'data read'"),
    ],
)
def test_a_mistake_is_named(folder: Path, recordings: Any, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        pack_tenants(PackingOptions(recordings(text), [], 0.0, False), candidates(folder))


def test_recordings_of_statements_are_refused_before_anything_runs(folder: Path, recordings: Any) -> None:
    import_files(sort_files([start(folder) / "select"]), folder / "counted.trace", force=True)
    text = FOUR + '[tenants.counted]\nrecording = "counted.trace"\n'
    for one_array, command in ((False, "pack"), (True, "size")):
        said = rf"tenants.counted.recording: has statements and no block requests, and tiersim {command}"
        with pytest.raises(ScenarioError, match=said):
            pack_tenants(PackingOptions(recordings(text), [], 0.0, False, one_array=one_array), candidates(folder))


def test_one_more_is_no_plural() -> None:
    found = [_why({"not_alone": dict.fromkeys(names, "is full")}) for names in ("ab", "abc")]
    assert found == ["a, alone: is full; and 1 more tenant", "a, alone: is full; and 2 more tenants"]


@pytest.mark.long
def test_the_command_prints_and_writes_the_answer(folder: Path) -> None:
    (folder / "databases.toml").write_text(TWO)
    arguments = ["pack", str(folder / "databases.toml"), "--candidates", str(folder / "arrays.toml")]
    arguments += ["--set", "replay.mode=open"]
    shown = CliRunner().invoke(app, [*arguments, "-o", str(folder / "answer.json")])
    assert shown.exit_code == 0, shown.output
    document = json.loads((folder / "answer.json").read_text())
    assert document["schema"] == "tiersim.pack/1"
    assert f"{document['cost']:,.0f} USD" in shown.output
    printed = CliRunner().invoke(app, [*arguments, "--json"])
    assert json.loads(printed.stdout) == document
    refused = CliRunner().invoke(
        app, ["pack", str(folder / "arrays.toml"), "--candidates", str(folder / "arrays.toml")]
    )
    assert "has no [tenants.NAME]" in str(refused.exception)


def test_size_finds_the_cheapest_array_that_holds_all(folder: Path, recordings: Any) -> None:
    document = pack_tenants(PackingOptions(recordings(TWO), [], 0.0, False, one_array=True), candidates(folder))
    (one,) = document["arrays"]
    assert (one["candidate"], one["tenants"]) == ("2 × micron-s650dc-800 raid1", ["shop", "bill"])
    assert [doubt["tenants"] for doubt in one["doubts"]] == [["shop", "bill"]]
    assert "the error of p99 is unknown" in one["doubts"][0]["why"]
    cheaper = {each["candidate"]: each["why"] for each in document["refused"]}
    assert len(cheaper) == 3
    assert cheaper["2 × seagate-cheetah-15k7-300 raid10"].startswith("shop, alone: p99(data read) is")
    large = TWO.replace("[tenants.bill]", 'size = "3 TiB"\n[tenants.bill]')
    document = pack_tenants(PackingOptions(recordings(large), [], 0.0, False, one_array=True), candidates(folder))
    assert not document["fits"]
    assert all("of its room" in each["why"] or "alone" in each["why"] for each in document["refused"])
    asked = PackingOptions(recordings(f'{TWO}apart = ["shop"]\n'), [], 0.0, False, one_array=True)
    with pytest.raises(ScenarioError, match=r"tenants.bill.apart: all are to share one array"):
        pack_tenants(asked, candidates(folder))


@pytest.mark.long
def test_size_takes_a_file_of_tenants(folder: Path) -> None:
    (folder / "databases.toml").write_text(TWO)
    arguments = ["size", str(folder / "databases.toml"), "--candidates", str(folder / "arrays.toml")]
    arguments += ["--set", "replay.mode=open", "--slo", "throughput >= 1x"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "databases: all on 2 × micron-s650dc-800 raid1, 1,800 USD" in " ".join(shown.output.split())
    refused = CliRunner().invoke(app, [*arguments, "--exhaustive"])
    assert "--exhaustive and --runners-up say nothing" in str(refused.exception)
    none = CliRunner().invoke(app, [*arguments[:-1], "p99(data read) < 1 us"])
    assert "no candidate carries all tenants" in " ".join(none.output.split())
    document = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert document["schema"] == "tiersim.pack/1"


def test_a_disk_with_a_queue_does_some_two_times_as_much(folder: Path) -> None:
    """The factor by which pack lets disks be asked for more than one by one."""
    from tiersim.devices.catalogue import load_device
    from tiersim.devices.plant import PlantBuilder
    from tiersim.scenarios.closed_loop import Loop, at_random, run_closed
    from tiersim.scenarios.tenants.demands import GAIN_OF_DISKS

    rates = []
    for depth in (1, 32):
        builder = PlantBuilder(1)
        station = load_device("seagate-cheetah-15k7-300").add_to(builder, "disk")
        offsets = at_random(4000, 0, 8192, 200 * 10**9, 1)
        streams = run_closed(builder, [Loop(offsets, 0, station, 8192, depth)])
        rates.append(len(offsets) * 1e9 / int(streams.done_ns.max()))
    assert 0.75 * GAIN_OF_DISKS < rates[1] / rates[0] < 1.5 * GAIN_OF_DISKS
