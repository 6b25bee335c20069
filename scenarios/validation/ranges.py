"""How far a prediction can be off because of what nobody told.

Each assumed number is put to either end of its range, the others left as they are; then all together, to the ends that
raised a figure, and to those that lowered it. So k numbers take 2 k + 2 runs for a figure, and not 2^k; what two of
them do to each other alone is not seen.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import TypeAdapter

from tiersim.devices.sourced import Sourced
from tiersim.parallel import Note, side_by_side

Figures = Mapping[str, float]
#: Predicts figures from the values of the assumed numbers, by name.
Predict = Callable[[Mapping[str, Any]], Figures]


@dataclass(frozen=True)
class Assumed:
    """A number of the model that no source tells: what is taken, and between which ends it may lie."""

    name: str
    low: Any
    taken: Any
    high: Any
    said: str = ""  # as a device file says it; left out: by its plain numbers

    def __str__(self) -> str:
        """As it stands in a table."""
        return f"{self.name} {self.said or f'{self.taken} ({self.low} .. {self.high})'}"


#: What a device file says of a number that no source tells; behind the ends may stand why.
_ENDS = re.compile(r"assumed: (.+?) \.\. ([^,;(]+)")


def of_device(device: Sourced, left_out: Collection[str] = ()) -> list[Assumed]:
    """Return the numbers that the file of a device calls assumed, with the ends that it names."""
    found = []
    for key, source in device.sources.items():
        ends = _ENDS.match(source)
        if ends and key not in left_out:
            field = type(device).model_fields[key]
            kind: Any = Annotated[(field.annotation, *field.metadata)]
            low, high = (text.strip() for text in ends.groups())
            least, most = map(TypeAdapter(kind).validate_python, (low, high))
            found.append(Assumed(key, least, getattr(device, key), most, f"{device.text_of(key)} ({low} .. {high})"))
    return found


@dataclass(frozen=True)
class Range:
    """A figure as it is predicted, and the lowest and highest of all runs."""

    predicted: float
    low: float
    high: float


def over(assumed: Sequence[Assumed], predict: Predict) -> dict[str, Range]:
    """Return the range of each figure that *predict* gives; runs go side by side, as many as there are processors."""
    taken = {one.name: one.taken for one in assumed}
    moved = [(one.name, end) for one in assumed for end in (one.low, one.high) if end != one.taken]
    middle, *alone = _all(predict, [taken, *({**taken, name: end} for name, end in moved)])
    together = _together(assumed, middle, dict(zip(moved, alone, strict=True)))
    runs = [middle, *alone, *_all(predict, together)]
    return {
        name: Range(middle[name], min(run[name] for run in runs), max(run[name] for run in runs)) for name in middle
    }


def _all(predict: Predict, given: Sequence[dict[str, Any]]) -> list[Figures]:
    def run(values: dict[str, Any], _: Note) -> Figures:
        return predict(values)

    return side_by_side([partial(run, values) for values in given])


def _together(
    assumed: Sequence[Assumed], middle: Figures, alone: Mapping[tuple[str, Any], Figures]
) -> list[dict[str, Any]]:
    """Return the ends that raised each figure most, and those that lowered it, all of them together; no set of ends
    twice, and none that has been run, with one number or none at an end.
    """
    found: list[dict[str, Any]] = []
    for figure in middle:
        for sign in (1, -1):
            ends = {one.name: _end(one, figure, sign, middle, alone) for one in assumed}
            if sum(ends[one.name] != one.taken for one in assumed) > 1 and ends not in found:
                found.append(ends)
    return found


def _end(one: Assumed, figure: str, sign: int, middle: Figures, alone: Mapping[tuple[str, Any], Figures]) -> Any:
    """Return the value of an assumed number that makes *figure* largest, or smallest if *sign* is negative."""
    values = [(sign * run[figure], value) for (name, value), run in alone.items() if name == one.name]
    return max([(sign * middle[figure], one.taken), *values], key=lambda found: found[0])[1]
