"""The server of an exploration: loopback only, for one browser, and for nobody who cannot read the terminal.

The address that is printed has a token, which is spent once for a cookie that browsers send to this address alone
(SameSite=Strict). Host is checked against DNS rebinding, Origin against other pages. The page may load nothing and ask
nobody but this server (its content security policy).
"""

import hmac
import json
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from email.message import Message
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tiersim.cli.exploring.view import ExplorationView
from tiersim.devices import catalogue
from tiersim.errors import ScenarioError, TiersimError, did_you_mean
from tiersim.scenarios import library
from tiersim.scenarios.exploring.explorer import Explorer

_MOST_BYTES = 64 << 10  # of a question
#: A stream of events says something at least so often, so that one whose page is gone ends.
_BEAT_S = 15.0
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself says what it may load
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STRANGER = (
    "this browser has not opened the address that tiersim explore printed; it can be opened once, start tiersim explore"
    " again for another browser"
)
#: Keys that a search proposes, whatever the volume is now.
_OF_CANDIDATES = (".device", ".count", ".layout")
#: What a question is answered with besides an error.
_Answer = Mapping[str, Any]


class Gate:
    """Who is let in: who spends the token gets the cookie, who has the cookie may ask."""

    def __init__(self, port: int) -> None:
        """Make a token and a cookie that nobody can guess."""
        self.token = secrets.token_urlsafe(32)
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.cookie_name = f"tiersim-explore-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self._lock, self._is_spent = Lock(), False

    def spend(self, token: str) -> str | None:
        """Return the cookie for the token, once."""
        with self._lock:
            if self._is_spent or not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self._is_spent = True
            return self._cookie

    def refusal(self, headers: Message, *, asks: bool) -> tuple[HTTPStatus, str] | None:
        """Return why a request is refused, None when it is let in; *asks*: it may change something."""
        host, origin = headers.get("Host", ""), headers.get("Origin")
        if host not in self.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, f"this server is {self.hosts[0]}; open the address that was printed"
        if (asks or origin) and origin != f"http://{host}":
            return HTTPStatus.FORBIDDEN, "another page asks; only the page of this server may"
        if asks and headers.get("Content-Type") != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a question is JSON; write Content-Type: application/json"
        if not hmac.compare_digest(self._given(headers).encode(), self._cookie.encode()):
            return HTTPStatus.FORBIDDEN, _STRANGER
        return None

    def _given(self, headers: Message) -> str:
        try:
            found = SimpleCookie(headers.get("Cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return "" if found is None else found.value


class ExplorationServer(ThreadingHTTPServer):
    """Serves one exploration until nobody has asked anything for a while."""

    def __init__(self, view: ExplorationView, port: int, idle_s: float) -> None:
        """Listen on the loopback interface; *port* 0 is any that is free. Raises OSError."""
        self.view, self.idle_s = view, idle_s
        super().__init__(("127.0.0.1", port), Handler)
        self.gate = Gate(self.server_port)
        self.asked_at = time.monotonic()
        self.why_ended = ""
        self.page = view.page().encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser goes away in the middle of a request: that is no fault."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """What is to be opened."""
        return f"http://{self.gate.hosts[0]}/?token={self.gate.token}"

    def run(self) -> None:
        """Serve until the idle time is over, or an interrupt."""
        Thread(target=self._end_when_idle, daemon=True).start()
        self.serve_forever(poll_interval=0.2)

    def _end_when_idle(self) -> None:
        while (left_s := self.asked_at + self.idle_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 1.0))
        self.why_ended = f"Nobody changed anything for {self.idle_s / 60:.3g} minutes, so tiersim explore has ended."
        self.view.explorer.end()
        time.sleep(0.5)  # pages hear of it
        self.shutdown()


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: ExplorationServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tiersim", ""

    def do_GET(self) -> None:
        """The page, and the stream of events."""
        url = urlsplit(self.path)
        token = parse_qs(url.query).get("token", [None])[0]
        if url.path == "/" and token is not None and self.headers.get("Host", "") in self.server.gate.hosts:
            return self._let_in(token)
        refused = self.server.gate.refusal(self.headers, asks=False)
        if refused:
            return self._say(*refused)
        self.server.asked_at = time.monotonic()
        if url.path == "/":
            return self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)
        if url.path == "/events":
            return self._stream()
        return self._say(HTTPStatus.NOT_FOUND, "there is no such page; open the address that was printed")

    def do_POST(self) -> None:
        """A question: JSON in, JSON out, an error as one sentence."""
        refused = self.server.gate.refusal(self.headers, asks=True)
        length = self.headers.get("Content-Length", "")
        if refused is None and not (length.isdigit() and int(length) <= _MOST_BYTES):
            refused = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question is at most {_MOST_BYTES >> 10} KiB long"
        if refused:
            self.close_connection = True  # what it has sent is not read
            return self._answer(refused[0], {"error": refused[1]})
        self.server.asked_at = time.monotonic()
        try:
            asked = json.loads(self.rfile.read(int(length)))
            if not isinstance(asked, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError):
            return self._answer(HTTPStatus.BAD_REQUEST, {"error": "a question is one JSON object"})
        try:
            answer = answered(self.server.view, self.path, asked)
        except TiersimError as error:
            return self._answer(HTTPStatus.OK, {"error": str(error)})
        if answer is None:
            return self._answer(HTTPStatus.NOT_FOUND, {"error": f"{self.path}: nothing is asked here"})
        return self._answer(HTTPStatus.OK, answer)

    def _let_in(self, token: str) -> None:
        gate = self.server.gate
        if gate.refusal(self.headers, asks=False) is None:
            return self._redirect(None)  # its own address, opened again
        cookie = gate.spend(token)
        if cookie is None:
            text = "this address was opened before, or is not the one that was printed; start tiersim explore again"
            return self._say(HTTPStatus.FORBIDDEN, text)
        return self._redirect(f"{gate.cookie_name}={cookie}; HttpOnly; SameSite=Strict; Path=/")

    def _redirect(self, cookie: str | None) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", "/")
        if cookie is not None:
            self.send_header("Set-Cookie", cookie)
        self._finish(b"")

    def _stream(self) -> None:
        """Tell of each change, until the page goes or the exploration ends."""
        view = self.server.view
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.close_connection = True
        for name, value in {**_HEADERS, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        seen, drawn = -1, -1
        try:
            while not self.server.why_ended:
                tick = view.explorer.wait(seen, _BEAT_S)
                if tick == seen:
                    self.wfile.write(b": still here\n\n")
                    continue
                seen = tick
                now, figures = view.figures()
                if now != drawn and figures:
                    drawn = now
                    self._event("picture", figures)
                self._event("state", view.state())  # behind the picture: it says what the figures are of
            self._event("end", json.dumps(self.server.why_ended))
        except OSError:
            return  # the page is gone

    def _event(self, name: str, text: str) -> None:
        self.wfile.write(f"event: {name}\ndata: {text}\n\n".encode())
        self.wfile.flush()

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text[0].upper()}{text[1:]}.\n".encode())

    def _answer(self, status: HTTPStatus, answer: _Answer) -> None:
        self._send(status, "application/json", json.dumps(answer).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self._finish(body)

    def _finish(self, body: bytes) -> None:
        for name, value in {**_HEADERS, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say what the protocol does not allow in a sentence too, not in a page of HTML."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._say(status, message or status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on the terminal: the token is in the first address."""


def answered(view: ExplorationView, path: str, asked: Mapping[str, Any]) -> _Answer | None:
    """Do what the page sends to *path* and return the answer; None if no action has that path. Raises TiersimError."""
    explorer = view.explorer
    questions: dict[str, Callable[[], object]] = {
        "/change": lambda: explorer.change(_settings(explorer, asked)),
        "/begin": lambda: explorer.begin_with(_of_library(_text(asked, "name"))),
        "/pin": explorer.pin,
        "/unpin": lambda: explorer.unpin(_text(asked, "letter")),
        "/back": lambda: explorer.back_to(_text(asked, "letter")),
        "/search": lambda: explorer.search(_text(asked, "target")),
        "/save": lambda: view.save_scenario(_text(asked, "name")),
        "/export": lambda: view.save_page(_text(asked, "name")),
    }
    if path not in questions:
        return None
    made = questions[path]()
    return {"version": explorer.state.version} if made is None else {"saved": str(made)}


def _text(asked: Mapping[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str):
        raise ScenarioError(f"{key}: is missing, or no text; send a text")
    return value


def _of_library(name: str) -> str:
    """Return a name of the library: a page names no files."""
    if name not in library.names():
        raise ScenarioError(f"{name!r} is not a scenario that comes with tiersim; choose one of the list")
    return name


def _settings(explorer: Explorer, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys that the page has controls for, with values; a device is one of the catalogue: a page names no
    files.
    """
    settings = asked.get("settings")
    if not isinstance(settings, dict) or not all(
        value is None or isinstance(value, str | int | float) for value in settings.values()
    ):
        raise ScenarioError("settings: is not an object; send keys and values")
    known = {control.key: control.value for control in explorer.controls()}
    for key, value in settings.items():
        if key not in known and not key.endswith(_OF_CANDIDATES):
            raise ScenarioError(f"{key}: cannot be changed here; change it in the file of the scenario")
        if key.endswith(".device") and value not in (known.get(key), *catalogue.names()):
            raise ScenarioError(
                f"{value!r} is not a device of the catalogue"
                + (did_you_mean(str(value), catalogue.names()) or "; choose one of the list")
            )
    return settings
