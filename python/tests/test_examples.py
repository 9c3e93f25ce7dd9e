"""The examples in docstrings, and what is said of the machine and of commands."""

import doctest
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fimbria


MODULES = ["", "._fit", ".chunks", ".eigen", ".fits", ".gradients", ".images", ".machine", ".methods", ".models", ".programs", ".tractograms"]


def examples():
    """Every docstring that has an example, by the name of what it describes."""
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(f"fimbria{name}") for name in MODULES]
    found = [test for module in modules for test in finder.find(module) if test.examples]
    return {test.name: test for test in found}


@pytest.mark.parametrize("name", examples())
def test_examples_give_what_they_say(name):
    assert doctest.DocTestRunner().run(examples()[name]).failed == 0


def test_everything_that_is_called_has_an_example():
    without = {"devices", "fit_names", "nvrtc"}
    called = {name for name in fimbria.__all__ if inspect.isfunction(getattr(fimbria, name)) or name.endswith("Model")}
    shown = {name.rpartition(".")[2] for name in examples()}
    assert called - shown - without - {"Model"} == set()


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
