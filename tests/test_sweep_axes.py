"""The grammar of what varies: ranges, lists, units, and sentences about mistakes."""

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiersim.errors import ScenarioError
from tiersim.scenarios.sweeps.axes import MOST_VALUES, parse_axes, parse_axis
from tiersim.units import parse_bytes, parse_ns

SIZES = ("B", "KiB", "MiB", "GiB", "kB", "MB", "GB")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8GiB..64GiB", ["8GiB", "16GiB", "32GiB", "64GiB"]),
        ("8GiB..100GiB", ["8GiB", "16GiB", "32GiB", "64GiB"]),  # never beyond the end
        ("8..32GiB", ["8GiB", "16GiB", "32GiB"]),  # a bound without a unit has that of the other
        ("8GiB..32", ["8GiB", "16GiB", "32GiB"]),
        ("512MiB..2GiB", ["512MiB", "1024MiB", "2048MiB"]),
        ("4..24+4", ["4", "8", "12", "16", "20", "24"]),
        ("0..1+0.25", ["0", "0.25", "0.5", "0.75", "1"]),
        ("1..4*1.5", ["1", "1.5", "2.25", "3.375"]),
        ("1ms..1s*10", ["1ms", "10ms", "100ms", "1000ms"]),
        ("1 GiB .. 2 GiB + 512 MiB", ["1GiB", "1.5GiB", "2GiB"]),
        ("200MB/s..1GB/s", ["200MB/s", "400MB/s", "800MB/s"]),
        ("5..5", ["5"]),
        ("a,b , c", ["a", "b", "c"]),
        ("1..4,6", ["1", "2", "4", "6"]),
        ("../drive.toml,other..toml", ["../drive.toml", "other..toml"]),  # a path is no range
        ("[1.0,2.0],[1.5]", ["[1.0,2.0]", "[1.5]"]),  # nor is a list of TOML several values
        ('"a,b",c', ['"a,b"', "c"]),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    axis = parse_axis(f"table.key={text}")
    assert axis.key == "table.key"
    assert list(axis.values) == values


@pytest.mark.parametrize(
    ("text", "numbers", "unit"),
    [
        ("1KiB,2048B", (1024.0, 2048.0), "bytes"),
        ("1us..4us", (1e3, 2e3, 4e3), "ns"),
        ("1MB/s,2MB/s", (1e6, 2e6), "bytes/s"),
        ("1,2.5", (1.0, 2.5), "count"),
        ("a,2", None, None),
        ("1GiB,1s", None, None),  # not to be sorted by one number
    ],
)
def test_numbers_in_the_base_unit(text: str, numbers: tuple[float, ...] | None, unit: str | None) -> None:
    axis = parse_axis(f"k={text}")
    assert (axis.numbers, axis.unit) == (numbers, unit)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("engine.buffer_pool", "is not KEY=VALUES"),
        ("=8", "is not KEY=VALUES"),
        ("k=", "is not KEY=VALUES"),
        (
            "k=8Gib..64GiB",
            "'8Gib' in the range '8Gib..64GiB' is not a number with a unit that is known; did you mean 'GiB'?",
        ),
        ("k=8..", "'8..' is not a range; write for example"),
        ("k=8..16+", "'8..16+' is not a range"),
        ("k=8..4", "ends below its beginning; write the smaller one first"),
        ("k=0..8", "begins at 0"),
        ("k=1..8*1", "the factor '1' is not a number above 1"),
        ("k=1..8*2s", "the factor '2s' is not a number above 1"),
        ("k=1..8+0", "the step '0' is not count above 0"),
        ("k=1GiB..4GiB+5ms", "the step '5ms' is not bytes above 0, such as +1GiB"),
        ("k=1GiB..5ms", "goes from bytes to ns"),
        ("k=1..1000000+1", "more than 1,000 values"),
        ("k=a,,b", "no value beside one of its commas"),
        ("k=a,b,", "no value beside one of its commas"),
        ("k=1GiB,1024MiB", "1024MiB is there twice"),
        ("k=a,a", "a is there twice"),
        ("k=[1,2", "a bracket is not closed"),
        ('k="a,b', "a quote is not closed"),
    ],
)
def test_mistakes_are_named_with_a_remedy(setting: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_axis(setting)
    assert said in str(error.value)
    assert str(error.value).startswith(f"--set {setting}")


def test_a_key_is_given_once() -> None:
    with pytest.raises(ScenarioError, match=r"--set a\.b: is given twice"):
        parse_axes(["a.b=1", "a.c=2", "a.b=3"])


@settings(deadline=None)
@given(st.integers(1, 1 << 20), st.integers(0, 8), st.sampled_from(SIZES))
def test_doubling_doubles_and_ends_where_it_should(first: int, times: int, unit: str) -> None:
    axis = parse_axis(f"k={first}{unit}..{first << times}{unit}")
    sizes = [parse_bytes(value) for value in axis.values]
    assert sizes == [parse_bytes(f"{first}{unit}") << power for power in range(times + 1)]
    assert axis.numbers == tuple(float(size) for size in sizes)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**4), st.sampled_from(("ns", "us", "ms")))
def test_steps_are_exact(first: int, more: int, step: int, unit: str) -> None:
    if more // step >= MOST_VALUES:
        return
    axis = parse_axis(f"k={first}{unit}..{first + more}{unit}+{step}{unit}")
    times = [parse_ns(value) for value in axis.values]
    each = parse_ns(f"1{unit}")
    assert times == [place * each for place in range(first, first + more + 1, step)]


@settings(deadline=None)
@given(st.decimals("0.01", 100, places=2), st.decimals("1.05", 4, places=2))
def test_factors_are_exact_to_the_digits_written(first: object, factor: object) -> None:
    axis = parse_axis(f"k={first}..100*{factor}")
    for place, value in enumerate(axis.values):
        wanted = Fraction(str(first)) * Fraction(str(factor)) ** place
        assert abs(Fraction(value) - wanted) <= wanted / 10**11


@pytest.mark.long
@settings(deadline=None)
@given(st.text(max_size=40))
def test_whatever_is_written_gives_values_or_a_sentence(text: str) -> None:
    with suppress(ScenarioError):
        axis = parse_axis(f"k={text}")
        assert len(set(axis.values)) == len(axis.values) > 0
