"""The functions for MATLAB, run by Octave, and their syntax, which MATLAB must know too."""

import subprocess
import sys
from pathlib import Path

import nibabel
import pytest
from conftest import WRAPPERS, needed

SCRIPT = r"""
addpath('%(matlab)s');
f = fimbria.phantom_crossing('size', [12 12 8], 'output', 'it''s a phantom', 'quiet', true);
d = fimbria.fit_dti(f.dwi, 'mask', f.mask, 'maps', {'FA', 'V1'}, 'quiet', true);
assert(d.FA, fullfile('dti', 'FA.nii.gz'));
assert(isfield(d, 'MD'), false);
b = fimbria.fit_dti(f.dwi, 'fslgrad', {f.dwi_bvec, f.dwi_bval}, 'shells', [1000 2000], ...
                    'layout', 'fsl', 'output', 'fsl', 'quiet', true);
assert(b.FA, fullfile('fsl', 'dti_FA.nii.gz'));
c = fimbria.convert(d.FA, 'output', 'copy.nii', 'quiet', true);
assert(c.file, 'copy.nii');
o = fimbria.fit_fod(f.dwi, 'mask', f.mask, 'quiet', true);
t = fimbria.track(o.fod, 'seeds', {f.mask}, 'select', 20, 'min_length', 0, 'quiet', true);
assert(t.tracks, fullfile('track', 'tracks.trx'));
"""


@pytest.fixture(scope="session")
def octave():
    return needed("octave-cli")


def test_functions_run_and_say_what_they_wrote(octave, tmp_path):
    done = of_octave(octave, tmp_path, SCRIPT)
    assert done.returncode == 0, done.stderr
    assert nibabel.load(tmp_path / "dti" / "FA.nii.gz").shape == (12, 12, 8)
    assert nibabel.load(tmp_path / "copy.nii").shape == (12, 12, 8)


def test_what_the_program_refuses_is_an_error(octave, tmp_path):
    (tmp_path / "no.nii").write_bytes(b"")
    done = of_octave(octave, tmp_path, "addpath('%(matlab)s'); fimbria.fit_dti('no.nii');")
    assert done.returncode != 0
    assert "error: " in done.stderr and "no.nii" in done.stderr


def test_an_option_that_there_is_not_is_an_error(octave, tmp_path):
    done = of_octave(octave, tmp_path, "addpath('%(matlab)s'); fimbria.fit_dti('dwi.nii', 'msak', 1);")
    assert done.returncode != 0 and "fimbria fit dti has no option msak" in done.stderr


def test_every_function_is_read_and_has_help(octave, tmp_path):
    names = sorted(path.stem for path in (WRAPPERS / "+fimbria").glob("*.m"))
    lines = [f"assert(!isempty(strfind(help('fimbria.{name}'), '{name.upper()}')));" for name in names]
    done = of_octave(octave, tmp_path, "\n".join(["addpath('%(matlab)s');", *lines]))
    assert done.returncode == 0, done.stderr


def test_the_syntax_is_that_of_matlab():
    lint = Path(sys.executable).parent / "mh_lint"
    done = subprocess.run([lint, "--ignore-config", "--input-encoding", "utf-8", str(WRAPPERS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def of_octave(octave, folder, script):
    path = folder / "script.m"
    path.write_text(script % {"matlab": WRAPPERS} if "%(" in script else script)
    return subprocess.run(
        [octave, "--no-gui", "--quiet", "--no-init-file", str(path)], cwd=folder, capture_output=True, text=True
    )
