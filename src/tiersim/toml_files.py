"""TOML files that people write: strict models with units, and errors that name file, line, key and remedy."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo

from tiersim.errors import ScenarioError, did_you_mean, reason
from tiersim.units import parse_bytes, parse_bytes_per_s, parse_ns, parse_signed_ns


class StrictModel(BaseModel):
    """A frozen model that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    #: What other programs call keys of the file, in small letters with underscores → the key from the top of the file.
    names_elsewhere: ClassVar[Mapping[str, str]] = {}


Bytes = Annotated[int, BeforeValidator(parse_bytes), WithJsonSchema({"type": "string", "examples": ["16 GiB"]})]
Nanoseconds = Annotated[int, BeforeValidator(parse_ns), WithJsonSchema({"type": "string", "examples": ["3.4 ms"]})]
SignedNanoseconds = Annotated[
    int, BeforeValidator(parse_signed_ns), WithJsonSchema({"type": "string", "examples": ["-0.6 ms"]})
]
BytesPerSecond = Annotated[
    int, BeforeValidator(parse_bytes_per_s), WithJsonSchema({"type": "string", "examples": ["204 MB/s"]})
]

#: What is written behind a number of these types.
_UNITS = {parse_bytes: "B", parse_ns: "ns", parse_signed_ns: "ns", parse_bytes_per_s: "B/s"}


def dump_with_units(model: BaseModel) -> dict[str, Any]:
    """Return what is said in *model* as it would be written in a file: numbers with the unit of their field's type."""
    values = model.model_dump(exclude_none=True)
    _write_units(model, values)
    return values


def _write_units(model: BaseModel, values: dict[str, Any]) -> None:
    for name, field in type(model).model_fields.items():
        said, unit = getattr(model, name), _unit_of(field)
        if unit is not None and isinstance(said, int):
            values[name] = f"{said} {unit}"
        elif isinstance(said, BaseModel):
            _write_units(said, values[name])
        elif isinstance(said, Mapping):
            for key, one in said.items():
                if isinstance(one, BaseModel):
                    _write_units(one, values[name][key])


def _unit_of(field: FieldInfo) -> str | None:
    """Return the unit of a field that has a number, or a number or nothing."""
    choices = (getattr(one, "__metadata__", ()) for one in get_args(field.annotation))
    known = (one.func for one in (*field.metadata, *chain(*choices)) if isinstance(one, BeforeValidator))
    return next((_UNITS[function] for function in known if function in _UNITS), None)


M = TypeVar("M", bound=BaseModel)


def read_text(path: Path) -> str:
    """Read a UTF-8 text file; raises ScenarioError when there is none or it is not text."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark at the beginning
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """Parse TOML; raises ScenarioError naming *path* and the line."""
    try:
        values = tomllib.loads(text)
        _refuse_huge(values)
        return values
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column \d+", str(error))
        line = place[1] if place else str(text.count("\n") + 1)
        what = re.sub(r" \(at .*\)$", "", str(error))
        raise ScenarioError(f"{path}:{line}: is not valid TOML: {what[0].lower()}{what[1:]}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, tables thousands deep
        what = "values are nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
        raise ScenarioError(f"{path}: is not valid TOML: {what}") from None


def _refuse_huge(value: object) -> None:
    """Raise ValueError for an integer beyond TOML's 64 bits, which Python's reader does not mind."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_huge(inner)


def validate(model: type[M], values: Mapping[str, Any], text: str, path: str, under: tuple[str, ...] = ()) -> M:
    """Check *values*, parsed from *text* where they are the table *under*, against *model*; raises ScenarioError with
    one line for each mistake.

    A validator of a whole model says which key it means by beginning its message with ``KEY: ``.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            location = tuple(str(part) for part in problem["loc"])
            message = problem["msg"].removeprefix("Value error, ")
            key, _, rest = message.partition(": ")
            if rest and key.split(".")[0] in _known_keys(model, location):
                location, message = (*location, *key.split(".")), rest
            if problem["type"] == "extra_forbidden":
                message = f"unknown key {location[-1]!r}{_hint(model, location)}"
            elif problem["type"] == "missing":
                message = f"the key {location[-1]!r} is required and not there"
            elif not problem["msg"].startswith("Value error"):
                message = f"{problem['input']!r}: {message[0].lower()}{message[1:]}"
            lines.append(f"{place_of(text, path, (*under, *location))}: {message}")
        raise ScenarioError("\n".join(lines)) from None


def read_model(model: type[M], path: Path) -> M:
    """Read and check one TOML file; raises ScenarioError."""
    text = read_text(path)
    return validate(model, parse_toml(text, str(path)), text, str(path))


def _hint(model: type[BaseModel], location: Sequence[str]) -> str:
    """Return the key that an unknown one at *location* probably is."""
    name = "_".join(re.findall(r"\w+", location[-1].lower()))
    elsewhere = model.names_elsewhere.get(name) if issubclass(model, StrictModel) else None
    return (
        f"; did you mean {elsewhere!r}?" if elsewhere else did_you_mean(location[-1], _known_keys(model, location[:-1]))
    )


def _known_keys(model: type[BaseModel], location: Sequence[str]) -> list[str]:
    """Keys that *model* takes at *location*: follows fields, the values of mappings, and the members of unions."""
    models: list[type[BaseModel]] = [model]
    for part in location:
        inner: list[type[BaseModel]] = []
        for candidate in models:
            field = candidate.model_fields.get(part)
            inner += _models_in(field.annotation) if field else [candidate]
        models = inner or models
    return sorted({key for candidate in models for key in candidate.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]


def place_of(text: str, path: str, location: Sequence[str]) -> str:
    """Say where *location* is in the file: path, line, key."""
    return ": ".join([f"{path}:{_line_of(text, location)}", *[".".join(location)] * bool(location)])


def _line_of(text: str, location: Sequence[str]) -> int:
    """Line of the key at *location*, or of the table that it belongs to, or 1."""
    table: tuple[str, ...] = ()
    best_depth, best_line = 0, 1
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        header = re.fullmatch(r"\[+\s*([^\]]+?)\s*\]+\s*(#.*)?", line)
        if header:
            table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            path = table
        elif "=" in line and not line.startswith("#"):
            path = (*table, *(part.strip().strip("\"'") for part in line.split("=")[0].split(".")))
        else:
            continue
        depth = len(path)
        if path == tuple(location[:depth]) and depth > best_depth:
            best_depth, best_line = depth, number
    return best_line
