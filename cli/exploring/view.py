"""The JSON that the page of an exploration reads (catalogue, state, figures), and the page that it saves."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any

from tiersim.cli.devices import figures_of
from tiersim.cli.explain import bound_text, change_text
from tiersim.cli.explanation import explanation
from tiersim.cli.page import build_explore_page, build_page
from tiersim.cli.page.payload import page_payload
from tiersim.cli.page.series import finite
from tiersim.devices import catalogue
from tiersim.devices.catalogue import load_device
from tiersim.errors import OutputError
from tiersim.files import whole_file
from tiersim.scenarios import library
from tiersim.scenarios.exploring.draft import Draft
from tiersim.scenarios.exploring.explorer import MOST_PINS, ExplorationState, ExploredRecording, Explorer, Picture
from tiersim.simulator.result import Result
from tiersim.simulator.verdict import part_name

#: Name of the scenario that is being changed, beside the letters of those that are pinned.
_NOW = "Now"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_FIGURES = ("id", "name", "kind", "interface", "capacity_bytes", "random_read_ns", "random_reads_per_s", "price",
            "price_date")  # fmt: skip


class ExplorationView:
    """An exploration as its page sees it; what is saved goes into *folder*."""

    def __init__(self, explorer: Explorer, folder: Path) -> None:
        """Show *explorer*."""
        self.explorer, self.folder = explorer, folder
        self._lock = Lock()
        self._drawn, self._text = -1, ""

    def page(self) -> str:
        """The page, without figures."""
        name = str(self.explorer.recording.source.trace["name"])
        explored = {
            "devices": [_known(one, figures_of(load_device(one))) for one in catalogue.names()],
            "bases": library.names(),
            "target": f"p95({self.explorer.recording.usual_class}) < 2 ms",
        }
        return build_explore_page(finite(explored), f"{name}: what if")

    def state(self) -> str:
        """The state as JSON."""
        explorer = self.explorer
        with explorer.changed:
            state, recording = explorer.state, explorer.recording
            picture, search = state.picture, state.search
            document = {
                "version": state.version,
                "stage": state.stage,
                "percent": min(100 * state.done // max(recording.total, 1), 100),
                "name": _name_of(state.draft),
                "fills_pool": recording.statements and _fills_pool(state),
                "error": state.error,
                "controls": [asdict(control) for control in explorer.controls()],
                "picture": None if picture is None else {"of": picture.of, "stale": picture.draft is not state.draft},
                "sample_share": None if recording.sample is None else recording.sample.share,
                "pins": [{"letter": one.letter, "description": _description(one)} for one in state.pins],
                "most_pins": MOST_PINS,
                "search": None if search is None else _search(search, state.draft, recording),
            }
        return json.dumps(finite(document))

    def figures(self) -> tuple[int, str]:
        """A number that changes with the figures, and the figures as JSON; empty while there are none."""
        with self._lock:
            with self.explorer.changed:
                drawn, version, pictures = self.explorer.state.drawn, self.explorer.state.version, self._pictures()
            if drawn != self._drawn:
                self._text = _figures(pictures, version) if pictures else ""
                self._drawn = drawn
            return drawn, self._text

    def _pictures(self) -> list[Picture]:
        state = self.explorer.state
        return [] if state.picture is None else [state.picture, *state.pins]

    def save_scenario(self, name: str) -> Path:
        """Write the draft as a file that ``tiersim replay --on`` takes; raises OutputError."""
        return _written(self._target(name, "toml"), self.explorer.state.draft.toml)

    def save_page(self, name: str) -> Path:
        """Write the figures of the whole recording as a page that works offline; raises OutputError."""
        target = self._target(name, "html")
        pictures = [one for one in self._pictures() if one.of == "whole"]
        if not pictures:
            raise OutputError("there are no figures of the whole recording yet; wait until they are there")
        trace = str(self.explorer.recording.source.trace["name"])
        return _written(target, build_page([_named(one) for one in pictures], f"{trace}: what if"))

    def _target(self, name: str, ending: str) -> Path:
        """Return a file in the folder that is not there; raises OutputError."""
        if not _NAME.fullmatch(name):
            raise OutputError(
                f"{name!r} is not a name to save by; use up to 80 letters, digits, dots, hyphens and underscores"
            )
        target = self.folder / f"{name}.{ending}"
        if target.is_symlink() or target.exists():
            raise OutputError(f"{target.name} is there already; choose another name")
        return target


def _name_of(draft: Draft) -> str:
    """A name to save by: that of the drive, where it is another than the scenario began with."""
    volumes = list(draft.values.get("volumes", {}).values())
    if "description" in draft.values or len(volumes) != 1 or volumes[0].get("device") not in catalogue.names():
        return f"{draft.name}-explored"
    return f"{volumes[0]['device']}-x{volumes[0].get('count', 1)}"


def _search(search: dict[str, Any], now: Draft, recording: ExploredRecording) -> dict[str, Any]:
    found = {key: value for key, value in search.items() if key != "draft"}
    return {
        **found,
        "stale": search["draft"] is not now,
        "on_sample": recording.sample is not None and not recording.statements,
    }


def _fills_pool(state: ExplorationState) -> bool:
    """Tell whether a pool of another size than before is filled, which nobody knows the length of."""
    before = None if state.picture is None else _pool(state.picture.draft)
    return state.stage in ("sample", "whole") and not state.done and _pool(state.draft) != before


def _pool(draft: Draft) -> Any:
    return draft.values.get("engine", {}).get("buffer_pool", "as recorded")


def _written(target: Path, text: str) -> Path:
    with whole_file(target) as path:
        path.write_text(text, encoding="utf-8")
    return target


def _known(name: str, figures: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**figures, "id": name}.items() if key in _FIGURES}


def _named(picture: Picture) -> Result:
    own = {"name": picture.letter or _NOW, "description": _description(picture)}
    return replace(picture.result, summary={**picture.result.summary, **own})


def _description(picture: Picture) -> str:
    """The hardware, and what else can be changed: the server and the load."""
    summary, values = picture.result.summary, picture.draft.values
    load, host = values.get("replay", {}).get("load", 1.0), summary.get("host") or {}
    load = (summary.get("load_not_run") or {"ran": load})["ran"]
    found = [
        "sample" if picture.of == "sample" else None,
        summary["description"],
        f"{load:.4g} × the recorded load" if load != 1.0 else None,
        f"{host['cores']} cores" if host.get("cores") else None,
    ]
    return "; ".join(filter(None, found))


def _figures(pictures: list[Picture], version: int) -> str:
    wholes = [one.result for one in pictures if one.of == "whole"]
    payload = page_payload([_named(one) for one in pictures], "", wholes)
    payload["why"] = [_why(one.result) for one in pictures]
    payload["version"] = version
    if not wholes:
        payload["traces"][0]["name"] = f"A sample of {payload['traces'][0]['name']}"
    del payload["schema"], payload["title"]
    return json.dumps(finite(payload), ensure_ascii=False, allow_nan=False)


def _why(result: Result) -> dict[str, Any]:
    """What ``tiersim explain`` says of a result."""
    found = explanation(result.summary, None)
    return {
        "of": found["of"],
        "bound": bound_text(found["bound"]),
        "parts": found["parts"],
        "stations": [{**one, "part": part_name(one["station"], one["resource"])} for one in found["stations"]],
        "changes": [change_text(one) for one in found["changes"]],
    }
