"""What works here, and what the program says of itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._core import FimbriaError


@dataclass(frozen=True)
class Device:
    """A device that calls can be given: `device=` takes its `asked`."""

    #: gpu:0 or opencl:0, as `device=` and `--device` take it
    asked: str
    #: What the vendor calls it
    name: str
    #: The library it is reached through
    runtime: str
    #: Bytes of memory
    memory: int


def devices() -> list[Device]:
    """The GPUs, and all that OpenCL reaches; none where the threads work alone."""
    return [Device(*one) for one in _core.devices()]


def describe(command: str | None = None) -> Any:
    """What `fimbria describe` says of a command: its options, outputs and references, as lists and dicts.

    Parameters
    ----------
    command : str, optional
        "track" or "fit dti"; all of them by default.

    Raises
    ------
    FimbriaError
        Where there is no such command, or the program is not installed.
    """
    scripts = Path(sysconfig.get_path("scripts")) / "fimbria"
    program = str(scripts) if scripts.exists() else shutil.which("fimbria")
    if program is None:
        raise FimbriaError("the program fimbria is not there: it is installed with the package")
    words = command.split() if command else []
    done = subprocess.run([program, "describe", *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise FimbriaError(done.stderr.strip())
    return json.loads(done.stdout)
