"""The proposal to QSIRecon: its interface run, its labels beside QSIRecon's."""

import interface
import nibabel
import yaml
from conftest import ROOT
from nipype import Node

FOLDER = ROOT / "qsirecon"
# Labels that QSIRecon 26.0 gives to maps that fimbria makes too (qsirecon/data/scalars/dipy_dki.yaml).
THEIRS = """dki_ad dki_ak dki_kfa dki_linearity dki_md dki_mk dki_mkt dki_planarity dki_rd dki_rk
dki_sphericity tensor_rd1 tensor_rd2 msdki_awf msdki_di msdki_mfa msdki_msd msdki_msk""".split()


def test_maps_come_under_the_labels_of_qsirecon(phantom, tmp_path):
    fit = Node(interface.FimbriaFit(models=["dti", "dki", "msdki"]), name="fit", base_dir=str(tmp_path))
    fit.inputs.dwi_file = str(phantom / "dwi.nii.gz")
    fit.inputs.bval_file = str(phantom / "dwi.bval")
    fit.inputs.bvec_file = str(phantom / "dwi.bvec")
    fit.inputs.mask_file = str(phantom / "mask.nii.gz")
    outputs = fit.run().outputs
    for label in [*THEIRS, "tensor_fa", "tensor_md", "tensor_ad", "tensor_rd"]:
        assert nibabel.load(getattr(outputs, label)).shape == (14, 14, 10), label


def test_every_scalar_has_the_fields_that_qsirecon_reads():
    scalars = interface.SCALARS
    assert set(THEIRS) <= set(scalars)
    for label, scalar in scalars.items():
        bids = scalar["bids"]
        assert label == "_".join(bids[entity] for entity in ("model", "param", "desc") if entity in bids)
        assert scalar["metadata"]["Description"]


def test_the_reconstruction_has_the_keys_of_a_spec():
    spec = yaml.safe_load((FOLDER / "fimbria_maps.yaml").read_text())
    assert set(spec) == {"description", "name", "nodes"}
    known = {"action", "input", "name", "parameters", "qsirecon_suffix", "software", "scalars_from"}
    for node in spec["nodes"]:
        assert {"action", "input", "name", "parameters", "software"} <= set(node) <= known
    assert set(spec["nodes"][0]["parameters"]["models"]) <= set(interface.MODELS)


def test_the_workflow_is_python():
    compile((FOLDER / "workflow.py").read_text(), "workflow.py", "exec")
