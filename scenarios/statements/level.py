"""What a scenario runs of a bundle: its statements, or its requests."""

from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.traces.bundle import Bundle
from tiersim.traces.statements import STATEMENTS
from tiersim.traces.statistics import NAME as STATISTICS
from tiersim.traces.statistics import PARTS


def runs_statements(bundle: Bundle, scenario: NamedScenario) -> bool:
    """Tell whether a scenario runs the statements of a bundle, and not its requests: it has an engine, or there are no
    requests.
    """
    if scenario.model.engine is not None:
        return True
    return not bundle.rows and any((bundle.path / name).exists() for name in (STATISTICS, PARTS, STATEMENTS))


def refuse_keys_of_statements(scenario: NamedScenario) -> None:
    """Raise ScenarioError for keys that make no difference to a replay of requests."""
    for key in ("cache_state", "warmup", "since_checkpoint"):
        if key in scenario.model.replay.model_fields_set:
            raise ScenarioError(
                f"{scenario.name}: replay.{key}: is of runs of statements, and this one replays requests; leave it out,"
                " or add [engine]"
            )
