"""What of a closed loop's time was a wait for the storage that was recorded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import QUERIES, TEXTS, TRANSACTIONS, counted_database, law
from tests.test_statements import run, scenario
from tiersim.cli import verdicts
from tiersim.cli.page.payload import page_payload
from tiersim.cli.statements import notes_of
from tiersim.scenarios.calibration.cpu_and_waits import LOG_NS, READ_NS, most_client_ns
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.statements.assembly import assemble
from tiersim.scenarios.statements.loads import load_of, read_load
from tiersim.scenarios.statements.programs import Program
from tiersim.scenarios.statements.ranges import WIDE, with_waits
from tiersim.scenarios.statements.recorded_waits import RecordedWaits, between_ns, waits_of
from tiersim.scenarios.statements.replay import replay_statements, replay_statements_all
from tiersim.scenarios.statements.schedule import transactions_of
from tiersim.scenarios.statements.statement_load import LEAST_WAITS, LIKELY_WAITS, MOST_WAITS, StatementLoad
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.popularity import Hot, same_row_chance, zipf
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import read_counters
from tiersim.units import NS_PER_S

#: A write and a flush of its log, and what a client takes at most and by assumption for a statement so short.
SYNC_NS, MOST_NS, ASSUMED_NS = 1_500_000, 100_000, 100_000


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> StatementLoad:
    counted: dict[tuple[str, str], dict[str, int | str]] = {
        ("database", "one"): {"active_ms": 60, "idle_in_transaction_ms": 200}
    }
    path = counted_database(tmp_path_factory.mktemp("counted") / "made-up.trace", more=counted)
    return read_load(read_counters(path), synthesised(path, 1), law())


def active(load: StatementLoad, outside_ns: float, log_busy: float = 1.0) -> StatementLoad:
    """The same load whose sessions were active for so long while they executed nothing."""
    return replace(load, active=(int(load.duration_ns.sum()) + outside_ns) / load.span_ns, log_busy=log_busy)


def waits(load: StatementLoad, at: str = LIKELY_WAITS) -> RecordedWaits:
    found = transactions_of(load)
    durable = np.array([one.durable for one in load.asked])
    return waits_of(replace(load, waits=at), found, np.logical_or.reduceat(durable[load.query], found.first_row))


def program(load: StatementLoad, folder: Path) -> Program:
    return assemble(load, scenario(folder, "replay.cache_state=cold")).program


def test_sessions_that_were_active_longer_than_clients_take_waited_for_commits(load: StatementLoad) -> None:
    outside_ns = 1_000_000_000
    found = waits(active(load, outside_ns))
    assert found.told
    assert found.commit_ns == pytest.approx((outside_ns - len(load) * ASSUMED_NS) / TRANSACTIONS, rel=0.01)
    least, most = (waits(active(load, outside_ns), at).commit_ns for at in (LEAST_WAITS, MOST_WAITS))
    assert least <= found.commit_ns <= most == pytest.approx(outside_ns / TRANSACTIONS)


def test_what_clients_may_take_is_no_wait(load: StatementLoad, tmp_path: Path) -> None:
    """Then the run is the same as if nobody had counted how long sessions were active."""
    found = active(load, TRANSACTIONS * SYNC_NS + len(load) * MOST_NS * 0.9)
    assert not waits(found).told
    assert waits(found).commit_ns == SYNC_NS
    same = [program(one, tmp_path).statements for one in (found, replace(found, active=None))]
    assert np.array_equal(same[0].think_ns, same[1].think_ns)
    assert np.array_equal(same[0].cpu_ns, same[1].cpu_ns)


@pytest.mark.parametrize("outside_ns", [-NS_PER_S, -27_000_000, 0, 0.9 * TRANSACTIONS * SYNC_NS])
def test_sessions_that_were_active_for_less_than_they_must_were_not_counted(
    load: StatementLoad, tmp_path: Path, outside_ns: float
) -> None:
    """They execute, and commits wait for a write and a flush at least: less is no evidence that nobody waited."""
    found = active(load, outside_ns)
    assert waits(found).unseen_ns == waits(replace(found, active=None)).unseen_ns > 0
    assert run(found, tmp_path).summary["verdict"]["error"] == "waits"


def test_sessions_that_took_statistics_are_no_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their statements are in no execution, so that they would be waits for commits."""
    monkeypatch.setitem(QUERIES, "own", {"calls": 2, "exec_ms": 40})
    monkeypatch.setitem(TEXTS, "own", "SELECT * FROM pg_stat_statements")
    counted: dict[tuple[str, str], dict[str, int | str]] = {
        ("database", "one"): {"active_ms": 300, "idle_in_transaction_ms": 200}
    }
    path = counted_database(tmp_path / "made-up.trace", more=counted)
    found = read_load(read_counters(path), synthesised(path, 1), law())
    assert found.active == pytest.approx((300 - 40) / 1000 * NS_PER_S / found.span_ns)
    assert found.in_transaction_ns == pytest.approx((300 - 40 + 200) * 1e6 / found.transactions)


def test_where_no_load_generator_measured_transactions_the_server_tells_their_mean(
    load: StatementLoad, tmp_path: Path
) -> None:
    result = run(load, tmp_path)
    mean_ns = (60 + 200) * 1e6 / load.transactions
    assert "transaction" not in result.summary["recorded_mean_ns"]
    assert result.summary["in_transaction_ns"] == pytest.approx(mean_ns)
    assert any(note.startswith("The recorded mean of transactions: how long") for note in notes_of([result.summary]))
    (trace,) = page_payload([result], "made up")["traces"]
    assert trace["measured_latency_ns"]["transaction"]["mean"] == pytest.approx(mean_ns)


def test_nobody_waits_for_the_log_while_it_is_idle(load: StatementLoad) -> None:
    share = 0.1
    found = waits(active(load, 1_000_000_000, log_busy=share))
    time_ns = int(load.duration_ns.sum()) + between_ns(load, transactions_of(load))
    assert found.commit_ns == pytest.approx(share * time_ns / TRANSACTIONS)


def test_a_run_has_the_waits_of_its_own_storage_alone(load: StatementLoad, tmp_path: Path) -> None:
    """They are in the pauses behind transactions; those within them were counted."""
    waited = active(load, 1_000_000_000)
    paused, plain = (program(one, tmp_path).statements for one in (waited, replace(load, commit_wait_ns=0.0)))
    saved_ns = int(plain.think_ns.sum() - paused.think_ns.sum())
    assert saved_ns == pytest.approx(TRANSACTIONS * waits(waited).commit_ns, rel=0.05)
    inside = (plain.begins == 0) & (plain.think_ns > 0)
    assert inside.any()
    assert paused.think_ns[inside] == pytest.approx(plain.think_ns[inside], rel=0.001)  # less what messages take


def test_who_waits_for_its_commit_holds_its_rows(load: StatementLoad) -> None:
    """By hand: 60 updates a second, each of one row, which it holds to the end of its transaction."""
    waited = active(load, 1_000_000_000)
    found, transactions = waits(waited), transactions_of(load)
    update = next(code for code, asked in enumerate(load.asked) if asked.locks)
    held_ns = []
    for first, rows, start_ns, length_ns in zip(
        transactions.first_row, transactions.rows, transactions.start_ns, transactions.length_ns, strict=True
    ):
        held_ns += [
            start_ns + length_ns - load.start_ns[row] - load.duration_ns[row]
            for row in range(first, first + rows)
            if load.query[row] == update
        ]
    held = sum(held_ns) / len(held_ns) + found.commit_ns
    looked_up = sum(load.asked[update].lookups) + sum(load.asked[update].again)
    weights = [1 / rank for rank in range(1, load.fitted.tables[0].rows + 1)]
    same = sum(one**2 for one in weights) / sum(weights) ** 2
    others = 1 - 1 / len(set(load.session.tolist()))  # of the sessions: nobody waits for itself
    a_second = others * len(held_ns) / (load.span_ns / NS_PER_S)
    wanted_ns = looked_up * same * looked_up * a_second * held**2 / 2 / NS_PER_S
    assert found.locked_ns[update] == pytest.approx(wanted_ns, rel=0.01)
    assert not np.delete(found.locked_ns, update).any()


def test_a_client_by_itself_waits_for_no_row(load: StatementLoad) -> None:
    alone = active(replace(load, session=np.zeros_like(load.session)), 1_000_000_000)
    found = waits(alone)
    assert found.commit_ns > SYNC_NS
    assert not found.locked_ns.any()
    assert (found.cpu_share == 1).all()


def test_a_row_is_held_for_all_of_the_time_at_most(load: StatementLoad) -> None:
    """One row that all change: who wants it waits for half of what it is held, however many want it."""
    one = replace(load, fitted=law(50.0))
    found = waits(active(one, 3_000_000_000))
    update = next(code for code, asked in enumerate(load.asked) if asked.locks)
    ended_ns = {
        number: int((load.start_ns + load.duration_ns)[load.transaction == number].max())
        for number in load.transaction[load.query == update].tolist()
    }
    rows = np.flatnonzero(load.query == update)
    held_ns = [ended_ns[load.transaction[row]] - load.start_ns[row] - load.duration_ns[row] for row in rows]
    held = float(np.mean(held_ns)) + found.commit_ns
    looked_up = sum(load.asked[update].lookups) + sum(load.asked[update].again)
    assert TRANSACTIONS * held / load.span_ns > 2
    assert found.locked_ns[update] == pytest.approx(looked_up * held / 2, rel=0.01)


def test_waits_for_rows_are_no_cpu_but_sampled_ones_are_taken_off_already(load: StatementLoad, tmp_path: Path) -> None:
    update = next(code for code, asked in enumerate(load.asked) if asked.locks)
    duration_ns = load.duration_ns.copy()
    duration_ns[np.flatnonzero(load.query == update)[0]] = 20_000  # who waited for none
    waited = replace(active(load, 1_000_000_000), duration_ns=duration_ns)
    locked_ns = waits(waited).locked_ns[update]
    sampled = replace(waited, lock_wait_ns=np.where(load.query == update, round(locked_ns) + 1, 0))
    cpu_ns = [int(program(one, tmp_path).statements.cpu_ns.sum()) for one in (load, waited, sampled)]
    assert locked_ns > 100_000
    assert cpu_ns[0] - cpu_ns[1] == pytest.approx(TRANSACTIONS * locked_ns, rel=0.05)
    assert cpu_ns[2] == cpu_ns[0]


def test_an_execution_waits_for_no_more_than_its_own_time(load: StatementLoad) -> None:
    """At most, that is its CPU and what was sampled of it by itself."""
    update = next(code for code, asked in enumerate(load.asked) if asked.locks)
    sampled = replace(load, lock_wait_ns=np.where(load.query == update, 100_000, 0))
    cpu_ns = load.cpu_ns[load.query == update].mean()
    found = waits(active(sampled, 1_000_000_000), MOST_WAITS)
    assert found.locked_ns[update] == pytest.approx(cpu_ns + 100_000)


def test_the_error_of_waits_is_unknown_and_a_range_has_both_ends(load: StatementLoad, tmp_path: Path) -> None:
    waited = active(load, 3_000_000_000)
    found = run(waited, tmp_path)
    assert found.summary["verdict"]["error"] == "waits"
    ends = [run(replace(waited, waits=at), tmp_path) for at in (LEAST_WAITS, MOST_WAITS)]
    rates = [one.summary["throughput_per_s"]["transactions"]["value"] for one in (found, *ends)]
    assert rates[1] <= rates[0] <= rates[2]
    slow = with_waits(
        found, [replace(one, summary=_scaled(one.summary, by)) for one, by in zip(ends, (0.5, 2), strict=True)]
    )
    wide = slow.summary["range"]
    assert wide["transactions_per_s"]["low"] < 0.5 * rates[1]
    assert wide["transactions_per_s"]["high"] > 2 * rates[2]
    assert wide["verdict"] == "underdetermined"
    assert wide["share"] is None
    assert wide["transactions_per_s"]["high"] > WIDE * wide["transactions_per_s"]["low"]
    assert "range" not in with_waits(found, [found, found]).summary
    assert run(waited, tmp_path, latency="500 ms").summary["verdict"]["error"] == "waits"  # little of so long a time


def test_a_replay_of_unknown_error_is_simulated_at_both_ends(tmp_path: Path) -> None:
    """Nobody counted how long sessions were active, and the log was nearly always busy."""
    log: dict[tuple[str, str], dict[str, int | str]] = {
        ("log", "log"): {"flushes": 50, "flush_ms": 900, "write_ms": 90}
    }
    path = counted_database(tmp_path / "counted.trace", more=log)
    heard: list[tuple[int, int]] = []
    made = scenario(tmp_path, "replay.cache_state=cold")

    def note(done: int, total: int) -> None:
        heard.append((done, total))

    (found,) = replay_statements_all(Bundle(path), [made], progress=note)
    (plain,) = replay_statements_all(Bundle(path), [made], ranges=False)
    assert "range" not in plain.summary
    assert found.summary["verdict"]["error"] == "waits"
    known = load_of(path, made.model.replay.seed)
    ends = [replay_statements(replace(known, waits=at), made) for at in (LEAST_WAITS, MOST_WAITS)]
    assert found.summary["range"] == with_waits(plain, ends).summary["range"]
    rates = [one.summary["throughput_per_s"]["transactions"]["value"] for one in ends]
    assert rates[1] > WIDE * rates[0]
    assert heard[-1] == (3 * len(known), 3 * len(known))


def test_a_calibration_with_clients_elsewhere_says_nothing_of_waits_that_were_inferred(tmp_path: Path) -> None:
    """Its pauses are what was assumed of clients; with clients on the host they were measured."""
    counted: dict[tuple[str, str], dict[str, int | str]] = {
        ("log", "log"): {"flushes": 50, "flush_ms": 900, "write_ms": 90},
        ("database", "one"): {"active_ms": 2_000, "idle_in_transaction_ms": 200},
    }
    path = counted_database(tmp_path / "counted.trace", more=counted)
    made = scenario(tmp_path, "replay.cache_state=cold")
    (found,) = replay_statements_all(Bundle(path), [made], recorded_on=made)
    assert found.summary["verdict"]["error"] == "waits"
    assert found.summary["model_error"]["basis"] == "unknown"
    assert not {"range", "tails"} & found.summary.keys()
    assert 'host.clients = "here"' in str(verdicts.sentence(found.summary))
    known = load_of(path, made.model.replay.seed)
    costs = ProcessorCosts({}, 0, Costs(), "a test", pause_ns=0)
    assert "error" not in replay_statements(known, made, processor=costs).summary["verdict"]


def test_waits_that_no_pause_holds_are_said_and_in_doubt(load: StatementLoad, tmp_path: Path) -> None:
    """Commits that waited for longer than clients paused did so in executions, or the counters are wrong."""
    paused_ns = between_ns(load, transactions_of(load))
    known = replace(load, active=None, log_busy=0.0)  # nothing else may be a wait
    fits, exceeds = (replace(known, commit_wait_ns=paused_ns * by / TRANSACTIONS) for by in (0.99, 1.5))
    assert program(fits, tmp_path).kept_waits_ns == 0
    transactions = len(transactions_of(load).rows)
    assert program(exceeds, tmp_path).kept_waits_ns == pytest.approx(paused_ns / 2 / transactions)
    summaries = [run(one, tmp_path).summary for one in (known, exceeds)]
    assert [one["verdict"].get("error") for one in summaries] == ["clients", "waits"]
    said = [[text for text in one["caveats"] if "longer than clients paused" in text] for one in summaries]
    assert [len(texts) for texts in said] == [0, 1]
    time_ns = len(set(load.session.tolist())) * load.span_ns
    assert f"{paused_ns / 2 / time_ns:.0%} of their time" in said[1][0]


def test_a_calibration_that_measured_pauses_keeps_no_waits(load: StatementLoad, tmp_path: Path) -> None:
    exceeds = replace(load, active=None, commit_wait_ns=100_000_000.0)
    costs = ProcessorCosts({}, 0, Costs(), "a test", pause_ns=0)
    made = [
        assemble(exceeds, scenario(tmp_path, "replay.cache_state=cold"), one).program
        for one in (replace(costs, pause_ns=None), costs)
    ]
    assert made[0].kept_waits_ns > 0
    assert made[1].kept_waits_ns == 0


def test_what_may_be_a_wait_is_in_doubt_by_its_share_of_the_predicted_time(load: StatementLoad, tmp_path: Path) -> None:
    """A pause that may be a wait matters little where a transaction takes long by itself."""
    unseen = replace(load, active=None, log_busy=0.5)
    found = waits(unseen)
    time_ns = int(load.duration_ns.sum()) + between_ns(load, transactions_of(load))
    transactions = len(transactions_of(load).rows)
    assert found.unseen_ns == pytest.approx((0.5 * time_ns - TRANSACTIONS * SYNC_NS) / transactions)
    assert waits(replace(unseen, log_busy=0.0)).unseen_ns == 0
    fast, slow = (run(unseen, tmp_path, latency=latency).summary for latency in ("200 us", "50 ms"))
    assert fast["verdict"]["error"] == "waits"
    assert slow["verdict"].get("error") != "waits"


def test_pauses_that_clients_need_for_themselves_are_no_waits(load: StatementLoad) -> None:
    """What is left of all pauses beside the waits of commits is less than clients may take."""
    paused_ns = between_ns(load, transactions_of(load))
    own_ns = len(load) * most_client_ns(float(load.cpu_ns.mean()))
    short, long = (
        replace(load, active=None, log_busy=1.0, commit_wait_ns=(paused_ns - by * own_ns) / TRANSACTIONS)
        for by in (0.9, 1.1)
    )
    assert waits(short).unseen_ns == 0
    assert waits(long).unseen_ns > 0


@pytest.mark.parametrize(("key", "other", "ns"), [("log_io", "read", LOG_NS), ("read", "log_io", READ_NS)])
def test_reads_and_writes_of_the_log_take_cpu_that_is_assumed_where_nothing_tells(
    key: str, other: str, ns: int, load: StatementLoad, tmp_path: Path
) -> None:
    def cost_ns(*settings: str, processor: ProcessorCosts | None = None) -> int:
        summary = run(load, tmp_path, *settings, processor=processor).summary
        return int(summary["host"]["costs_ns"][f"{key}_ns"])

    plain = run(load, tmp_path).summary
    assert plain["host"]["costs_ns"][f"{key}_ns"] == ns
    assert "read and log_io 25 µs assumed (1 to 150)" in plain["settings_from"]["host.costs"]
    assert not [one for one in plain["caveats"] if "CPU cost of a read is unknown" in one]
    given = run(load, tmp_path, f"host.costs.{key}=0 s").summary
    assert given["host"]["costs_ns"][f"{key}_ns"] == 0
    assert f"; {other} 25 µs assumed" in given["settings_from"]["host.costs"]
    both = run(load, tmp_path, "host.costs.read=0 s", "host.costs.log_io=0 s").summary
    assert "25 µs assumed" not in both["settings_from"]["host.costs"]
    assert "a message 13 µs assumed (7 to 19)" in both["settings_from"]["host.costs"]
    assert cost_ns("host.core_speed=2") == ns // 2
    assert cost_ns(processor=ProcessorCosts({}, 0, Costs(**{f"{key}_ns": 7}), "a test")) == 7


def test_how_many_commits_share_a_flush_is_unknown_where_clients_mostly_wait_for_the_log(
    load: StatementLoad, tmp_path: Path
) -> None:
    """CPU decides it that was not recorded; a run of one client does not hang on it."""
    known = replace(load, active=None, log_busy=0.0)
    slow = run(known, tmp_path, latency="50 ms").summary
    assert slow["verdict"]["error"] == "flushes"
    assert slow["model_error"] == {"basis": "unknown", "figures": {}}
    assert "share a flush" in str(verdicts.sentence(slow))
    assert "--recorded-on" in str(verdicts.sentence(slow))
    costs = ProcessorCosts({}, 0, Costs(), "a test", pause_ns=0)
    assert run(known, tmp_path).summary["verdict"]["error"] == "clients"
    others = [
        run(replace(known, session=np.zeros_like(known.session)), tmp_path, latency="50 ms").summary,
        run(known, tmp_path, latency="50 ms", processor=costs).summary,
    ]
    assert ["error" in one["verdict"] for one in others] == [False] * 2


def test_who_waits_for_a_row_waits_for_what_its_holder_does(load: StatementLoad, tmp_path: Path) -> None:
    """All want few rows, so most wait for a row, whose holder waits for the log: CPU decides nothing."""
    hot = replace(load, active=None, log_busy=0.0, fitted=law(5.0))
    found = run(hot, tmp_path, latency="50 ms").summary
    spent_ns = found["commit_breakdown_ns"]
    assert found["verdict"]["error"] == "flushes", spent_ns


def test_where_cpu_and_clients_decide_that_nobody_recorded_errors_are_their_own(
    load: StatementLoad, tmp_path: Path
) -> None:
    known = replace(load, active=None, log_busy=0.0)
    found = run(known, tmp_path).summary
    assert found["verdict"]["error"] == found["model_error"]["basis"] == "clients"
    assert "one server" in verdicts.meaning([found])
    assert "CPU and clients decide" in str(verdicts.sentence(found))
    assert list(verdicts.expected_multiples(found)) == ["throughput", "mean"]
    read = replace(known, asked=tuple(replace(one, durable=False) for one in known.asked))
    slow = run(read, tmp_path, latency="100 ms").summary
    costs = ProcessorCosts({}, 0, Costs(), "a test", pause_ns=0)
    others = [slow, run(known, tmp_path, processor=costs).summary]
    assert ["error" in one["verdict"] for one in others] == [False] * 2


def test_nobody_knows_the_error_where_transactions_come_by_the_clock(load: StatementLoad, tmp_path: Path) -> None:
    """Whether costs were calibrated or not: measured means of a real server were 0.7 to 1.8 times the predicted ones
    (docs/reach.md).
    """
    calibrated = ProcessorCosts({}, 0, Costs(), "a test", pause_ns=0)
    for processor in (None, calibrated):
        found = run(load, tmp_path, "replay.mode=open", processor=processor).summary
        assert found["verdict"]["error"] == "arrivals"
        assert found["model_error"] == {"basis": "unknown", "figures": {}}
        assert "fio --rate_iops" in str(verdicts.sentence(found))
        assert not verdicts.expected_multiples(found)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({("setting", "pg_stat_statements.track_utility"): {"setting": "off"}}, "track_utility is off"),
        ({("query store", "statements"): {"evictions": 3}}, "were evicted"),
        ({("query store", "statements"): {"evictions": 0}}, None),
        ({("setting", "pg_stat_statements.track_utility"): {"setting": "on"}}, None),
    ],
)
def test_who_may_have_executed_what_nobody_counted_may_have_waited_for_nothing(
    tmp_path: Path, more: dict[tuple[str, str], dict[str, int | str]], why: str | None
) -> None:
    counted: dict[tuple[str, str], dict[str, int | str]] = {
        ("log", "log"): {"flushes": 50, "flush_ms": 900, "write_ms": 90},
        ("database", "one"): {"active_ms": 3_500, "idle_in_transaction_ms": 200},
    }
    path = counted_database(tmp_path / "counted.trace", more=counted | more)
    found = read_load(read_counters(path), synthesised(path, 1), law())
    said = [text for text in found.inferred if "were not counted" in text]
    assert [why is not None and why in text for text in said] == [True] * (why is not None)
    least, likely = (waits(found, at) for at in (LEAST_WAITS, LIKELY_WAITS))
    assert likely.commit_ns > 2 * found.commit_wait_ns
    assert (least.commit_ns == found.commit_wait_ns) == (why is not None)
    assert likely.unseen_ns > 0
    assert likely.told


def _scaled(summary: dict[str, object], by: float) -> dict[str, object]:
    """The summary of a run that did so many times as much."""
    found = summary["throughput_per_s"]
    assert isinstance(found, dict)
    one = dict(found["transactions"])
    return summary | {"throughput_per_s": found | {"transactions": one | {"value": by * one["value"]}}}


@pytest.mark.parametrize(("rows", "exponent", "hot"), [(4, 0.0, ()), (1000, 1.05, ()), (1000, 0.5, ((10, 0.4),))])
def test_two_accesses_ask_for_the_same_row_as_often_as_their_law_says(rows: int, exponent: float, hot: Hot) -> None:
    left = 1 - sum(share for _, share in hot)
    weights: Sequence[float] = [rank**-exponent for rank in range(1, rows + 1)]
    shares = [left * one / sum(weights) for one in weights]
    for count, share in hot:
        shares[:count] = [one + share / count for one in shares[:count]]
    assert same_row_chance(zipf(rows, exponent, hot)) == pytest.approx(sum(one**2 for one in shares))


def test_how_long_sessions_wait_for_a_message_of_their_client(load: StatementLoad) -> None:
    """Sessions are 200 ms idle in transactions, which have a message more than statements: the one that commits."""
    assert load.commits == TRANSACTIONS
    assert load.gap_ns == pytest.approx(200e6 / (len(load) + load.transactions))
    assert replace(load, inside_ns=None).gap_ns is None
    assert replace(load, transaction=np.arange(len(load))).gap_ns is None
