"""Puts the program, which `make wheel` built, and the components beside it into the wheel."""

import os
import platform
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        folder = Path(os.environ["TOOLCELL_PACKAGE"])
        build_data["pure_python"] = False
        # It links to nothing, so that it runs beside every C library; the kernel is looked at when it starts.
        machine = platform.machine()
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
        build_data["shared_scripts"][str(folder / "bin/toolcell")] = "toolcell"
        for component in sorted(folder.glob("lib/toolcell/*.wasm")):
            build_data["shared_data"][str(component)] = f"lib/toolcell/{component.name}"
