"""DiskSim's seek curves: extracted points, three points with lines or Lee's curve between them, one time for all, the
HP Labs equation with or without ten more.

(DiskSim 4.0 reference manual, CMU-PDL-08-101, B.5; Ruemmler and Wilkes, IEEE Computer 27(3), 1994.)
"""

import re

import numpy as np

from tiersim.devices.hdd.disksim.parameters import ParameterBlock, file_beside, is_number
from tiersim.devices.hdd.seek_curves import lee_curve_ns
from tiersim.errors import ScenarioError
from tiersim.toml_files import read_text
from tiersim.units import NS_PER_MS

#: Distance, ms; some files have a deviation, and the times of writes ("dual seek"), behind them.
_POINT = re.compile(
    r"\s*(\d+)\s*[,\s]\s*(\d+\.?\d*)(?:\s*[,\s]\s*[-\d.]+(?:\s*[,\s]\s*(\d+\.?\d*))?)?(?:\s*[,\s]\s*[-\d.]+)*\s*$"
)
#: So many points are taken of a curve that is given as an equation, logarithmically spaced.
_POINTS = 200
_THREE = "Single cylinder seek time", "Average seek time", "Full strobe seek time"


def seek_curve(mechanics: ParameterBlock, cylinders: int) -> list[tuple[int, float]]:
    """(cylinders, ms) of a drive's seek curve; raises ScenarioError naming file and line."""
    kind = mechanics.get("Seek type", "extracted" if "Full seek curve" in mechanics.values else None)
    if kind == "extracted":
        return [(distance, read_ms) for distance, read_ms, _ in _points(mechanics)]
    farthest = max(cylinders - 1, 1)
    if kind == "constant":
        return [(distance, mechanics.number("Constant seek time")) for distance in (1, max(farthest, 2))]
    if kind == "linear":  # the mean distance is a third of the drive
        places = max(farthest, 3), max(cylinders // 3, 2), 1
        return sorted(zip(places, map(mechanics.number, reversed(_THREE)), strict=True))
    distances = np.unique(np.rint(np.geomspace(1, farthest, _POINTS)).astype(int)).tolist()
    if kind == "curve":
        curve = lee_curve_ns(cylinders, *(round(mechanics.number(key) * NS_PER_MS) for key in _THREE))
        return [(distance, float(curve[distance]) / NS_PER_MS) for distance in distances]
    if kind in ("hpl", "hplplus10"):
        first = _numbers(mechanics, "First ten seek times", 10) if kind == "hplplus10" else []
        return [(distance, _hpl(mechanics, distance, first)) for distance in distances]
    raise ScenarioError(
        f"{mechanics.path}:{mechanics.line}: the seek type is {kind!r}; constant, linear, curve, extracted, hpl and"
        " hplplus10 are read"
    )


def _hpl(mechanics: ParameterBlock, distance: int, first: list[float]) -> float:
    """Below V1: V2 + V3 sqrt(d), beyond: V4 + V5 d. V6: time of a single cylinder, -1: not given."""
    border, offset, root, far_offset, slope, single = _numbers(mechanics, "HPL seek equation values", 6)
    if distance <= len(first):
        return first[distance - 1]
    if distance == 1 and single != -1:
        return single
    return offset + root * distance**0.5 if distance < border else far_offset + slope * distance


def _numbers(mechanics: ParameterBlock, key: str, count: int) -> list[float]:
    values = mechanics.get(key)
    if not isinstance(values, list) or len(values) != count or not all(map(is_number, values)):
        raise ScenarioError(f"{mechanics.path}:{mechanics.line}: {key!r} is not a list of {count} numbers; correct it")
    return [float(value) for value in values]


def writes_later_ms(mechanics: ParameterBlock) -> tuple[float, float]:
    """How much longer the seeks of writes are than those of reads, where a seek file says so of every distance: mean,
    and largest difference from it, ms.
    """
    if mechanics.get("Seek type", "extracted") != "extracted":
        return 0.0, 0.0
    later = [None if write is None else write - read for _, read, write in _points(mechanics)]
    known = [extra for extra in later if extra is not None]
    if len(known) < len(later):
        return 0.0, 0.0
    mean = float(np.mean(known))
    return mean, max(abs(extra - mean) for extra in known)


def _points(mechanics: ParameterBlock) -> list[tuple[int, float, float | None]]:
    """(cylinders, ms, ms of writes) of an extracted curve."""
    name = mechanics.get("Full seek curve")
    if not isinstance(name, str):
        raise ScenarioError(f"{mechanics.path}:{mechanics.line}: 'Full seek curve' names no file; name the .seek file")
    try:
        path = file_beside(mechanics.path, name)
    except ValueError as error:
        raise ScenarioError(f"{mechanics.path}:{mechanics.line}: the seek curve {name[:60]!r} {error}") from None
    points: list[tuple[int, float, float | None]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        point = _POINT.match(line)
        if point:
            points.append((int(point[1]), float(point[2]), float(point[3]) if point[3] else None))
        elif line.strip() and not line.startswith("Seek distances measured"):
            raise ScenarioError(f"{path}:{number}: {line[:60]!r} is not DISTANCE, MILLISECONDS; correct the line")
    if not points:
        raise ScenarioError(f"{path}: it holds no point of a seek curve; give the .seek file of the drive")
    return points
