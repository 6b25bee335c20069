"""Puts machine code into the wheel, where TIERSIM_MACHINE_CODE names a folder of it: see `make wheel`."""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface):  # type: ignore[misc]
    """The folder has one folder for each level of processors, which was the cache while kernels compiled for it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files. A key holds bytecode, so the wheel is for one version of Python."""
        made = os.environ.get("TIERSIM_MACHINE_CODE")
        if made is None or version == "editable":
            return
        for file in sorted(Path(self.root, made).glob("*/tiersim/kernels/*")):
            if file.suffix != ".lock":
                build_data["force_include"][str(file)] = f"tiersim/kernel/shipped/{file.parts[-4]}/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{sys.version_info.major}{sys.version_info.minor}-none-manylinux_2_17_x86_64"
