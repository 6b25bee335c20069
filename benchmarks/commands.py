"""Programs that are run and have to succeed."""

import subprocess
from collections.abc import Sequence

from benchmarks.errors import BenchError


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Run a program and return what it printed; raises BenchError with the end of its complaint."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd="/", stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is not there; install it") from None
    if done.returncode:
        raise BenchError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout + done.stderr
