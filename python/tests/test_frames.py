"""Axes of directions and places of voxels: what comes out lies where the fibres lie in the scanner."""

from types import SimpleNamespace

import numpy as np
import pytest

import fimbria

SHAPE = (12, 12, 12)
#: where the fibres of all voxels point in the scanner
FIBRE = np.array([2.0, 1.0, 0.5]) / np.linalg.norm([2.0, 1.0, 0.5])


def turned(degrees, axis):
    """A rotation about an axis of the scanner."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.eye(3)
    i, j = [k for k in range(3) if k != axis]
    turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
    return turn


@pytest.fixture(params=["det < 0", "det > 0", "oblique, det < 0", "oblique, det > 0", "axes swapped"])
def grid(request):
    """An affine, and the axes of voxels and FSL's in the scanner, as columns."""
    signs = np.diag([-1.0 if "< 0" in request.param else 1.0, 1.0, 1.0])
    turn = turned(25, 2) @ turned(-15, 0) if "oblique" in request.param else np.eye(3)
    if request.param == "axes swapped":
        turn = turn[:, [1, 2, 0]]
    voxel = turn @ signs
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = voxel * [2.0, 2.5, 3.0], [-20, 10, 5]
    # FSL counts x the other way where the determinant is positive.
    fsl = voxel * [-1.0 if np.linalg.det(voxel) > 0 else 1.0, 1.0, 1.0]
    return affine, {"scanner": np.eye(3), "voxel": voxel, "fsl": fsl}


@pytest.fixture(scope="module")
def measured(directions):
    """b-values, directions in the scanner, and the signal of FIBRE in every voxel."""
    b = np.r_[np.zeros(4), np.repeat([1000.0, 2000.0], 40)]
    ways = np.r_[np.zeros((4, 3)), directions, directions]
    signal = 1000 * np.exp(-b * (2e-4 + 1.5e-3 * (ways @ FIBRE) ** 2))
    return b, ways, np.tile(signal.astype(np.float32), (*SHAPE, 1))


@pytest.fixture(scope="module")
def seeds():
    middle = np.zeros(SHAPE, dtype=bool)
    middle[5:7, 5:7, 5:7] = True
    return middle


def table_of(frame, measured, axes):
    b, ways, _ = measured
    return fimbria.Gradients(b, ways @ axes[frame], frame=frame)


def fod_of(table, series, affine):
    return fimbria.FibreOrientationModel(table, tissues="white", order="4").fit(series, affine=affine)


def along(directions):
    """The smallest cosine to FIBRE, of axes [..., 3]."""
    return np.abs(directions @ FIBRE).min()


def lines_along(direction, affine, n=20, length=12.0):
    """Streamlines through the middle of the grid."""
    middle = (affine @ [5.5, 5.5, 5.5, 1])[:3]
    shifts = np.random.default_rng(0).uniform(-3, 3, (n, 1, 3))
    points = middle + shifts + np.linspace(-length / 2, length / 2, 25)[:, None] * direction
    return points.reshape(-1, 3).astype(np.float32)


@pytest.mark.parametrize("frame", ["scanner", "voxel", "fsl"])
def test_peaks_and_streamlines_of_a_fit_lie_along_the_fibres_in_the_scanner(grid, measured, seeds, frame):
    affine, axes = grid
    fit = fod_of(table_of(frame, measured, axes), measured[2], affine)
    # The lobe of degree 4 is wide and its maximum is where the signal is symmetric about.
    assert along(fimbria.peaks(fit, number=1).peak_dirs[..., 0, :]) > np.cos(np.radians(1))
    tracks = fimbria.track(fit, seeds, select=20, algorithm="deterministic")
    ends = np.array([line[-1] - line[0] for line in tracks])
    assert along(ends / np.linalg.norm(ends, axis=1, keepdims=True)) > np.cos(np.radians(3))
    # Weights are those of the densities in scanner axes; harmonics are turned in single precision.
    lines = fimbria.Tractogram(lines_along(FIBRE, affine), np.arange(0, 501, 25), affine=affine, shape=SHAPE)
    straight = fod_of(table_of("scanner", measured, axes), measured[2], affine)
    np.testing.assert_allclose(fimbria.sift2(lines, fit).weights, fimbria.sift2(lines, straight).weights, rtol=0.02)


def test_the_tensor_stays_in_the_axes_of_its_table(grid, measured):
    affine, axes = grid
    for frame in ("scanner", "voxel", "fsl"):
        fit = fimbria.TensorModel(table_of(frame, measured, axes)).fit(measured[2][:2, :2, :2], affine=affine)
        np.testing.assert_allclose(np.abs(fit.V1 @ (FIBRE @ axes[frame])), 1, atol=1e-5)
        assert fit.gtab.frame == frame
        np.testing.assert_array_equal(fit.affine, affine)


@pytest.mark.parametrize("frame", ["voxel", "fsl"])
def test_sticks_and_life_are_of_the_scanner(grid, measured, seeds, frame):
    affine, axes = grid
    table, series = table_of(frame, measured, axes), measured[2]
    sticks = fimbria.sample_sticks(series, table, mask=seeds, affine=affine, fibres=1, burn_in=200, jumps=200, sample_every=10)
    # Noiseless, so that samples stay near; chains are short.
    assert along(sticks.dyads1[seeds]) > np.cos(np.radians(2))
    assert along(np.moveaxis(sticks.samples(0)[0][seeds], 1, 0).mean(axis=0)) > 0.9
    across = np.cross(FIBRE, [0.0, 0.0, 1.0])
    points = np.concatenate([lines_along(FIBRE, affine), lines_along(across / np.linalg.norm(across), affine)])
    lines = fimbria.Tractogram(points, np.arange(0, 1001, 25), affine=affine, shape=SHAPE)
    weights = fimbria.life(lines, series, table, affine=affine).weights
    # Sticks across the fibres explain next to nothing of the signal, which is not quite that of sticks.
    assert weights[:20].sum() > 0 and weights[20:].sum() < 0.03 * weights[:20].sum()


def test_water_around_fibres_is_of_an_image_of_peaks(grid, measured, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    affine, axes = grid
    table, series = table_of("scanner", measured, axes), measured[2]
    peaks = np.tile((0.4 * FIBRE).astype(np.float32), (*SHAPE, 1))
    nibabel.save(nibabel.Nifti1Image(peaks, affine), tmp_path / "peaks.nii")
    lines = fimbria.Tractogram(lines_along(FIBRE, affine), np.arange(0, 501, 25), affine=affine, shape=SHAPE)
    found = fimbria.life(
        lines, series, table, affine=affine, demean="none", axial=1.7e-3, hindered=[2e-4], peaks=tmp_path / "peaks.nii"
    )
    # The signal is that of a zeppelin of these diffusivities along the fibre: water around fibres is all of it.
    passed = found.maps["restricted"] + found.maps["hindered"] > 0
    assert np.median(found.maps["hindered"][passed]) == pytest.approx(1, abs=0.02)


def test_a_table_of_dipy_is_in_voxel_axes_and_one_of_nobody_is_refused(grid, measured, seeds):
    affine, axes = grid
    b, ways, series = measured
    theirs = SimpleNamespace(bvals=b, bvecs=ways @ axes["voxel"])
    assert along(fimbria.peaks(fod_of(theirs, series, affine), number=1).peak_dirs[..., 0, :]) > np.cos(np.radians(1))
    unsaid = fod_of((b, ways), series, affine)
    line = fimbria.Tractogram(lines_along(FIBRE, affine, n=1), [0, 25], affine=affine, shape=SHAPE)
    for work in (
        lambda: fimbria.peaks(unsaid),
        lambda: fimbria.track(unsaid, seeds),
        lambda: fimbria.sift2(line, unsaid),
        lambda: fimbria.life(line, series, (b, ways), affine=affine),
        lambda: fimbria.sample_sticks(series, (b, ways), affine=affine),
    ):
        with pytest.raises(ValueError, match="the axes of the gradient table are not known"):
            work()
    # What is said goes.
    assert along(fimbria.peaks(unsaid, frame="scanner", number=1).peak_dirs[..., 0, :]) > np.cos(np.radians(1))
    # Without a place there is one frame alone.
    assert len(fimbria.track(fod_of((b, ways), series, None), seeds, select=3)) == 3
    with pytest.raises(ValueError, match="frame is `mrtrix`"):
        fimbria.Gradients(b, ways, frame="mrtrix")


def test_streamlines_in_a_scanner_and_arrays_without_a_place_are_not_put_together(grid, measured):
    affine, axes = grid
    table, series = table_of("scanner", measured, axes), measured[2]
    line = fimbria.Tractogram(lines_along(FIBRE, affine, n=1), [0, 25], affine=affine, shape=SHAPE)
    for work in (
        lambda: fimbria.life(line, series, table),
        lambda: fimbria.connectome(line, np.ones(SHAPE, int)),
        lambda: fimbria.sift2(line, fod_of(table, series, None)),
    ):
        with pytest.raises(ValueError, match="say affine="):
            work()


def test_weights_do_not_hide_that_nobody_said_how_labels_lie(grid):
    affine, _ = grid
    line = fimbria.Tractogram(lines_along(FIBRE, affine, n=1), [0, 25], affine=affine, shape=SHAPE)
    with pytest.raises(ValueError, match="say affine="):
        fimbria.connectome(line, np.ones(SHAPE, int), weights=[1.0])


def test_streamlines_of_a_file_lie_in_the_scanner_whatever_its_format(grid, tmp_path):
    affine, _ = grid
    path = tmp_path / "line.tck"
    fimbria.Tractogram(lines_along(FIBRE, affine, n=1), [0, 25]).save(path)
    with pytest.raises(ValueError, match="say affine="):
        fimbria.connectome(path, np.ones(SHAPE, int))


def test_maps_of_a_connectome_lie_on_its_labels(grid):
    nibabel = pytest.importorskip("nibabel")
    affine, _ = grid
    lines = fimbria.Tractogram(lines_along(FIBRE, affine), np.arange(21) * 25, affine=affine, shape=SHAPE)
    labels = np.ones(SHAPE, np.int16)
    labels[6:] = 2
    slope = np.arange(12, dtype=np.float32)[:, None, None] * np.ones(SHAPE, np.float32)
    image = nibabel.Nifti1Image(labels, affine)
    placed = fimbria.connectome(lines, image, map={"x": nibabel.Nifti1Image(slope, affine)})
    beside = fimbria.connectome(lines, image, map={"x": slope})
    np.testing.assert_array_equal(beside.means["x"], placed.means["x"])
    assert 4 < beside.means["x"][0, 1] < 7
    with pytest.raises(ValueError, match=r"the map x has the voxels \(6, 12, 12\), and the labels \(12, 12, 12\)"):
        fimbria.connectome(lines, image, map={"x": slope[::2]})


def test_arrays_of_other_voxels_than_the_directions_are_refused(grid):
    affine, _ = grid
    ways = np.tile(FIBRE.astype(np.float32), (*SHAPE, 1))
    seeds = np.zeros(SHAPE, bool)
    seeds[5:7, 5:7, 5:7] = True
    same = {"affine": affine, "samples": 1}
    assert len(fimbria.track(ways, seeds, include=seeds, **same))
    for name, given in (
        ("seeds", {"seeds": seeds[::2]}),
        ("include", {"seeds": seeds, "include": seeds[::2]}),
        (r"target\[1\]", {"seeds": seeds, "target": [seeds, seeds[::2]]}),
    ):
        with pytest.raises(ValueError, match=rf"{name} has the voxels \(6, 12, 12\), and the directions \(12, 12, 12\)"):
            fimbria.track(ways, **given, **same)
    fod = np.zeros((*SHAPE, 15), np.float32)
    fod[..., 0] = 1
    with pytest.raises(ValueError, match="act has the voxels"):
        fimbria.track(fod, seeds, hot=True, act=np.zeros((6, 12, 12, 5), np.float32), affine=affine)


@pytest.mark.parametrize("frame", ["voxel", "fsl"])
def test_a_tensor_fit_guides_susceptibility_with_its_axes(grid, measured, frame):
    affine, axes = grid
    fit = fimbria.TensorModel(table_of(frame, measured, axes)).fit(measured[2], affine=affine)
    field = np.random.default_rng(0).normal(0, 0.01, SHAPE).astype(np.float32)
    same = {"mask": np.ones(SHAPE, bool), "affine": affine, "iterations": 3, "fa": fit.FA, "method": "dtv"}
    expected = fimbria.qsm(field, v1=np.tile(FIBRE.astype(np.float32), (*SHAPE, 1)), **same).chi
    # Directions of the fit are right to single precision.
    np.testing.assert_allclose(fimbria.qsm(field, v1=fit, **same).chi, expected, atol=1e-4 * np.abs(expected).max())


class Placed:
    """As an image of nibabel."""

    def __init__(self, dataobj, affine):
        self.dataobj, self.affine = dataobj, affine


def stored(mask, affine, order, backwards):
    """The same voxels along other axes."""
    again = np.transpose(mask, order)
    turn = np.zeros((4, 4))
    turn[3, 3] = 1
    for axis, source in enumerate(order):
        turn[source, axis] = 1
    for axis in backwards:
        again = np.flip(again, axis)
        flip = np.eye(4)
        flip[axis, axis], flip[axis, 3] = -1, again.shape[axis] - 1
        turn = turn @ flip
    return Placed(again, affine @ turn)


@pytest.mark.parametrize(("order", "backwards"), [((0, 1, 2), (0,)), ((2, 0, 1), ()), ((1, 2, 0), (0, 2))])
def test_a_mask_is_brought_onto_the_voxels_of_the_series(grid, measured, order, backwards):
    affine, axes = grid
    series = Placed(measured[2][:8, :6, :5], affine)
    mask = np.zeros((8, 6, 5), np.uint8)
    mask[1:3, 2:6, 4:] = 1
    mask[7, 0, 0] = 1
    model = fimbria.TensorModel(table_of("scanner", measured, axes))
    other = stored(mask, affine, order, backwards)
    for kind in (np.uint8, bool, np.int64, np.float64, ">i2"):
        other.dataobj = other.dataobj.astype(kind)
        np.testing.assert_array_equal(model.fit(series, mask=other).status, mask)
    # The same is said of an array.
    np.testing.assert_array_equal(model.fit(series.dataobj, mask=other, affine=affine).status, mask)


def test_a_mask_of_other_voxels_is_refused(grid, measured):
    affine, axes = grid
    series = Placed(measured[2], affine)
    model = fimbria.TensorModel(table_of("scanner", measured, axes))
    moved = affine.copy()
    moved[0, 3] += 1
    with pytest.raises(fimbria.FimbriaError, match="the mask"):
        model.fit(series, mask=Placed(np.ones(SHAPE), moved))
    with pytest.raises(fimbria.FimbriaError, match="the mask"):
        model.fit(series, mask=Placed(np.ones((12, 12, 11)), affine))
    with pytest.raises(ValueError, match="mask has the shape"):
        model.fit(series, mask=np.ones((12, 12, 11)))
    with pytest.raises(ValueError, match=r"mask has the shape \(12, 12, 12, 2\)"):
        model.fit(series, mask=Placed(np.ones((*SHAPE, 2)), affine))
    with pytest.raises(fimbria.FimbriaError, match="no voxel"):
        model.fit(series, mask=Placed(np.full(SHAPE, np.nan), affine))


def test_a_magnitude_elsewhere_is_refused(grid):
    affine, _ = grid
    phase = np.zeros((*SHAPE, 2), np.float32)
    moved = affine.copy()
    moved[2, 3] += 2
    with pytest.raises(fimbria.FimbriaError, match="the magnitude"):
        fimbria.local_field(Placed(phase, affine), magnitude=Placed(np.ones_like(phase), moved), te=[4, 8], b0=3)
