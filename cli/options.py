"""Options that several commands take."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is already there.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of each scenario: --set engine.buffer_pool=4GiB. Repeat it."),
]
RecordedOn = Annotated[
    str | None,
    typer.Option(
        "--recorded-on",
        help="Calibrate: a scenario of the recorded hardware, simulated and compared with the recording.",
    ),
]
