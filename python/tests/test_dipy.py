"""The maps of DIPY, from DIPY's own table and shapes."""

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
