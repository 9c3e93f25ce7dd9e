"""The descriptors of Boutiques: valid, and one launched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BOSH = str(Path(sys.executable).parent / "bosh")


@pytest.fixture(scope="session")
def descriptors(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("boutiques") / "descriptors"
    subprocess.run([program, "describe", "--format", "boutiques", "-o", str(folder)], check=True)
    return sorted(folder.glob("*.json"))


def test_every_descriptor_is_valid(descriptors):
    from boutiques.validator import validate_descriptor

    assert len(descriptors) > 30
    for path in descriptors:
        validate_descriptor(json.loads(path.read_text()))


def test_a_descriptor_is_launched(descriptors, phantom, tmp_path):
    invocation = tmp_path / "invocation.json"
    said = {"dwi": str(phantom / "dwi.nii.gz"), "maps": ["FA", "MD"], "bmax": 1200, "output": "dti"}
    invocation.write_text(json.dumps(said))
    fit = next(path for path in descriptors if path.name == "fimbria-fit-dti.json")
    done = subprocess.run(
        [BOSH, "exec", "launch", str(fit), str(invocation), "--skip-data-collection"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in (tmp_path / "dti").iterdir()} >= {"FA.nii.gz", "MD.nii.gz", "run.json"}
