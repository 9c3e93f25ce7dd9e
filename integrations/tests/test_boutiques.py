"""The descriptors of Boutiques: valid, and three launched."""

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


@pytest.mark.parametrize(
    ("command", "said", "made"),
    [
        (
            "fit-dti",
            {"dwi": "dwi.nii.gz", "maps": ["FA", "MD"], "bmax": 1200, "output": "dti"},
            ["dti/FA.nii.gz", "dti/MD.nii.gz", "dti/run.json"],
        ),
        (
            "convert",
            {"input": "dwi.nii.gz", "datatype": "float64", "output": "dwi.mif"},
            ["dwi.mif", "dwi.mif.run.json"],
        ),
        (
            "phantom-tensors",
            {"output": "tensors"},
            ["tensors/run.json"],
        ),
    ],
)
def test_a_descriptor_is_launched(descriptors, phantom, tmp_path, command, said, made):
    inputs = {"dwi", "input"}
    invocation = tmp_path / "invocation.json"
    found = {key: str(phantom / value) if key in inputs else value for key, value in said.items()}
    invocation.write_text(json.dumps(found))
    descriptor = next(path for path in descriptors if path.name == f"fimbria-{command}.json")
    done = subprocess.run(
        [BOSH, "exec", "launch", str(descriptor), str(invocation), "--skip-data-collection"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [name for name in made if not (tmp_path / name).is_file()] == []
