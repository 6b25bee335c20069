"""docs/command-reference.md, made of the commands and their options; ``python -m tests.command_reference`` writes it
anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tiersim.cli.main import app

DOCUMENT = Path(__file__).parents[1] / "docs" / "command-reference.md"
_HEAD = """# Command reference

Every command with its options, as `tiersim COMMAND --help` prints them. [Commands by example](commands.md) shows them at work. An option with *repeat* may be given several times. Exit codes:
0 done, 1 refused with a sentence on standard error, 2 wrong use of a command, 130 interrupted. Every command takes `--memory SIZE` (Linux, 512 MiB or more), the most memory that it may ask
for ([faults](faults.md)).
"""  # noqa: E501


def document() -> str:
    """Return the page."""
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
    return "\n".join([_HEAD, *(part for name, command in commands.items() for part in _parts(name, command))])


def _parts(name: str, command: Any) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if inner is not None:
        for last, one in inner.items():
            yield from _parts(f"{name} {last}", one)
        return
    yield f"## `tiersim {name}`\n"
    yield _text(command.help)
    rows = [_row(one) for one in command.params if one.name != "memory"]
    yield "\n".join(["| argument or option | left out | meaning |", "|---|---|---|", *rows]) + "\n"


def _text(help: str) -> str:
    """Paragraphs on a line each; an example as code."""
    parts = (" ".join(part.split()) for part in help.split("\n\n"))
    return (
        "\n\n".join(
            f"Example: `{part.removeprefix('Example: ')}`" if part.startswith("Example: ") else part.replace("[", "\\[")
            for part in parts
        )
        + "\n"
    )


def _row(one: Any) -> str:
    names = f"`{one.name.upper()}`" if one.param_type_name == "argument" else ", ".join(f"`{opt}`" for opt in one.opts)
    left_out = "**required**" if one.required else "" if one.default in (None, False, ()) else f"`{one.default}`"
    said = " ".join((one.help or "").split()).replace("|", "\\|").replace("[", "\\[")
    repeat = " *Repeat.*" if one.multiple and "Repeat" not in said else ""
    return f"| {names} | {left_out} | {said}{repeat} |"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
