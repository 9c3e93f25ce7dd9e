"""The tasks of pydra, run on a phantom."""

import fimbria_pydra as fimbria
import nibabel
import pytest
from pydra.compose import workflow


def test_every_task_can_be_made():
    assert {"FA", "run_json", "written"} <= set(fimbria.FitDti.Outputs.__annotations__)
    for name in fimbria.__all__:
        assert getattr(fimbria, name).Outputs


def test_a_fit_says_where_its_maps_are(phantom, tmp_path):
    fit = fimbria.FitDti(dwi=phantom / "dwi.nii.gz", mask=phantom / "mask.nii.gz", maps=["FA", "V1"])
    outputs = fit(cache_root=tmp_path)
    assert nibabel.load(str(outputs.FA)).shape == (14, 14, 10)
    assert nibabel.load(str(outputs.V1)).shape == (14, 14, 10, 3)
    assert outputs.MD is None


def test_words_are_those_of_the_command_line(phantom):
    table = [phantom / "dwi.bvec", phantom / "dwi.bval"]
    dwi, mask = phantom / "dwi.nii.gz", phantom / "mask.nii.gz"
    fit = fimbria.FitDti(dwi=dwi, fslgrad=table, shells=[1000.0, 2000.0], force=True, verbose=1)
    line = fit.cmdline
    assert line.startswith(f"fimbria fit dti {dwi} ")
    for words in (f"--fslgrad {table[0]} {table[1]}", "--shells 1000.0,2000.0", "--force", "--verbose=1"):
        assert words in line
    track = fimbria.Track(directions=dwi, seeds=[mask], include=[mask, dwi], samples=3)
    assert f"--include {mask} --include {dwi}" in track.cmdline


def test_densities_are_tracked_in_a_workflow(phantom, tmp_path):
    @workflow.define
    def Densities(dwi: fimbria.FsObject, mask: fimbria.FsObject) -> fimbria.FsObject:
        fit = workflow.add(fimbria.FitFod(dwi=dwi, mask=mask))
        track = workflow.add(fimbria.Track(directions=fit.fod, seeds=[mask], select=20, min_length=0.0))
        return track.tracks

    densities = Densities(dwi=phantom / "dwi.nii.gz", mask=phantom / "mask.nii.gz")
    assert str(densities(cache_root=tmp_path).out).endswith("tracks.trx")


def test_what_the_program_refuses_is_an_error(phantom, tmp_path):
    fit = fimbria.FitDti(dwi=phantom / "mask.nii.gz")
    with pytest.raises(RuntimeError, match="no gradient table found"):
        fit(cache_root=tmp_path)
