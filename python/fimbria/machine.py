"""What works here, and what the program says of itself."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import FimbriaError
from ._program import program


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


def nvrtc() -> tuple[int, int] | None:
    """The version of NVIDIA's run-time compiler that CUDA needs beside the driver; None where there is none.

    `pip install "fimbria[cuda]"` brings it.
    """
    return _core.nvrtc()


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

    Examples
    --------
    >>> describe("fit dti")["name"]
    'fit dti'
    """
    words = command.split() if command else []
    done = subprocess.run([program(), "describe", *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise FimbriaError(done.stderr.strip())
    return json.loads(done.stdout)
