"""Puts machine code into the wheel, where TIERSIM_MACHINE_CODE names a folder of it: see `make wheel`.

An editable install of a checkout without symbolic links is refused: nothing could be imported from it.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def unlinked(package: Path) -> list[str]:
    """Return the links of src/tiersim to parts of it that were checked out as files."""
    return sorted(one.name for one in package.iterdir() if one.is_file() and not one.suffix)


class MachineCode(BuildHookInterface[Any]):
    """The folder has one folder for each level of processors, which was the cache while kernels compiled for it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files. A key holds bytecode, so the wheel is for one version of Python."""
        if version == "editable" and (parts := unlinked(Path(self.root, "src", "tiersim"))):
            self.app.abort(
                f"src/tiersim: {', '.join(parts)}: files in place of symbolic links;"
                " run `git config core.symlinks true` (on Windows in developer mode),"
                " then `git checkout -- src/tiersim`"
            )
        made = os.environ.get("TIERSIM_MACHINE_CODE")
        if made is None or version == "editable":
            return
        for file in sorted(Path(self.root, made).glob("*/tiersim/kernels/*")):
            if file.suffix != ".lock":
                build_data["force_include"][str(file)] = f"tiersim/kernel/shipped/{file.parts[-4]}/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{sys.version_info.major}{sys.version_info.minor}-none-manylinux_2_17_x86_64"
