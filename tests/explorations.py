"""Servers of explorations for tests: a small recording, a folder to save in, and a client that speaks HTTP alone."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.cli.exploring.server import ExplorationServer
from tiersim.cli.exploring.view import ExplorationView
from tiersim.cli.terminal import compile_if_cold
from tiersim.scenarios.exploring.draft import draft_of
from tiersim.scenarios.exploring.explorer import Explorer, open_recording
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import pgbench


def small_recording(folder: Path, requests: int = 24_000) -> Path:
    """Eight sessions that read at random places."""
    columns = closed_recording(8, requests // 8, 300_000, 2_000_000)
    rng = np.random.default_rng(3)
    count = len(columns["time_ns"])
    rows = rows_of(**columns, offset_bytes=rng.integers(0, 100_000, count) * 8192)
    return write_recording(folder, rows, streams=[f"session{n}" for n in range(8)])


def commits_of_pgbench(folder: Path) -> Path:
    """The first 20,000 events of a recording of pgbench."""
    raw, target = folder / "pgbench.blktrace", folder / "pgbench.trace"
    raw.write_bytes(pgbench()[: 48 * 20_000])
    import_trace([raw], target, force=False)
    return target


def until(explorer: Explorer, holds: Callable[[], bool]) -> None:
    """Wait for a state."""
    with explorer.changed:
        assert explorer.changed.wait_for(holds, 180), explorer.state


def is_done(explorer: Explorer) -> Callable[[], bool]:
    """Whether the whole is simulated, or cannot be."""
    return lambda: explorer.state.stage in ("done", "failed")


@contextmanager
def serving(
    folder: Path, *names: str, idle_s: float = 600, record: Callable[[Path], Path] = small_recording
) -> Iterator[ExplorationServer]:
    """A server for a recording, by default a small one, on scenarios; saves go into ``folder/saved``."""
    compile_if_cold()
    saved = folder / "saved"
    saved.mkdir()
    drafts = [draft_of(name) for name in names]
    explorer = Explorer(open_recording(Bundle(record(folder)), drafts[0]), drafts)
    server = ExplorationServer(ExplorationView(explorer, saved), 0, idle_s)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        explorer.end()
        server.shutdown()
        server.server_close()
        thread.join(10)


@dataclass
class Client:
    """A browser without a page: keeps its cookie, and sends the headers that it is told."""

    server: ExplorationServer
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Where the server is."""
        return f"127.0.0.1:{self.server.server_port}"

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and text; a cookie that comes along is kept."""
        status, text, given = self._ask("GET", path, None, headers)
        if given is not None:
            self.headers["Cookie"] = given.split(";")[0]
        return status, text

    def open(self) -> None:
        """Spend the token."""
        assert self.get(f"/?token={self.server.gate.token}")[0] == 303

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """Status and answer."""
        own = {"Origin": f"http://{self.host}", "Content_Type": "application/json"} | headers
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, text, _ = self._ask("POST", path, raw, own)
        answer: dict[str, Any] = json.loads(text)
        return status, answer

    def _ask(self, method: str, path: str, body: bytes | None, more: dict[str, str]) -> tuple[int, str, str | None]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in more.items() if value}
            connection.request(method, path, body, self.headers | named)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.getheader("Set-Cookie")
        finally:
            connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExplorationServer]:
    """A server of an exploration of two scenarios, simulated whole."""
    with serving(tmp_path_factory.mktemp("explored"), "15k-raid10", "pcie-flash") as one:
        until(one.view.explorer, lambda: bool(one.view.explorer.state.pins) and is_done(one.view.explorer)())
        yield one
