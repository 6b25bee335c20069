"""Builds the tables of a plant: each ``add_`` function of the devices puts its rows here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices import station_records
from tiersim.devices.station_records import NEVER, NONE, RESOURCES, Plant
from tiersim.errors import ScenarioError


@dataclass(frozen=True)
class Station:
    """What people see of a station."""

    name: str
    kind: str
    resources: tuple[str, ...]  # what is accounted in ``work_ns``, in order
    servers: tuple[int, ...]  # how many of each there are


def settings_of(kind: type, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of a dataclass's whole numbers and flags: those of the columns that hold them; *without* some,
    which are kept in another way.
    """
    return tuple(one.name for one in fields(kind) if one.type in (int, bool) and one.name not in without)


def values_of(row: np.dtype[Any], settings: Any) -> dict[str, int]:
    """Return the settings that a row has columns for."""
    return {name: int(getattr(settings, name)) for name in settings_of(type(settings)) if name in (row.names or ())}


#: What people see of a limit on several volumes.
INSTANCE = "instance"


@dataclass(frozen=True)
class Balance:
    """What is left of a volume's credits at the end of a run, as shares of all that it can hold."""

    station: int
    resource: str
    start: float
    end: float
    ran_out_ns: int | None  # when a request first had to wait for them


class PlantBuilder:
    """Collects rows and tables, then makes the arrays of a :class:`~tiersim.devices.station_records.Plant`."""

    def __init__(self, seed: int) -> None:
        """Start empty; *seed* decides rotation phases and drawn service times."""
        self.seed = seed
        self.stations: list[Station] = []
        self._station_rows: list[tuple[int, int]] = []
        self._rows: dict[str, list[Mapping[str, int]]] = {}
        self._queues = 0
        self._reserved: dict[str, int] = {}
        self._written_first: list[Callable[[Plant], None]] = []
        self._pool: list[NDArray[np.int64]] = []
        self._pool_size = 0
        self._shared: dict[Any, int] = {}
        self._most_children = 1

    def row(self, table: str, /, **values: int) -> int:
        """Append a row to the table of that name in Plant; columns not given are 0."""
        rows = self._rows.setdefault(table, [])
        rows.append(values)
        return len(rows) - 1

    def queue(self) -> int:
        """Make an empty first-come list."""
        self._queues += 1
        return self._queues - 1

    def reserve(self, table: str, count: int) -> int:
        """Make room for *count* rows of zeros in ``lines``, ``cached_blocks``, ``mapped_blocks`` or ``units``; returns
        the first.

        Memory is taken when they are written to.
        """
        first = self._reserved.get(table, 0)
        self._reserved[table] = first + count
        return first

    def write_first(self, write: Callable[[Plant], None]) -> None:
        """Let *write* fill what was reserved, when the plant is made."""
        self._written_first.append(write)

    def table(self, values: Sequence[int] | NDArray[np.int64], share: Any = None) -> int:
        """Put values into the pool and return their index; tables with the same *share* key are stored once."""
        if share is not None and share in self._shared:
            return self._shared[share]
        index = self._pool_size
        array = np.asarray(values, np.int64)
        self._pool.append(array)
        self._pool_size += len(array)
        if share is not None:
            self._shared[share] = index
        return index

    def rows(self, table: str, rows: Sequence[Mapping[str, int]], share: Any = None) -> int:
        """Append rows to a table and return the first one's index; rows with the same *share* key are stored once."""
        if share is not None and share in self._shared:
            return self._shared[share]
        first = len(self._rows.get(table, ()))
        for row in rows:
            self.row(table, **row)
        if share is not None:
            self._shared[share] = first
        return first

    def station(
        self,
        kind: int,
        row: int,
        name: str,
        resources: Mapping[str, int],
        children: int = 0,
        role: str | None = None,
    ) -> int:
        """Append a station: *resources* gives the number of servers by name, *children* the most that one request
        makes.

        *role* is what people see in place of its kind. Raises ScenarioError for a station that serves by itself and
        names no resource, or one without servers: nobody could say how busy it is.
        """
        if not resources and not (children and self.stations):
            raise ScenarioError(f'{name}: serves requests and names no resource; name one, such as {{"servers": 1}}')
        if len(resources) > RESOURCES:
            raise ScenarioError(f"{name}: names {len(resources)} resources; name at most {RESOURCES}")
        for resource, servers in resources.items():
            if servers < 1:
                raise ScenarioError(f"{name}: {servers} servers of {resource!r} cannot serve; give 1 or more")
        self._station_rows.append((kind, row))
        self._most_children = max(self._most_children, children)
        self.stations.append(
            Station(name, role or station_records.KIND_NAMES[kind], tuple(resources), tuple(resources.values()))
        )
        return len(self.stations) - 1

    def build(self, slots: int = 1024) -> Plant:
        """Make the arrays, with places for *slots* requests."""
        stations = np.zeros(len(self.stations), station_records.STATION)
        stations["kind"] = [kind for kind, _ in self._station_rows]
        stations["row"] = [row for _, row in self._station_rows]
        stations["timer_ns"] = NEVER
        queues = np.full(max(self._queues, 1), NONE, np.int64).astype(station_records.QUEUE)
        queues["length"] = 0
        filled = {name: self._fill(name, kind) for name, kind in station_records.TABLES.items()}
        filled |= {
            name: np.zeros(max(self._reserved.get(name, 0), 1), kind) for name, kind in station_records.RESERVED.items()
        }
        plant = Plant(
            stations=stations,
            requests=np.zeros(slots, station_records.REQUEST),
            links=np.zeros(slots, station_records.LINK),
            holds=np.zeros(slots, station_records.HOLD),
            queues=queues,
            children=np.zeros(self._most_children, station_records.CHILD),
            pool=np.concatenate([np.zeros(1, np.int64), *self._pool])[1:] if self._pool else np.zeros(1, np.int64),
            work_ns=np.zeros((len(self.stations), RESOURCES), np.int64),
            seed=np.array([self.seed], np.int64),
            **filled,
        )
        for write in self._written_first:
            write(plant)
        return plant

    def _fill(self, name: str, kind: np.dtype[Any]) -> NDArray[Any]:
        rows = self._rows.get(name, [])
        array = np.zeros(max(len(rows), 1), kind)
        for index, values in enumerate(rows):
            for column, value in values.items():
                array[index][column] = value
        return array
