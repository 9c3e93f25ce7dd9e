"""The interfaces of nipype, run on a phantom."""

import fimbria_nipype as fimbria
import nibabel
import pytest
from nipype import Node, Workflow


def test_every_interface_can_be_made_and_says_its_help():
    for name in fimbria.__all__:
        interface = getattr(fimbria, name)
        interface.help(returnhelp=True)
        assert interface().output_spec().get()


def test_a_fit_says_where_its_maps_are(phantom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = fimbria.FitDti(dwi=str(phantom / "dwi.nii.gz"), mask=str(phantom / "mask.nii.gz"), maps=["FA", "V1"])
    outputs = fit.run().outputs
    assert outputs.written == str(tmp_path / "dti")
    assert nibabel.load(outputs.FA).shape == (14, 14, 10)
    assert nibabel.load(outputs.V1).shape == (14, 14, 10, 3)
    with pytest.raises(AttributeError):
        outputs.no_such_map


@pytest.mark.parametrize("layout", ["fimbria", "fsl", "mrtrix", "bids"])
def test_maps_are_found_in_every_layout(phantom, tmp_path, monkeypatch, layout):
    monkeypatch.chdir(tmp_path)
    fit = fimbria.FitDti(dwi=str(phantom / "dwi.nii.gz"), mask=str(phantom / "mask.nii.gz"), layout=layout)
    outputs = fit.run().outputs
    for name in ("FA", "MD", "V1", "S0", "residual", "status"):
        assert getattr(outputs, name), name


def test_words_are_those_of_the_command_line(phantom):
    table = [str(phantom / "dwi.bvec"), str(phantom / "dwi.bval")]
    dwi, mask = str(phantom / "dwi.nii.gz"), str(phantom / "mask.nii.gz")
    fit = fimbria.FitDti(dwi=dwi, fslgrad=table, shells=[1000, 2000], bmax=1234.5678901, force=True, verbose=1)
    assert fit.cmdline == (
        f"fimbria fit dti {dwi} --bmax 1234.5678901 --force --fslgrad {table[0]} {table[1]} "
        "--output dti --shells 1000.0,2000.0 --verbose=1"
    )
    track = fimbria.Track(directions=dwi, seeds=[mask], include=[mask, dwi], samples=3)
    assert f"--include {mask} --include {dwi}" in track.cmdline


def test_densities_are_tracked_in_a_workflow(phantom, tmp_path):
    fit = Node(fimbria.FitFod(dwi=str(phantom / "dwi.nii.gz"), mask=str(phantom / "mask.nii.gz")), name="fit")
    track = Node(fimbria.Track(seeds=[str(phantom / "mask.nii.gz")], select=20, min_length=0), name="track")
    workflow = Workflow("densities", base_dir=str(tmp_path))
    workflow.connect(fit, "fod", track, "directions")
    graph = workflow.run()
    tracks = next(node for node in graph.nodes() if node.name == "track").result.outputs.tracks
    assert tracks.endswith("tracks.trx")


def test_a_file_that_is_written_is_found(phantom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = fimbria.Convert(input=str(phantom / "dwi.nii.gz"), output="other.nii").run().outputs
    assert outputs.file == str(tmp_path / "other.nii")
    assert outputs.file_bval == str(tmp_path / "other.bval")
    assert outputs.file_run_json == str(tmp_path / "other.nii.run.json")


def test_what_the_program_refuses_is_an_error(phantom, tmp_path):
    fit = Node(fimbria.FitDti(dwi=str(phantom / "mask.nii.gz")), name="fit", base_dir=str(tmp_path))
    with pytest.raises(Exception, match="no gradient table found"):
        fit.run()
