"""Quantities: what is written is what is meant, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.units import format_bytes, format_ns, format_per_s, format_times, parse_bytes, parse_bytes_per_s, parse_ns


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64 KiB", 65536),
        ("64KiB", 65536),
        ("800 GB", 800 * 10**9),
        ("1.5 KiB", 1536),
        ("1_000 B", 1000),
        ("1 kB", 1000),
    ],
)
def test_sizes(text: str, value: int) -> None:
    assert parse_bytes(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("3.4 ms", 3_400_000), ("1 ns", 1), ("2 µs", 2000), ("2us", 2000), ("5 min", 300 * 10**9)]
)
def test_durations(text: str, value: int) -> None:
    assert parse_ns(text) == value


def test_rates() -> None:
    assert parse_bytes_per_s("204 MB/s") == 204_000_000
    assert parse_bytes_per_s("125 MiB/s") == 125 << 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("64", "is not a size"),
        (64, "without a unit"),
        ("64 Kib", "did you mean the unit 'KiB'"),
        ("1.0001 B", "not a whole number of bytes"),
        ("-1 B", "is not a size"),
        ("1e3 B", "is not a size"),
        ("9999999999 GiB", "larger than"),
        ("", "is not a size"),
        (None, "without a unit"),
    ],
)
def test_what_is_not_a_size_is_refused_with_a_remedy(text: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_bytes(text)


@given(st.integers(0, 2**62))
def test_any_number_of_bytes_and_nanoseconds_round_trips(value: int) -> None:
    assert parse_bytes(f"{value} B") == value
    assert parse_ns(f"{value} ns") == value


def test_figures_for_people() -> None:
    assert format_ns(1_500_000) == "1.5 ms"
    assert format_ns(999) == "999 ns"
    assert format_ns(-0.3) == "0 ns"
    assert format_ns(123_456_789_012) == "123 s"
    assert format_bytes(65536) == "64 KiB"
    assert format_bytes(512) == "512 B"
    assert format_bytes(800 * 10**9) == "800 GB"
    assert format_bytes(16 << 40) == "16 TiB"


def test_a_rate_below_one_a_second_is_not_zero() -> None:
    assert [format_per_s(rate) for rate in (5469.2, 99.6, 9.49, 0.0111, 0.0)] == ["5,469", "100", "9.49", "0.0111", "0"]


def test_a_large_multiple_is_no_power_of_ten() -> None:
    assert [format_times(one) for one in (0.0512, 1.0, 12.34, 999.4, 999.6, 5123.4)] == [
        "0.0512", "1", "12.3", "999", "1,000", "5,123"
    ]  # fmt: skip
    assert [format_times(one, 2) for one in (0.512, 99.4, 99.6, 123.4)] == ["0.51", "99", "100", "123"]
