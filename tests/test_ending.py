"""One signal ends a recording; an impatient second one must not stop what is put back."""

import os
import signal
import time

import pytest

from tiersim.traces.recorders import ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_a_wish_and_one_right_behind_it_is_let_go_by(number: int) -> None:
    before = signal.getsignal(number)
    with ending.ended_by_signals() as ended:
        assert not ended.is_set()
        os.kill(os.getpid(), number)
        assert ended.is_set()
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_later_one_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_PUTTING_BACK_S", 0.01)
    with pytest.raises(KeyboardInterrupt), ending.ended_by_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending.ended_by_signals() as ended:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not ended.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)
