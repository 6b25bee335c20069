"""An exploration: a draft of a scenario, and a picture of what it does: first of a sample, then of the whole recording.

The next change ends what the one before it began. The figures of the whole are those of ``tiersim replay`` with the
draft as its file.
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Condition
from typing import Any, Literal

from tiersim.devices import catalogue
from tiersim.devices.catalogue import load_device
from tiersim.errors import ScenarioError, TiersimError
from tiersim.scenarios.caveats import SAMPLE
from tiersim.scenarios.exploring.draft import Control, Draft, changed, controls_of, draft_of
from tiersim.scenarios.exploring.sample import Sample, sample_of_statements, windows_of
from tiersim.scenarios.exploring.sample_verdict import UNDECIDED
from tiersim.scenarios.hardware import controller_in_words
from tiersim.scenarios.library import runs_statements
from tiersim.scenarios.sizing.candidates import CandidatesModel, ListModel, combinations, of_names
from tiersim.scenarios.sizing.judging import latencies_of
from tiersim.scenarios.sizing.size import Request, size
from tiersim.scenarios.sizing.subject import of_source
from tiersim.scenarios.sizing.targets import Target, parse_target
from tiersim.scenarios.survey import TraceSurvey
from tiersim.scenarios.sweeps.sources import RequestSource, StatementSource, SweepSource
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle

#: Results that are kept, by the TOML of their scenario: to come back to one takes no time.
_KEPT = 12
#: Pictures that can be pinned; a page tells so many colours apart.
MOST_PINS = 3
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ExploredRecording:
    """What is explored: the whole, and a sample of it where it is long."""

    source: SweepSource
    sample: Sample | None
    total: int  # of what a run's progress counts: requests or statements
    statements: bool
    pool_bytes: int | None = None  # of the recorded server
    usual_class: str = "commit"  # of latencies


def open_recording(bundle: Bundle, draft: Draft, progress: Progress | None = None) -> ExploredRecording:
    """Read a bundle for drafts that begin with *draft*; raises TraceError or ScenarioError."""
    scenario = draft.scenario()
    if runs_statements(bundle, scenario):
        statements = StatementSource(bundle, scenario, None)
        load = statements.load(scenario)
        first = sample_of_statements(statements, load)
        return ExploredRecording(statements, first, len(load), True, bundle.manifest.buffer_pool_bytes)
    windows = windows_of(bundle)
    source = RequestSource(bundle, None, progress, also=None if windows is None else windows.add)
    sample = windows.sample(source.found, source.waiting) if windows is not None and windows.requests else None
    usual = _usual_class(source.found, scenario.model.replay.mode)
    return ExploredRecording(source, sample, source.found.requests, False, usual_class=usual)


def _usual_class(found: TraceSurvey, mode: str) -> str:
    """Return of what latencies are asked most: what sessions wait for; a replay by the clock knows no commits."""
    there = found.measured
    if {"log write", "log flush"} <= set(there) and mode != "open":
        return "log sync"
    return next((one for one in ("log write", "data read", *there) if one in there), "unknown")


@dataclass(frozen=True)
class Picture:
    """A result with the draft that it is of; a pinned one has a letter."""

    draft: Draft
    result: Result
    of: Literal["sample", "whole"]
    letter: str = ""


@dataclass
class ExplorationState:
    """What an exploration shows; ``version`` counts the changes of the draft, ``tick`` those of everything."""

    draft: Draft
    version: int = 0
    tick: int = 0
    stage: Literal["sample", "whole", "done", "failed"] = "sample"
    done: int = 0
    error: str = ""
    picture: Picture | None = None
    drawn: int = 0  # counts what is to be drawn anew: pictures and pins
    pins: list[Picture] = field(default_factory=list)
    search: dict[str, Any] | None = None


class _Stale(Exception):
    """A run ends, since the draft has changed."""


class Explorer:
    """Holds the state, and simulates it in two threads, one for samples and one for the whole and for searches."""

    def __init__(self, recording: ExploredRecording, drafts: list[Draft]) -> None:
        """Begin with the first of *drafts*; the others are simulated and pinned first."""
        self.recording = recording
        self.changed = Condition()  # notified at each tick
        self.state = ExplorationState(drafts[0])
        self._kept: dict[str, Result] = {}
        self._samples, self._wholes = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._ended = False
        for draft in drafts[1 : MOST_PINS + 1]:
            self._go(self._wholes, self._pin_whole, 0, draft)
        self._start()

    # ---------------------------------------------------------------------------------------------- what is asked
    def change(self, settings: dict[str, Any]) -> None:
        """Set keys of the draft, or leave them out where the value is None; raises ScenarioError."""
        with self.changed:
            draft = self.state.draft
            for key, value in settings.items():
                draft = changed(draft, key, value)
            self._take(draft)

    def begin_with(self, name_or_path: str) -> None:
        """Begin anew with a scenario of the library, a device or a file; raises ScenarioError."""
        draft = draft_of(name_or_path)
        with self.changed:
            self._take(draft)

    def pin(self) -> None:
        """Keep the picture beside those that come; raises ScenarioError when there is none, or no room."""
        with self.changed:
            state = self.state
            if state.picture is None or state.picture.of != "whole" or state.picture.draft is not state.draft:
                raise ScenarioError("only figures of the whole recording can be pinned; wait until they are there")
            self._add_pin(state.picture)

    def unpin(self, letter: str) -> None:
        """Drop a pinned picture; nothing happens when it is not there."""
        with self.changed:
            self.state.pins = [one for one in self.state.pins if one.letter != letter]
            self._tell(draw=True)

    def back_to(self, letter: str) -> None:
        """Make the draft of a pinned picture the current one; raises ScenarioError when it is not there."""
        with self.changed:
            pin = next((one for one in self.state.pins if one.letter == letter), None)
            if pin is None:
                raise ScenarioError(f"{letter!r} is not pinned any more; choose another one")
            self._take(pin.draft)

    def search(self, target: str) -> None:
        """Look for the cheapest hardware that meets *target*, beside the draft; raises ScenarioError."""
        try:
            parse_target(target)
        except ScenarioError as error:
            raise ScenarioError(_of_the_page(str(error))) from None
        with self.changed:
            kept = list(map(controller_in_words, self._searched(self.state.draft).scenario().controllers.values()))
            self.state.search = {
                "target": target, "done": 0, "total": 0, "document": None, "error": "", "kept": kept,
                "draft": self.state.draft,
            }  # fmt: skip
            self._tell()
        self._go(self._wholes, self._search, self.state.version, self.state.draft, target)

    def controls(self) -> list[Control]:
        """Return what can be changed of the draft."""
        recording = self.recording
        return controls_of(self.state.draft, statements=recording.statements, recorded_pool_bytes=recording.pool_bytes)

    def pictures(self) -> list[Picture]:
        """Return what is to be drawn: the current picture, and those that are pinned."""
        with self.changed:
            current = [self.state.picture] if self.state.picture else []
            return [*current, *self.state.pins]

    def wait(self, seen: int, timeout_s: float) -> int:
        """Return the tick once it is another than *seen*, or the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: self.state.tick != seen or self._ended, timeout_s)
            return self.state.tick

    def end(self) -> None:
        """End what runs."""
        with self.changed:
            self._ended = True
            self.state.version += 1
            self.changed.notify_all()
        for pool in (self._samples, self._wholes):
            pool.shutdown(cancel_futures=True)

    # ----------------------------------------------------------------------------------------------- what is done
    def _take(self, draft: Draft) -> None:
        self.state.draft = draft
        self.state.version += 1
        self._start()

    def _start(self) -> None:
        with self.changed:
            state = self.state
            state.error, state.done, state.stage = "", 0, "whole" if self.recording.sample is None else "sample"
            self._tell()
            pool = self._wholes if self.recording.sample is None else self._samples
            self._go(pool, self._draw, state.version, state.draft)

    def _tell(self, *, draw: bool = False) -> None:
        self.state.tick += 1
        self.state.drawn += draw
        self.changed.notify_all()

    def _go(self, pool: ThreadPoolExecutor, work: Callable[..., None], version: int, *given: Any) -> None:
        """Have *work* done; what it raises becomes a sentence, for nobody waits for it."""

        def ended(future: Future[None]) -> None:
            error = None if future.cancelled() else future.exception()
            if error is not None and not isinstance(error, _Stale):
                self._fail(version, error, searching=work == self._search)

        pool.submit(work, version, *given).add_done_callback(ended)

    def _draw(self, version: int, draft: Draft) -> None:
        """Simulate the sample where there is one and the whole is not known; then the whole."""
        self._refuse_stale(version)
        sample = self.recording.sample
        if sample is None or draft.toml in self._kept:
            self._draw_whole(version, draft)
            return
        result = sample.run(draft.scenario(), lambda _: self._refuse_stale(version))
        self._show(version, Picture(draft, result, "sample"))
        self._go(self._wholes, self._draw_whole, version, draft)

    def _draw_whole(self, version: int, draft: Draft) -> None:
        self._refuse_stale(version)
        result = self._whole(draft, lambda done: self._note(version, done))
        self._show(version, Picture(draft, result, "whole"))

    def _whole(self, draft: Draft, note: Callable[[int], None]) -> Result:
        if draft.toml not in self._kept:
            scenario = draft.scenario()
            self.recording.source.workers([scenario], 1)  # refuses what does not fit into memory
            result = self.recording.source.run(scenario, note, tables=True)
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[draft.toml] = result
        return self._kept[draft.toml]

    def _pin_whole(self, _: int, draft: Draft) -> None:
        result = self._whole(draft, self._refuse_ended)
        with self.changed:
            self._add_pin(Picture(draft, result, "whole"))

    def _add_pin(self, picture: Picture) -> None:
        taken = {one.letter for one in self.state.pins}
        letter = next((one for one in "ABCDEFGH"[:MOST_PINS] if one not in taken), None)
        if letter is None:
            raise ScenarioError(f"{MOST_PINS} pictures are pinned; drop one of them first")
        self.state.pins = sorted([*self.state.pins, replace(picture, letter=letter)], key=lambda one: one.letter)
        self._tell(draw=True)

    def _refuse_ended(self, _: int) -> None:
        if self._ended:
            raise _Stale

    def _refuse_stale(self, version: int) -> None:
        if self.state.version != version:
            raise _Stale

    def _note(self, version: int, done: int) -> None:
        self._refuse_stale(version)
        share = 100 * done // max(self.recording.total, 1)
        with self.changed:
            if share != 100 * self.state.done // max(self.recording.total, 1):
                self.state.done = done
                self._tell()

    def _show(self, version: int, picture: Picture) -> None:
        with self.changed:
            self._refuse_stale(version)
            self.state.picture, self.state.done = picture, 0
            self.state.stage = "whole" if picture.of == "sample" else "done"
            self._tell(draw=True)

    def _fail(self, version: int, error: BaseException, *, searching: bool) -> None:
        with self.changed:
            if searching and self.state.search is not None:
                self.state.search["error"] = _of_the_page(_sentence(error))
            elif self.state.version == version:
                self.state.stage, self.state.error = "failed", _sentence(error)
            self._tell()

    def _search(self, version: int, draft: Draft, target: str) -> None:
        search = self.state.search
        assert search is not None

        def progress(done: int, total: int) -> None:
            self._refuse_stale(version)
            with self.changed:
                search.update(done=done, total=total)
                self._tell()

        try:
            self._refuse_stale(version)
            document = self._cheapest(draft, target, version, progress)
        except _Stale:
            raise ScenarioError("the search ended, since the scenario was changed; search again") from None
        with self.changed:
            search["document"] = document
            self._tell()

    @staticmethod
    def _searched(draft: Draft) -> Draft:
        """Return what candidates are put into: its first drive, at the recorded load."""
        device = f"volumes.{draft.scenario().model.default_volume}.device"
        return changed(changed(draft, device, priced_drives()[0]), "replay.load", None)

    def _cheapest(self, draft: Draft, target: str, version: int, progress: Progress) -> dict[str, Any]:
        """Search among the drives of the catalogue that have a price. They are judged on the sample, or on the whole
        trace if the sample gives no figure for the target.
        """
        volume, devices = draft.scenario().model.default_volume, priced_drives()
        load = draft.values.get("replay", {}).get("load", 1.0)
        base = self._searched(draft)
        targets = [target] if load == 1.0 else [target, f"throughput >= {load:g}x"]
        names = of_names(devices)
        model = CandidatesModel(candidates=[ListModel(volume=volume, device=one.device, count=one.count)
                                            for one in names.candidates])  # fmt: skip
        subject = of_source(self.recording.source, base.scenario())
        sample, parsed = self.recording.sample, tuple(parse_target(one) for one in targets)

        def run(scenario: Any, factor: float, _: Callable[[int], None]) -> Result:
            def note(_: int) -> None:
                self._refuse_stale(version)

            if sample is not None:
                result = sample.run(scenario, note)
                if _tells(result, parsed):
                    return result
            return subject.run(scenario, factor, note)

        with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
            file = Path(folder) / f"{draft.name}.toml"
            file.write_text(base.toml, encoding="utf-8")
            request = Request(replace(subject, run=run), str(file), (), parsed, model)
            return size(request, combinations(model, str(file), (), Path(folder)), progress=progress)


def _of_the_page(text: str) -> str:
    """Leave out the options of a command, which a page has not."""
    return text.replace("--slo", "target")


def _tells(result: Result, targets: tuple[Target, ...]) -> bool:
    """Tell whether a result of a sample has a verdict, and all latencies that *targets* are of."""
    verdict = result.summary["verdict"]
    if verdict["load"] == UNDECIDED or verdict.get("error") == SAMPLE:
        return False
    figures = [own[one.statistic] for one in targets for _, own in latencies_of(one, result.summary)]
    return all(figure["high"] is not None for figure in figures)


def _sentence(error: BaseException) -> str:
    """Say what went wrong in a thread that nobody waits for: not to say it would be to simulate for ever."""
    if isinstance(error, TiersimError):
        return str(error)
    if isinstance(error, MemoryError):
        return "the memory of this machine does not suffice; begin with a shorter recording, or replay.mode = open"
    return f"tiersim has failed: {type(error).__name__}: {error}; report it with the scenario, which can be saved"


def priced_drives() -> list[str]:
    """Return the drives of the catalogue whose price is known."""
    return [name for name in catalogue.names() if getattr(load_device(name), "price", None) is not None]
