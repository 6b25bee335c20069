"""A compass search: deterministic, without derivatives, which a simulation does not have."""

from collections.abc import Callable, Mapping

#: Factors that a parameter is tried at, coarse to fine.
STEPS = (1.25, 1.1, 1.04, 1.015)


def compass(
    misfit: Callable[[Mapping[str, float]], float],
    start: Mapping[str, float],
    free: tuple[str, ...],
    steps: tuple[float, ...] = STEPS,
    rounds: int = 6,
) -> tuple[dict[str, float], float]:
    """Move one *free* parameter after another by a factor while the misfit falls; returns the best and its misfit.

    What a round has gained is tried once more as a whole: Hooke & Jeeves, "Direct search solution of numerical and
    statistical problems", Journal of the ACM 8(2), 1961.
    """
    best, least = dict(start), misfit(start)
    for step in steps:
        for _ in range(rounds):
            base, before = best, least
            for name in free:
                for factor in (step, 1 / step):
                    tried = best | {name: best[name] * factor}
                    found = misfit(tried)
                    if found < least:
                        best, least = tried, found
                        break
            if least >= before:
                break
            tried = best | {name: best[name] * best[name] / base[name] for name in free}
            found = misfit(tried)
            if found < least:
                best, least = tried, found
    return best, least
