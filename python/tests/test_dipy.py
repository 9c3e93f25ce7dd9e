"""The maps of DIPY, from DIPY's own table and shapes."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import fimbria

pytest.importorskip("dipy")


@pytest.fixture(scope="module")
def table(gtab):
    from dipy.core.gradients import gradient_table

    return gradient_table(gtab.bvals, bvecs=gtab.bvecs)


@pytest.fixture(scope="module")
def noisy(series):
    rng = np.random.default_rng(3)
    return (series + rng.normal(0, 5, series.shape)).astype(np.float32)


def test_the_tensor_is_dipys(table, noisy):
    from dipy.reconst.dti import TensorModel

    mask = np.ones(noisy.shape[:3], dtype=bool)
    mask[0] = False
    for method in ("OLS", "WLS"):
        theirs = TensorModel(table, fit_method=method, return_S0_hat=True).fit(noisy, mask=mask)
        ours = fimbria.TensorModel(table, fit_method=method, compat="dipy").fit(noisy, mask=mask)
        # Ours ends in single precision.
        for name in ("fa", "md", "ad", "rd", "evals", "quadratic_form", "S0_hat", "mode"):
            a, b = getattr(ours, name)[mask], getattr(theirs, name)[mask]
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5 * np.abs(b).max(), err_msg=name)
        np.testing.assert_allclose(ours.lower_triangular(), theirs.lower_triangular(), atol=1e-8)
        predicted = theirs.predict(table, S0=theirs.S0_hat)[mask]
        np.testing.assert_allclose(ours.predict(table)[mask], predicted, rtol=1e-3)
        sphere = np.eye(3)
        np.testing.assert_allclose(ours.color_fa[mask], theirs.color_fa[mask], atol=1e-4)
        from dipy.core.sphere import Sphere

        odf = theirs.odf(Sphere(xyz=sphere))[mask]
        np.testing.assert_allclose(ours.odf(Sphere(xyz=sphere))[mask], odf, rtol=1e-3)


def test_kurtosis_is_dipys(table, series):
    from dipy.reconst.dki import DiffusionKurtosisModel

    # A mixture of two tensors has kurtosis.
    mixed = (0.6 * series + 0.4 * series[::-1]).astype(np.float64)
    theirs = DiffusionKurtosisModel(table, fit_method="OLS", return_S0_hat=True).fit(mixed)
    ours = fimbria.KurtosisModel(table, fit_method="OLS", compat="dipy").fit(mixed)
    scale = np.abs(theirs.kt).max()
    np.testing.assert_allclose(ours.kt, theirs.kt, atol=2e-3 * scale)
    np.testing.assert_allclose(ours.mkt(), theirs.mkt(), atol=5e-3)
    np.testing.assert_allclose(ours.ak(), theirs.ak(min_kurtosis=-3 / 7, max_kurtosis=10), atol=2e-2)
    signal = theirs.predict(table, S0=theirs.S0_hat)
    np.testing.assert_allclose(ours.predict(table), signal, rtol=2e-3)
    from dipy.core.sphere import Sphere

    sphere = Sphere(xyz=np.eye(3))
    np.testing.assert_allclose(ours.akc(sphere), theirs.akc(sphere), atol=2e-2)
    assert ours.model_params.shape == theirs.model_params.shape


def test_mean_signal_kurtosis_is_dipys(table, series):
    from dipy.reconst.msdki import MeanDiffusionKurtosisModel

    theirs = MeanDiffusionKurtosisModel(table).fit(series)
    ours = fimbria.MeanSignalKurtosisModel(table).fit(series)
    np.testing.assert_allclose(ours.MSD, theirs.msd, rtol=1e-4)
    np.testing.assert_allclose(ours.MSK, theirs.msk, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("legacy", [True, False])
def test_peaks_of_dipys_harmonics_are_dipys(legacy):
    from dipy.data import get_sphere
    from dipy.reconst.shm import sf_to_sh, sh_to_sf

    sphere = get_sphere(name="repulsion724")
    rng = np.random.default_rng(7)
    ways = rng.standard_normal((6, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    # A single lobe along each of them.
    lobes = (sphere.vertices @ ways.T).T ** 8
    harmonics = sf_to_sh(lobes, sphere, sh_order_max=8, basis_type="descoteaux07", legacy=legacy)
    found = fimbria.peaks(harmonics.reshape(6, 1, 1, -1), sh_basis="dipy-legacy" if legacy else "dipy")
    along = np.abs(np.einsum("vi,vi->v", found.peak_dirs[:, 0, 0, 0], ways))
    # cos^8 is a polynomial of order 8, whose maximum is where it was put, to single precision.
    np.testing.assert_allclose(along, 1, atol=1e-5)
    heights = sh_to_sf(harmonics, sphere, sh_order_max=8, basis_type="descoteaux07", legacy=legacy).max(axis=1)
    # The sphere of 724 points misses the maximum by up to 4 degrees.
    np.testing.assert_allclose(found.peak_values[:, 0, 0, 0], heights, rtol=0.03)


def test_connectomes_by_exact_label_are_dipys():
    from dipy.tracking.streamline import Streamlines
    from dipy.tracking.utils import connectivity_matrix

    rng = np.random.default_rng(8)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    labels = rng.integers(0, 5, (12, 12, 12))
    # Off the edges between voxels, where either side is right.
    parts = [2 * (rng.integers(0, 11, (5, 3)) + rng.uniform(-0.4, 0.4, (5, 3))) for _ in range(200)]
    theirs = connectivity_matrix(Streamlines(parts), affine, labels, inclusive=False, symmetric=True)
    ours = fimbria.connectome(parts, labels, affine=affine, exact_label=True)
    assert ours.labels.tolist() == [1, 2, 3, 4]
    expected = theirs[1:, 1:]
    np.testing.assert_array_equal(np.triu(ours.weights), np.triu(expected))


@pytest.mark.parametrize("affine", [np.diag([2.0, 2, 2, 1]), np.diag([-2.0, 2, 2, 1]), np.array([[0.0, 2, 0, 1], [-1.6, 0, 1.2, 2], [1.2, 0, 1.6, 3], [0, 0, 0, 1]])])
def test_peaks_become_dipys_in_voxel_axes(table, series, affine):
    """The fibre of a voxel is where DIPY looks for it, whatever the image."""
    fit = fimbria.FibreOrientationModel(table, tissues="white", order="4").fit(series, affine=affine)
    assert fit.gtab.frame == "voxel"
    found = fimbria.peaks(fit)
    pam = found.to_pam()
    # DIPY's own search on the same function, on the points of its sphere.
    from dipy.direction.peaks import peak_directions

    np.testing.assert_allclose(pam.odf, fit.odf(pam.sphere), atol=1e-5 * np.abs(pam.odf).max())
    for voxel in np.ndindex(series.shape[:3]):
        if found.count[voxel] == 0:
            continue
        dirs, _, indices = peak_directions(pam.odf[voxel], pam.sphere)
        # 362 points are some 11 degrees apart, and the greatest value need not be at the nearest one.
        assert abs(pam.peak_dirs[voxel][0] @ dirs[0]) > np.cos(np.radians(11))
        assert abs(pam.sphere.vertices[pam.peak_indices[voxel][0]] @ pam.peak_dirs[voxel][0]) > np.cos(np.radians(8))
    # DIPY's basis on DIPY's sphere gives the function back; degree 4 is held by both.
    np.testing.assert_allclose(pam.shm_coeff @ pam.B, pam.odf, atol=1e-4 * np.abs(pam.odf).max())
    from dipy.reconst.odf import gfa

    # DIPY's is of the points, ours of the function.
    np.testing.assert_allclose(pam.gfa, gfa(pam.odf), atol=0.01)
    assert pam.peak_values.shape == pam.qa.shape and (pam.qa >= 0).all()
    np.testing.assert_array_equal(pam.affine, affine)


def scripts():
    """The scripts of the manual, where it is beside."""
    page = Path(__file__).parents[2] / "docs" / "from-dipy.md"
    if not page.exists():
        pytest.skip("the manual is not there")
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_scripts_of_the_manual_find_the_same(tmp_path, monkeypatch):
    nibabel = pytest.importorskip("nibabel")
    fimbria.phantom_crossing(tmp_path, size="24,24,12", shells="2000:48", snr=40, force=True)
    monkeypatch.chdir(tmp_path)
    theirs, ours = scripts()
    assert theirs.startswith("# DIPY") and ours.startswith("# fimbria")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(theirs, {})
        exec(ours, {})
    a, b = (nibabel.load(f"fa-{name}.nii.gz").get_fdata() for name in ("dipy", "fimbria"))
    np.testing.assert_allclose(a, b, atol=2e-4)
    lines = [nibabel.streamlines.load(f"tracks-{name}.trk").streamlines for name in ("dipy", "fimbria")]
    # Voxels that many streamlines of one pass are passed by the other's too.
    passed = []
    for some in lines:
        voxels = nibabel.affines.apply_affine(np.linalg.inv(nibabel.load("dwi.nii.gz").affine), some.get_data())
        counts = np.zeros(a.shape, int)
        inside = np.clip(np.round(voxels).astype(int), 0, np.array(a.shape) - 1)
        np.add.at(counts, tuple(inside.T), 1)
        passed.append(counts)
    often = [counts > np.percentile(counts[counts > 0], 50) for counts in passed]
    assert (passed[1][often[0]] > 0).mean() > 0.9 and (passed[0][often[1]] > 0).mean() > 0.9


def test_kurtosis_that_noise_makes_extreme_is_clipped_as_dipys(table, series):
    from dipy.core.sphere import Sphere
    from dipy.reconst.dki import DiffusionKurtosisFit, DiffusionKurtosisModel

    noisy = np.abs(series + np.random.default_rng(5).normal(0, 150, series.shape)) + 1
    ours = fimbria.KurtosisModel(table, fit_method="OLS", compat="dipy").fit(noisy)
    # Their methods of the same tensors.
    theirs = DiffusionKurtosisFit(DiffusionKurtosisModel(table), ours.model_params.astype(np.float64))
    sphere = Sphere(xyz=np.eye(3))
    usable = ours.evals[..., 2] > 1e-5
    for name, given in (("mkt", ()), ("rtk", ()), ("akc", (sphere,))):
        a, b = getattr(ours, name)(*given)[usable], getattr(theirs, name)(*given)[usable]
        # Ours are in single precision.
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3, err_msg=name)
        assert a.min() == pytest.approx(-3 / 7), name
    free = fimbria.KurtosisModel(table, fit_method="OLS", unconstrained=True).fit(noisy)
    assert np.nanmin(free.mkt()) < -1 and np.nanmin(free.mkt(min_kurtosis=-0.1)) == pytest.approx(-0.1)


@pytest.mark.parametrize("shape", ["STE", "PTE"])
def test_a_table_of_other_than_linear_encoding_is_refused_by_name(gtab, series, shape):
    from dipy.core.gradients import gradient_table

    other = gradient_table(gtab.bvals, bvecs=gtab.bvecs, btens=shape)
    with pytest.raises(ValueError, match=r"gtab.btens of volume 4 .* linear encoding"):
        fimbria.TensorModel(other).fit(series)
    linear = gradient_table(gtab.bvals, bvecs=gtab.bvecs, btens="LTE")
    # b-values of their table are lengths of vectors.
    np.testing.assert_allclose(fimbria.TensorModel(linear).fit(series).fa, fimbria.TensorModel(gtab).fit(series).fa, atol=1e-5)
