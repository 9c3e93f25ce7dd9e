"""The examples in docstrings, and what is said of the machine and of commands."""

import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fimbria


@pytest.mark.parametrize("name", ["fimbria", "fimbria.chunks", "fimbria.eigen", "fimbria.gradients", "fimbria.methods", "fimbria.tractograms"])
def test_examples_give_what_they_say(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0 and found.attempted > 0


def test_devices_are_asked_for_as_the_program_asks():
    for device in fimbria.devices():
        assert device.asked.split(":")[0] in ("gpu", "opencl") and device.name and device.memory > 0


def test_a_device_that_is_not_there_is_one_error(gtab, series):
    with pytest.raises(fimbria.FimbriaError, match="names no device"):
        fimbria.TensorModel(gtab).fit(series, device="abacus")
    with pytest.raises(fimbria.FimbriaError, match="opencl:99"):
        fimbria.TensorModel(gtab).fit(series, device="opencl:99")
    assert fimbria.TensorModel(gtab).fit(series, device="cpu").counts == {"fitted": 60}


def test_describe_says_what_the_program_does(program, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    said = fimbria.describe("track")
    assert "select" in [option["name"] for option in said["options"]]
    assert "fit dti" in [command["name"] for command in fimbria.describe()]
    with pytest.raises(fimbria.FimbriaError, match="nothing"):
        fimbria.describe("nothing")


def test_nvrtc_is_found_among_the_packages_of_this_python():
    """Without LD_LIBRARY_PATH, and in a process that has not opened it yet."""
    package = pytest.importorskip("nvidia.cuda_nvrtc")
    assert (Path(next(iter(package.__path__))) / "lib").is_dir()
    plain = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    words = [sys.executable, "-c", "import fimbria; print(fimbria.nvrtc())"]
    found = subprocess.run(words, capture_output=True, text=True, check=True, env=plain)
    assert found.stdout.startswith("(12, ")
