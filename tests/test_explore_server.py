"""The server of an exploration: who is let in, what may be asked, where is saved, how it ends."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.explorations import Client, is_done, serving, small_recording, until
from tests.faulty import mounted
from tiersim.cli.exploring.server import ExplorationServer
from tiersim.cli.exploring.view import ExplorationView
from tiersim.errors import OutputError
from tiersim.scenarios.library import load_scenario

FORBIDDEN, MISDIRECTED = 403, 421


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExplorationServer]:
    with serving(tmp_path_factory.mktemp("explored"), "15k-raid10") as one:
        yield one


@pytest.fixture(scope="module")
def client(server: ExplorationServer) -> Client:
    one = Client(server)
    one.open()
    return one


# ---------------------------------------------------------------------------------------------------- who is let in
def test_it_listens_on_the_loopback_interface_alone(server: ExplorationServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET


def test_the_token_is_spent_once_and_the_cookie_is_for_this_site_alone(tmp_path: Path) -> None:
    with serving(tmp_path, "pcie-flash") as own:
        first, second = Client(own), Client(own)
        address = f"/?token={own.gate.token}"
        connection = http.client.HTTPConnection("127.0.0.1", own.server_port)
        connection.request("GET", address)
        cookie = connection.getresponse().getheader("Set-Cookie") or ""
        connection.close()
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        first.headers["Cookie"] = cookie.split(";")[0]
        assert first.get("/")[0] == 200
        status, text = second.get(address)
        assert (status, second.headers) == (FORBIDDEN, {})
        assert (
            text == "This address was opened before, or is not the one that was printed; start tiersim explore again.\n"
        )
        assert first.get(address)[0] == 303  # its own browser may open it again
        assert first.get("/")[0] == 200


def test_who_has_no_cookie_or_a_wrong_one_gets_nothing(server: ExplorationServer) -> None:
    stranger = Client(server)
    for cookie in ("", "x=y", f"{server.gate.cookie_name}=guess", f"{server.gate.cookie_name}=", "\x01;;=,"):
        for path in ("/", "/events", "/save", "/?token=guess", "/?token="):
            status, text = stranger.get(path, Cookie=cookie)
            assert status == FORBIDDEN
            assert "tiersim explore" in text
        status, answer = stranger.post("/save", {"name": "stranger"}, Cookie=cookie)
        assert (status, "opened" in answer["error"]) == (FORBIDDEN, True)
    assert not (server.view.folder / "stranger.toml").exists()


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "127.0.0.1:1", "localhost.example.com", "[::1]"])
def test_another_host_is_refused_even_with_the_cookie(client: Client, host: str) -> None:
    assert client.get("/", Host=host)[0] == MISDIRECTED
    assert client.get(f"/?token={client.server.gate.token}", Host=host)[0] == MISDIRECTED
    assert client.post("/save", {"name": "rebound"}, Host=host, Origin=f"http://{host}")[0] == MISDIRECTED


@pytest.mark.parametrize("origin", ["", "null", "http://example.com", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused_even_with_the_cookie(client: Client, origin: str) -> None:
    status, answer = client.post("/save", {"name": "foreign"}, Origin=origin)
    assert (status, answer) == (FORBIDDEN, {"error": "another page asks; only the page of this server may"})
    if origin:
        assert client.get("/", Origin=origin)[0] == FORBIDDEN
    assert not (client.server.view.folder / "foreign.toml").exists()


def test_the_page_may_load_nothing_and_asks_this_server_alone(client: Client) -> None:
    status, text = client.get("/")
    assert status == 200
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy[1].split(";"))
    assert (rules["default-src"], rules["connect-src"]) == ("'none'", "'self'")
    assert all(source.startswith("'sha256-") for source in rules["script-src"].split())
    connection = http.client.HTTPConnection("127.0.0.1", client.server.server_port)
    connection.request("GET", "/", headers=client.headers)
    headers = connection.getresponse().headers
    connection.close()
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")


# -------------------------------------------------------------------------------------------------- what is asked
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400), (b"[]", "application/json", 400), (b"[" * 60_000, "application/json", 400),
        (b"{}", "text/plain", 415), (b"{}", "", 415), (b"{}", "multipart/form-data", 415),
        (b" " * 70_000, "application/json", 413),
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(client: Client, body: bytes, kind: str, status: int) -> None:
    found, answer = client.post("/change", body, Content_Type=kind)
    assert (found, list(answer)) == (status, ["error"])
    assert client.get("/")[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/change", {}, "settings"), ("/change", {"settings": {"replay.load": []}}, "settings"),
        ("/change", {"settings": {"engine.kind": "mysql"}}, "cannot be changed here"),
        ("/change", {"settings": {"volumes.data.throughput": "1 GB/s"}}, "cannot be changed here"),
        ("/change", {"settings": {"volumes.data.device": "/etc/passwd.toml"}}, "not a device of the catalogue"),
        ("/change", {"settings": {"volumes.data.device": "intel-p3700"}}, "did you mean"),
        ("/begin", {"name": "/etc/passwd.toml"}, "not a scenario"), ("/back", {"letter": "Z"}, "not pinned"),
        ("/search", {"target": "fast"}, "target"), ("/save", {}, "name"), ("/unpin", {"letter": 1}, "letter"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_answered_by_a_sentence(client: Client, path: str, body: object, said: str) -> None:
    status, answer = client.post(path, body)
    assert status == 200
    assert said in answer["error"]
    assert "\n" not in answer["error"]


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS", "TRACE"])
def test_what_the_protocol_does_not_allow_is_one_sentence(client: Client, method: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", client.server.server_port, timeout=30)
    connection.request(method, "/", headers=client.headers)
    answer = connection.getresponse()
    said = "" if method == "HEAD" else f"Unsupported method ('{method}').\n"
    assert (answer.status, answer.read().decode()) == (501, said)
    assert answer.getheader("Content-Type") == "text/plain; charset=utf-8"
    connection.close()


def test_a_target_is_refused_in_words_of_the_page(client: Client) -> None:
    _, answer = client.post("/search", {"target": "foo"})
    assert answer["error"].startswith("target 'foo': character 1: ")


def test_nothing_is_asked_elsewhere(client: Client) -> None:
    assert client.get("/favicon.ico")[0] == 404
    assert client.post("/shutdown", {})[0] == 404


def test_a_browser_that_resets_its_connection_prints_no_traceback_and_a_fault_does(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server, handled = client.server, threading.Event()
    handle = server.handle_error

    def noted(request: Any, client_address: Any) -> None:
        handle(request, client_address)
        handled.set()

    monkeypatch.setattr(server, "handle_error", noted)
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        head = {"Host": client.host, "Origin": f"http://{client.host}", "Cookie": client.headers["Cookie"]}
        lines = ["POST /change HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        lines += ["Content-Type: application/json", "Content-Length: 99", "", "{"]
        connection.sendall("\r\n".join(lines).encode())
        time.sleep(0.5)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing it resets it
    assert handled.wait(30)
    assert capsys.readouterr().err == ""
    handled.clear()
    monkeypatch.setattr(server.view, "state", lambda: 1 / 0)
    asking = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    asking.request("GET", "/events", headers=client.headers)
    assert handled.wait(30)
    asking.close()
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_events_tell_the_figures_before_the_state_says_what_they_are_of(client: Client) -> None:
    until(client.server.view.explorer, is_done(client.server.view.explorer))
    connection = http.client.HTTPConnection("127.0.0.1", client.server.server_port, timeout=30)
    connection.request("GET", "/events", headers=client.headers)
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    lines = [answer.readline().decode().rstrip("\n") for _ in range(5)]
    connection.close()
    figures, state = (json.loads(line.removeprefix("data: ")) for line in (lines[1], lines[4]))
    assert (lines[0], lines[3], state["stage"]) == ("event: picture", "event: state", "done")
    assert [scenario["name"] for scenario in figures["scenarios"]] == ["Now"]
    assert figures["why"][0]["stations"]


# --------------------------------------------------------------------------------------------------- what is saved
@pytest.mark.parametrize(
    "name", ["", ".", "..", "../out", "a/b", "/tmp/out", "a\\b", ".hidden", "a\0b", "ü", "a b", "x" * 81, "con:"]
)
def test_a_name_leads_nowhere_else(client: Client, name: str) -> None:
    before = sorted(client.server.view.folder.parent.rglob("*"))
    for path in ("/save", "/export"):
        _, answer = client.post(path, {"name": name})
        assert "is not a name to save by" in answer["error"]
    assert sorted(client.server.view.folder.parent.rglob("*")) == before


def test_a_scenario_and_a_page_are_saved_and_never_replaced(client: Client) -> None:
    explorer = client.server.view.explorer
    until(explorer, is_done(explorer))
    folder = client.server.view.folder
    for path, file in (("/save", folder / "mine.toml"), ("/export", folder / "mine.html")):
        assert client.post(path, {"name": "mine"}) == (200, {"saved": str(file)})
        _, answer = client.post(path, {"name": "mine"})
        assert answer["error"] == f"{file.name} is there already; choose another name"
    assert load_scenario(str(folder / "mine.toml")).to_toml() == explorer.state.draft.scenario().to_toml()
    assert '"studies"' not in (folder / "mine.html").read_text(encoding="utf-8")


def test_a_link_is_not_followed(client: Client, tmp_path: Path) -> None:
    (client.server.view.folder / "link.toml").symlink_to(tmp_path / "elsewhere.toml")
    _, answer = client.post("/save", {"name": "link"})
    assert "there already" in answer["error"]
    assert not (tmp_path / "elsewhere.toml").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    before = sorted(client.server.view.folder.iterdir())
    status, answer = client.post("/save", {"name": "full"})
    assert status == 200
    assert "No space left on device" in answer["error"] or "no space" in answer["error"].lower()
    assert sorted(client.server.view.folder.iterdir()) == before


def test_on_a_full_disk_nothing_is_half_there_and_a_smaller_file_still_fits(client: Client, tmp_path: Path) -> None:
    explorer = client.server.view.explorer
    until(explorer, is_done(explorer))
    with mounted(tmp_path / "small", 64 << 10):
        view = ExplorationView(explorer, tmp_path / "small")
        with pytest.raises(OutputError, match=r"(?i)no space left"):
            view.save_page("page")
        assert list(view.folder.iterdir()) == []
        assert view.save_scenario("mine").read_text(encoding="utf-8") == explorer.state.draft.toml


# ------------------------------------------------------------------------------------------------------ how it ends
def test_it_ends_when_nobody_asks(tmp_path: Path) -> None:
    with serving(tmp_path, "pcie-flash", idle_s=1.0) as own:
        deadline = time.monotonic() + 30
        while not own.why_ended and time.monotonic() < deadline:
            time.sleep(0.05)
        assert own.why_ended.startswith("Nobody changed anything for 0.0167 minutes")


def test_the_command_outlives_a_page_that_goes_away(tmp_path: Path) -> None:
    trace = small_recording(tmp_path, 2000)
    command = [sys.executable, "-c", "from tiersim.cli.main import main; main()", "explore", str(trace)]
    with subprocess.Popen(
        [*command, "--on", "pcie-flash", "-o", str(tmp_path / "out")],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    ) as process:  # fmt: skip
        assert process.stderr is not None
        found = next(
            found for line in process.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)(/\?token=\S+)", line))
        )
        port, headers = int(found[1]), {"Host": f"127.0.0.1:{found[1]}"}
        entered = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        entered.request("GET", found[2], headers=headers)
        headers["Cookie"] = (entered.getresponse().getheader("Set-Cookie") or "").split(";")[0]
        entered.close()
        page = socket.create_connection(("127.0.0.1", port))
        page.sendall("\r\n".join(["GET /events HTTP/1.1", *map(": ".join, headers.items()), "", ""]).encode())
        assert page.recv(9).startswith(b"HTTP/1.1 ")
        page.shutdown(socket.SHUT_WR)  # what is written to it now is a broken pipe
        page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        page.close()
        asks = {**headers, "Origin": f"http://{headers['Host']}", "Content-Type": "application/json"}
        for count in (2, 3):  # the server tells each change to the page that is gone
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            asked.request("POST", "/change", json.dumps({"settings": {"volumes.data.count": count}}), asks)
            assert json.loads(asked.getresponse().read()) == {"version": count - 1}
            asked.close()
            time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stderr.read()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_at_an_interrupt(tmp_path: Path, number: signal.Signals) -> None:
    trace = small_recording(tmp_path, 2000)
    command = [sys.executable, "-c", "from tiersim.cli.main import main; main()"]
    with subprocess.Popen(
        [*command, "explore", str(trace), "--on", "pcie-flash", "-o", str(tmp_path / "out")],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    ) as process:  # fmt: skip
        assert process.stderr is not None
        address, said = "", []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line):
                address = found.group()
                break
        assert address
        assert "tiersim: reading the recording; the address to open follows\n" in said  # where no bar is drawn
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(30) == 130
        assert "Traceback" not in rest
        assert "interrupted" in rest
