"""What runs on Windows, too, calls nothing that only POSIX has; none was at hand, so the sources are looked at.

``make check`` has mypy look at them once more as for Windows: it knows of each name in the standard library where it
is.
"""

import ast
import enum
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tiersim.operating_system import ending_signals, lock, processors, sync

ROOT = Path(__file__).resolve().parents[1]
#: The recorders of a Linux machine, and the module that asks which system it is on.
LINUX = {
    "traces/recorders/block.py",
    "traces/recorders/tracefs.py",
    "traces/recorders/local_host.py",
    "traces/recorders/processes.py",
}
ASKING = {"src/tiersim/operating_system.py"}
#: Where a path of Linux that is not there is an answer.
ANSWERED = {
    "traces/recorders/postgres/connection.py": {"/proc/{info.backend_pid}/cmdline"},
    "traces/recorders/mysql/connection.py": {"/proc/{process}/comm"},
}

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMES = {
    "os": {
        *("O_CLOEXEC", "O_DIRECT", "O_DIRECTORY", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "O_TMPFILE"),
        *("WNOHANG", "chown", "chroot", "confstr", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "fstatvfs"),
        *(
            "getegid",
            "geteuid",
            "getgid",
            "getgroups",
            "getloadavg",
            "getpgid",
            "getpgrp",
            "getpriority",
            "getsid",
            "getuid",
        ),
        *("killpg", "lchown", "link", "lockf", "major", "makedev", "minor", "mkfifo", "mknod", "nice", "openpty"),
        *(
            "posix_fadvise",
            "posix_fallocate",
            "posix_spawn",
            "pread",
            "preadv",
            "pwrite",
            "pwritev",
            "sched_getaffinity",
        ),
        *(
            "sched_setaffinity",
            "sched_yield",
            "sendfile",
            "setegid",
            "seteuid",
            "setgid",
            "setpgid",
            "setpriority",
            "setsid",
            "setuid",
        ),
        *("statvfs", "symlink", "sync", "sysconf", "uname", "wait", "wait3", "wait4"),
    },
    "signal": {
        *(
            "SIGALRM",
            "SIGCHLD",
            "SIGCONT",
            "SIGHUP",
            "SIGKILL",
            "SIGPIPE",
            "SIGQUIT",
            "SIGSTOP",
            "SIGTSTP",
            "SIGUSR1",
            "SIGUSR2",
        ),
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigtimedwait", "sigwait", "sigwaitinfo"),
    },
    "select": {"epoll", "kqueue", "poll"},
    "time": {"clock_gettime", "clock_gettime_ns", "tzset"},
    "socket": {"AF_UNIX"},
}
PLACES = ("/dev/", "/etc/", "/proc", "/sys/", "/tmp", "/usr/", "/var/")


def sources() -> Iterator[str]:
    for part in ("src/tiersim", "cli", "scenarios", "simulator", "devices", "traces"):
        for path in sorted((ROOT / part).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix()


def _called(call: ast.Call) -> str:
    """The name of what is called; behind the last point alone, where what stands before it is no name."""
    of = call.func
    if isinstance(of, ast.Attribute):
        return f"{of.value.id}.{of.attr}" if isinstance(of.value, ast.Name) else f".{of.attr}"
    return of.id if isinstance(of, ast.Name) else ""


def names_of_posix(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield what only POSIX has, unless ``hasattr(module, name)`` stands before it."""
    asked = {
        ast.unparse(call.args[1]).strip("'\"")
        for call in nodes
        if isinstance(call, ast.Call) and _called(call) == "hasattr" and len(call.args) == 2
    }
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield f"from {node.module} import"
        elif isinstance(node, ast.ImportFrom) and node.module in NAMES:
            yield from (f"{node.module}.{a.name}" for a in node.names if a.name in NAMES[node.module])
        elif isinstance(node, ast.Attribute) and node.attr not in asked:
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in NAMES.get(module, ()):
                yield f"{module}.{node.attr}"


def places_of_linux(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the paths that are given to ``Path`` or ``open``."""
    for node in nodes:
        if isinstance(node, ast.Call) and _called(node) in ("Path", "open", "os.open"):
            for argument in node.args[:1]:
                text = ast.unparse(argument).lstrip("f").strip("'\"")
                if text.startswith(PLACES):
                    yield text


def texts_without_encoding(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield calls that read or write text in whatever encoding the system has: on Windows it is not UTF-8."""
    for node in nodes:
        if not isinstance(node, ast.Call) or any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        name = _called(node).rpartition(".")[2]
        if name not in ("read_text", "write_text", "open"):
            continue
        said = ast.unparse(node)
        if name != "open" and len(node.args) < (2 if name == "write_text" else 1):
            yield said
        if name == "open" and not said.startswith(("os.open", "tarfile.open", "webbrowser.open")):
            modes = [a for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Constant)]
            if not any("b" in str(mode.value) for mode in modes):
                yield said


def nodes_of(text: str) -> list[ast.AST]:
    return [*ast.walk(ast.parse(text))]


def faults(path: str) -> list[str]:
    nodes = nodes_of((ROOT / path).read_text(encoding="utf-8"))
    found = (
        []
        if path in LINUX | ASKING
        else [*names_of_posix(nodes), *({*places_of_linux(nodes)} - ANSWERED.get(path, set()))]
    )
    return [*found, *(() if path in LINUX else texts_without_encoding(nodes))]


@pytest.mark.long
def test_nothing_but_the_linux_recorders_needs_posix() -> None:
    assert {path: wrong for path in sources() if (wrong := faults(path))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "from os import fork",
        "os.geteuid()",
        "signal.SIGKILL",
        "Path('/proc/stat')",
        "open(name)",
        "p.read_text()",
    ],
)
def test_what_is_looked_for_is_found(source: str) -> None:
    nodes = nodes_of(source)
    assert [*names_of_posix(nodes), *places_of_linux(nodes), *texts_without_encoding(nodes)]


def test_what_was_asked_for_is_allowed() -> None:
    nodes = nodes_of("os.major(n) if hasattr(os, 'major') else None\nopen(n, 'rb')\np.read_text(encoding='ascii')")
    assert not [*names_of_posix(nodes), *places_of_linux(nodes), *texts_without_encoding(nodes)]


#: Nothing is kept: what is would be of no use to the check as for this system, whose own it would replace.
CACHE = ("--cache-dir", os.devnull)


@pytest.mark.long
def test_mypy_finds_nothing_else_as_for_windows() -> None:
    """It knows on which system each name of the standard library is there."""
    command = [sys.executable, "-m", "mypy", "--platform", "win32", "--no-error-summary", *CACHE, "src/tiersim"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {line.split(":")[0].removeprefix("src/tiersim/") for line in done.stdout.splitlines()}
    assert found <= LINUX, done.stdout
    assert not done.stderr


def test_a_process_can_be_ended_where_nothing_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ending_signals() == (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    of_windows = enum.IntEnum("of_windows", {"SIGINT": 2, "SIGTERM": 15, "SIGBREAK": 21})
    monkeypatch.setattr(signal, "Signals", of_windows)
    assert ending_signals() == (signal.SIGINT, signal.SIGTERM)


def test_processors_are_counted_where_no_affinity_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processors() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processors() == os.cpu_count()


def test_a_lock_is_for_one_and_ends_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.write_bytes(b"plan")
    one, other = (os.open(path, os.O_RDONLY) for _ in range(2))
    try:
        lock(one)
        with pytest.raises(BlockingIOError):
            lock(other)
        os.close(one)
        lock(other)
    finally:
        os.close(other)


def test_files_and_folders_are_synced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for path in (tmp_path / "file", tmp_path):
        sync(path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "none")
