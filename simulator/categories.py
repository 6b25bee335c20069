"""What latencies are counted under: the purpose of a read or write; flushes and discards by themselves."""

import numpy as np
from numpy.typing import NDArray

from tiersim.operations import DISCARD, FLUSH
from tiersim.traces.schema import LOG_WRITE, PURPOSES

REQUEST_CATEGORIES = (*PURPOSES, "log flush", "flush", "discard")
#: What the server waits for when it makes its log durable: the write, the flush behind it and the host between and after
#: them; and what of that the device takes. Neither is a request.
CATEGORIES = (*REQUEST_CATEGORIES, "log sync", "log sync on device")
LOG_SYNC, LOG_SYNC_DEVICE = len(REQUEST_CATEGORIES), len(REQUEST_CATEGORIES) + 1
#: Columns of counts by category that count requests, each once.
REQUESTS = slice(len(REQUEST_CATEGORIES))
_LOG_FLUSH, _FLUSH, _DISCARD = (CATEGORIES.index(name) for name in ("log flush", "flush", "discard"))


def categorise(op: NDArray[np.uint8], purpose: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Category of each request, uint8 index into CATEGORIES."""
    category = purpose.copy()
    category[op == FLUSH] = _FLUSH
    category[(op == FLUSH) & (purpose == LOG_WRITE)] = _LOG_FLUSH
    category[op == DISCARD] = _DISCARD
    return category
