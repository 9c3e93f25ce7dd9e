"""The program under the name that engines call, and tiny data to run it on.

The environment variable FIMBRIA names the program; without it, it is what stands on the path.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Nipype and pydra ask a server for newer versions unless told not to.
os.environ["NO_ET"] = "1"


def prepare():
    """The program, first on the path as `fimbria`, and the wrappers that it writes, which tests import."""
    program = shutil.which(os.environ.get("FIMBRIA", "fimbria"))
    assert program, "no program: name it by the environment variable FIMBRIA"
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    (folder / "fimbria").symlink_to(Path(program).resolve())
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    os.environ["FIMBRIA"] = str(folder / "fimbria")
    for form in ("nipype", "pydra", "matlab"):
        run(os.environ["FIMBRIA"], "describe", "--format", form, "-o", folder / "wrappers")
    sys.path[:0] = [str(folder / "wrappers"), str(ROOT / "qsirecon")]
    return folder / "wrappers"


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


WRAPPERS = prepare()


@pytest.fixture(scope="session")
def program():
    """The program."""
    return os.environ["FIMBRIA"]


@pytest.fixture(scope="session")
def phantom(program, tmp_path_factory):
    """Crossing bundles, two shells."""
    folder = tmp_path_factory.mktemp("data") / "phantom"
    run(program, "phantom", "crossing", "--size", "14,14,10", "--shells", "1000:20,2000:30", "-o", folder)
    return folder


@pytest.fixture(scope="session")
def qsiprep(phantom, tmp_path_factory):
    """Two subjects as QSIPrep leaves them."""
    root = tmp_path_factory.mktemp("data") / "qsiprep"
    for label in ("01", "02"):
        folder = root / f"sub-{label}" / "dwi"
        folder.mkdir(parents=True)
        start = f"sub-{label}_space-ACPC_desc-"
        for extension in ("nii.gz", "bval", "bvec"):
            shutil.copy(phantom / f"dwi.{extension}", folder / f"{start}preproc_dwi.{extension}")
        shutil.copy(phantom / "mask.nii.gz", folder / f"{start}brain_mask.nii.gz")
    (root / "dataset_description.json").write_text(
        '{"Name": "phantom", "BIDSVersion": "1.10.0", "DatasetType": "derivative", '
        '"GeneratedBy": [{"Name": "QSIPrep"}]}'
    )
    return root


def needed(tool):
    """The path of a program; where it is missing the test is skipped, or fails where tools are required."""
    found = shutil.which(tool)
    if not found:
        missing = f"{tool} is not installed"
        if os.environ.get("FIMBRIA_REQUIRE_TOOLS"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found
