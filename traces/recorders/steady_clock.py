"""A server's clock as one that is never set: what it says by the recorder's own clock, which only counts on."""

import sys
import time

from tiersim.units import NS_PER_S

#: Less is the way to the server and back, or a clock that is corrected bit by bit (NTP: at most 500 ppm, adjtimex(2)).
_STEP_NS = 2 * NS_PER_S


def steady_ns(*, local: bool) -> int:
    """Return the time of a clock that is never set. It stands still while this machine is suspended only where the
    server is *local*, which is suspended, too: another one goes on. Linux alone has such a clock.
    """
    if local or sys.platform != "linux" or not hasattr(time, "clock_gettime_ns"):
        return time.monotonic_ns()
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class SteadyClock:
    """Takes readings of a server's clock in order; ``steps`` says of each time that it was set, a sentence each."""

    def __init__(self) -> None:
        """Begin without any reading."""
        self.steps: list[str] = []
        self._set_by_ns = 0
        self._last: tuple[int, int] | None = None

    def read(self, server_ns: int, asked_ns: int, answered_ns: int) -> int:
        """Return the time of a reading that came between two times of a monotonic clock, as if the server's had not
        been set since the first.
        """
        middle_ns = (asked_ns + answered_ns) // 2
        if self._last is not None:
            last_server_ns, last_middle_ns = self._last
            off_ns = server_ns - last_server_ns - (middle_ns - last_middle_ns)
            if abs(off_ns) > _STEP_NS + (answered_ns - asked_ns) // 2:
                self._set_by_ns += off_ns
                self.steps.append(
                    f"the server's clock was set {'back' if off_ns < 0 else 'forward'} by {abs(off_ns) / NS_PER_S:,.0f}"
                    " s while it was recorded; from there on times count on as if it had not been"
                )
        self._last = server_ns, middle_ns
        return server_ns - self._set_by_ns
