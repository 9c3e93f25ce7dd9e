"""Local fields and maps of susceptibility: the numbers of the program on the same scan."""

import json
import subprocess

import numpy as np
import pytest

import fimbria

nibabel = pytest.importorskip("nibabel")


@pytest.fixture(scope="module")
def scan(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    run(program, "phantom", "gre", "--size", "24,24,20", "--voxel", "5", "-o", folder / "in")
    run(
        program, "field", folder / "in/phase.nii.gz", "--magnitude", folder / "in/magnitude.nii.gz",
        "--mask", folder / "in/mask.nii.gz", "-o", folder / "field",
    )  # fmt: skip
    return folder


def run(program, *words):
    subprocess.run([program, *map(str, words), "-q"], check=True)


def read(path):
    return np.asarray(nibabel.load(path).dataobj)


@pytest.fixture(scope="module")
def echoes(scan):
    said = json.loads((scan / "in/phase.json").read_text())
    return [1e3 * time for time in said["EchoTime"]], said["MagneticFieldStrength"]


@pytest.fixture(scope="module")
def fields(scan, echoes):
    phase = nibabel.load(scan / "in/phase.nii.gz")
    return fimbria.local_field(
        np.asarray(phase.dataobj),
        magnitude=scan / "in/magnitude.nii.gz",
        mask=read(scan / "in/mask.nii.gz"),
        affine=phase.affine,
        te=echoes[0],
        b0=echoes[1],
    )


def test_fields_are_those_of_the_program(scan, fields):
    for name in ("total_field", "local_field", "mask", "weights", "r2star"):
        np.testing.assert_array_equal(fields.maps[name], read(scan / f"field/{name}.nii.gz"), name)


def test_what_phase_cannot_be_is_refused_as_by_the_program(scan, echoes):
    phase, mask = read(scan / "in/phase.nii.gz"), read(scan / "in/mask.nii.gz")
    with pytest.raises(fimbria.FimbriaError, match="echo times are neither given"):
        fimbria.local_field(phase, mask=mask, b0=3)
    with pytest.raises(fimbria.FimbriaError, match="in milliseconds"):
        fimbria.local_field(phase, mask=mask, b0=3, te=[1e3 * time for time in echoes[0]])
    with pytest.raises(fimbria.FimbriaError, match="a mask is needed"):
        fimbria.local_field(phase, b0=3, te=echoes[0])
    with pytest.raises(fimbria.FimbriaError, match="`radius` is not used by the background pdf"):
        fimbria.local_field(phase, mask=mask, b0=3, te=echoes[0], background="pdf", radius=8)
    with pytest.raises(ValueError, match="magnitude has the voxels"):
        fimbria.local_field(phase, magnitude=phase[1:], mask=mask, b0=3, te=echoes[0])


@pytest.mark.parametrize("method", ["dqsm", "tkd", "tensor"])
def test_susceptibility_is_that_of_the_program(program, scan, fields, tmp_path, method):
    rng = np.random.default_rng(4)
    v1 = rng.standard_normal((*fields.local_field.shape, 3)).astype(np.float32)
    v1 /= np.linalg.norm(v1, axis=-1, keepdims=True)
    fa = rng.uniform(0, 0.5, fields.local_field.shape).astype(np.float32)
    for name, array in (("v1", v1), ("fa", fa)):
        nibabel.save(nibabel.Nifti1Image(array, fields.affine), tmp_path / f"{name}.nii.gz")
    guides = ["--v1", tmp_path / "v1.nii.gz", "--fa", tmp_path / "fa.nii.gz", "--iterations", 10] if method != "tkd" else []
    run(
        program, "qsm", scan / "field/local_field.nii.gz", "--mask", scan / "field/mask.nii.gz", "--method", method,
        "--reference", scan / "field/mask.nii.gz", *guides, "-o", tmp_path / "chi",
    )  # fmt: skip
    guided = {"v1": v1, "fa": fa, "iterations": 10} if guides else {}
    found = fimbria.qsm(fields, method=method, reference=fields.mask, **guided)
    np.testing.assert_array_equal(found.chi, read(tmp_path / "chi/chi.nii.gz"))
    if method == "tensor":
        np.testing.assert_array_equal(found.msa, read(tmp_path / "chi/msa.nii.gz"))
    np.testing.assert_array_equal(found.residual, read(tmp_path / "chi/residual.nii.gz"))
    assert found.iterations.shape == ((10, 6) if guides else (0, 5))


def test_md_and_s0_guide_as_those_of_a_tensor_fit_do(program, scan, fields, tmp_path):
    rng = np.random.default_rng(5)
    shape = fields.local_field.shape
    v1 = rng.standard_normal((*shape, 3)).astype(np.float32)
    v1 /= np.linalg.norm(v1, axis=-1, keepdims=True)
    # Tissues in halves, so that there are edges to keep.
    half = np.arange(shape[0])[:, None, None] < shape[0] // 2
    maps = {"V1": v1, "FA": rng.uniform(0, 0.5, shape), "MD": 1e-3 + 1e-3 * half * np.ones(shape), "S0": 100 + 50 * half * np.ones(shape)}
    (tmp_path / "dti").mkdir()
    for name, array in maps.items():
        nibabel.save(nibabel.Nifti1Image(array.astype(np.float32), fields.affine), tmp_path / f"dti/{name}.nii.gz")
    run(
        program, "qsm", scan / "field/local_field.nii.gz", "--mask", scan / "field/mask.nii.gz",
        "--dti", tmp_path / "dti", "-o", tmp_path / "chi",
    )  # fmt: skip
    given = {name.lower(): array.astype(np.float32) for name, array in maps.items()}
    found = fimbria.qsm(fields, **given)
    np.testing.assert_array_equal(found.chi, read(tmp_path / "chi/chi.nii.gz"))
    # The default takes edges that the field supports, which it does not of these; dtv-all takes all.
    few = {"v1": given["v1"], "fa": given["fa"]}
    with_all, with_few = (fimbria.qsm(fields, method="dtv-all", **guide).chi for guide in (given, few))
    assert np.abs(with_all - with_few).max() > 0
    for wrong in ({"md": given["md"]}, {"s0": given["s0"], "v1": v1, "method": "dqsm"}):
        with pytest.raises(ValueError, match="md and s0 guide the method dtv"):
            fimbria.qsm(fields, **wrong)


def test_a_map_is_compared_with_a_truth(scan, fields):
    found = fimbria.qsm(fields, method="tkd", truth=scan / "in/truth/chi.nii.gz")
    assert found.metrics is not None and found.metrics["correlation"] > 0.2


def test_what_is_no_local_field_is_refused_as_by_the_program(fields):
    with pytest.raises(fimbria.FimbriaError, match="say what it is with field_unit"):
        fimbria.qsm(fields.local_field * 100, mask=fields.mask, affine=fields.affine)
    with pytest.raises(fimbria.FimbriaError, match="v1_frame is about fibre directions"):
        fimbria.qsm(fields, v1_frame="voxel")
    with pytest.raises(fimbria.FimbriaError, match="`v1` is not used by the method tkd"):
        fimbria.qsm(fields, method="tkd", v1=np.ones((*fields.mask.shape, 3)))
    with pytest.raises(fimbria.FimbriaError, match="v1 has 2 volumes"):
        fimbria.qsm(fields, v1=np.ones((*fields.mask.shape, 2)))
