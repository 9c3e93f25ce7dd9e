"""What is shown, told, and sent to other processes."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import fimbria
from fimbria._progress import Shown, bar


@pytest.fixture(scope="module")
def single(directions):
    """One fibre along y in every voxel: its table and series."""
    b = np.r_[np.zeros(4), np.repeat([1000.0, 2000.0], 40)]
    ways = np.r_[np.zeros((4, 3)), directions, directions]
    table = fimbria.Gradients(b, ways, frame="scanner")
    signal = 1000 * np.exp(-b * (2e-4 + 1.5e-3 * ways[:, 1] ** 2))
    return table, np.tile(signal.astype(np.float32), (10, 10, 10, 1))


@pytest.fixture(scope="module")
def sticks(single):
    return fimbria.sample_sticks(single[1][:4, :, :2], single[0], fibres=1, burn_in=50, jumps=50, sample_every=5)


@pytest.fixture(scope="module")
def densities(single):
    return fimbria.FibreOrientationModel(single[0], tissues="white", order="4").fit(single[1])


def middle_of(shape):
    middle = np.zeros(shape, dtype=bool)
    middle[shape[0] // 2, shape[1] // 2, shape[2] // 2] = True
    return middle


def tracked(sticks):
    return fimbria.track(sticks, middle_of(sticks.status.shape), samples=3, threads=1).points


def fa_of_image(image):
    return fimbria.fit("dti", image, threads=1).fa


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_sticks_and_images_go_to_other_processes(tmp_path, single, sticks, method):
    nibabel = pytest.importorskip("nibabel")
    table, series = single
    nibabel.save(nibabel.Nifti1Image(series, np.diag([2.0, 2, 2, 1])), tmp_path / "dwi.nii")
    np.savetxt(tmp_path / "b", table.bvals[None])
    np.savetxt(tmp_path / "v", table.bvecs.T)
    image = fimbria.load(tmp_path / "dwi.nii", bval=tmp_path / "b", bvec=tmp_path / "v", bvec_frame="scanner")
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        np.testing.assert_array_equal(pool.submit(tracked, sticks).result(300), tracked(sticks))
        np.testing.assert_array_equal(pool.submit(fa_of_image, image).result(300), fa_of_image(image))


def test_what_is_made_can_be_pickled(single, sticks, densities):
    again = pickle.loads(pickle.dumps(sticks))
    np.testing.assert_array_equal(again.samples(0)[0], sticks.samples(0)[0])
    assert again.counts == sticks.counts and again.n_samples == sticks.n_samples
    fit = pickle.loads(pickle.dumps(densities))
    np.testing.assert_array_equal(fit.fod, densities.fod)
    assert fit.gtab.frame == "scanner" and fit.model.options == densities.model.options
    found = fimbria.peaks(densities)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).directions, found.directions)
    tracks = fimbria.track(densities, middle_of((10, 10, 10)), select=3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tracks)).visits, tracks.visits)
    kind, parts = sticks._samples.__reduce__()
    with pytest.raises(ValueError, match="no samples of sticks"):
        kind(*parts[:5], parts[5][1:])
    with pytest.raises(ValueError, match="no samples of sticks"):
        kind((1, 1, 1), *parts[1:])


def test_a_notebook_shows_pictures(single, sticks, densities):
    found = fimbria.peaks(densities)
    tracks = fimbria.track(densities, middle_of((10, 10, 10)), select=5)
    field = np.random.default_rng(0).normal(0, 0.02, (10, 10, 10)).astype(np.float32)
    mask = np.ones(field.shape, bool)
    shown = {
        "peaks": found,
        "tracks": tracks,
        "sticks": sticks,
        "weights": fimbria.life(tracks, single[1], single[0]),
        "susceptibility": fimbria.qsm(field, mask=mask, method="tkd"),
        "connectome": fimbria.connectome(tracks, np.arange(1000).reshape(10, 10, 10) // 500 + 1),
        "fit": densities,
    }
    for name, one in shown.items():
        html = one._repr_html_()
        assert html.count("data:image/png;base64,") >= 1 and "<table>" in html, name
    assert "<td>5</td>" in shown["tracks"]._repr_html_()
    assert shown["tracks"]._repr_html_().count("<img") == 3
    assert "<img" not in fimbria.Tractogram(np.zeros((0, 3)), [0])._repr_html_()


def test_colours_of_a_picture_are_the_axes():
    import base64
    import re
    import zlib

    from fimbria._picture import coloured

    along = np.zeros((2, 3, 1, 3))
    along[0, 0, 0], along[1, 2, 0] = [1, 0, 0], [0, 0, -1]
    html = coloured(along, np.ones((2, 3, 1)))
    png = base64.b64decode(re.search(r"base64,([^\"]*)", html)[1])
    rows = zlib.decompress(png[png.index(b"IDAT") + 4 :])
    pixels = np.frombuffer(rows, np.uint8).reshape(3, 7)[:, 1:].reshape(3, 2, 3)
    # y goes upwards.
    assert pixels[2, 0].tolist() == [255, 0, 0] and pixels[0, 1].tolist() == [0, 0, 255] and pixels.sum() == 510


def test_a_bar_says_how_far_and_how_long():
    assert bar("fit", 1, 4, 30) == "fit  25%|█████               | 1/4 [00:30<01:30]"
    assert bar("fit", 0, 4, 1) == "fit   0%|                    | 0/4 [00:01<?]"
    assert bar("fit", 4, 4, 3700) == "fit 100%|████████████████████| 4/4 [1:01:40<00:00]"
    assert bar("fit", 53, 200, 10.6) == "fit  26%|█████▎              | 53/200 [00:10<00:29]"
    assert bar("reading", 0, 0, 5) == "reading [00:05]"


def test_a_bar_is_shown_where_it_is_seen_and_taken_away(monkeypatch, capsys):
    monkeypatch.setattr("fimbria._progress.PATIENCE_S", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Shown(None) as shown:
        shown("fit", 1, 2)
    assert "50%|██████████" in capsys.readouterr().err
    with Shown(False) as shown:
        assert shown is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    with Shown(None) as shown:
        assert shown is None
    with Shown(True) as shown:
        shown("fit", 2, 2)
    # The line is empty again.
    assert capsys.readouterr().err.endswith(" \r")


def test_streamlines_know_where_they_were_started(densities):
    rng = np.random.default_rng(3)
    points = rng.uniform(2, 7, (12, 3)).astype(np.float32)
    tracks = fimbria.track(densities, points, samples=2, min_length=0)
    assert len(tracks) == 24
    # Voxel coordinates and back, in single precision.
    np.testing.assert_allclose(tracks.seeds, np.repeat(points, 2, axis=0), atol=1e-5)
    some = tracks[[5, 1]]
    np.testing.assert_array_equal(some.per_streamline["seed"], tracks.per_streamline["seed"][[5, 1]])


def test_anisotropy_of_a_function_is_its_spread(densities):
    found = fimbria.peaks(densities)
    # The same function by its harmonics and by its unique entries, and by points.
    entries = fimbria.peaks(densities.hot)
    np.testing.assert_allclose(found.gfa, entries.gfa, atol=1e-5)
    assert entries.shm_coeff is None and found.shm_coeff.shape == (10, 10, 10, 15)
    z = np.linspace(-1, 1, 4001)[:-1] + 1 / 4000
    phi = np.pi * (1 + 5**0.5) * np.arange(4000)
    ways = np.stack([np.sqrt(1 - z**2) * np.cos(phi), np.sqrt(1 - z**2) * np.sin(phi), z], axis=1)
    values = densities.odf(ways)[0, 0, 0]
    # A lattice of 4000 points integrates degree 8 to better than a thousandth.
    assert found.gfa[0, 0, 0] == pytest.approx(np.sqrt(1 - values.mean() ** 2 / (values**2).mean()), abs=1e-3)
    constant = np.zeros((1, 1, 1, 15), np.float32)
    constant[..., 0] = 1
    assert fimbria.peaks(constant, sh_basis="mrtrix").gfa == 0


def test_parameters_of_an_expression_are_a_dict_of_starts_and_bounds(single):
    table, series = single
    words = ["S0=500,0,-", "D=0.5,0,10.0", "C=0,fixed"]
    said = {"S0": (500, 0, None), "D": (np.float64(0.5), 0, 10.0), "C": (0, "fixed")}
    expression = "S0*exp(-b*D)+C"
    by_dict, by_words = (fimbria.ExpressionModel(table, expression, param=one).fit(series[:2]) for one in (said, words))
    for name, values in by_words.maps.items():
        np.testing.assert_array_equal(by_dict.maps[name], values)
    np.testing.assert_array_equal(fimbria.fit("expr", series[:2], table, model=expression, param=said).D, by_words.D)


def test_an_image_that_does_not_say_how_it_lies_is_warned_of(tmp_path, single):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(single[1][..., 0], None), tmp_path / "nowhere.nii")
    with pytest.warns(fimbria.FimbriaWarning, match="nowhere.nii.*fimbria help troubleshooting"):
        fimbria.load(tmp_path / "nowhere.nii")


def test_a_repaired_table_is_warned_of(tmp_path, single):
    nibabel = pytest.importorskip("nibabel")
    table, series = single
    nibabel.save(nibabel.Nifti1Image(series, np.diag([2.0, 2, 2, 1])), tmp_path / "dwi.nii")
    bvecs = table.bvecs.copy()
    bvecs[:4] = np.nan
    np.savetxt(tmp_path / "dwi.bval", table.bvals[None])
    np.savetxt(tmp_path / "dwi.bvec", bvecs.T)
    with pytest.warns(fimbria.FimbriaWarning, match="fimbria help troubleshooting"):
        image = fimbria.load(tmp_path / "dwi.nii", bvec_frame="scanner")
    np.testing.assert_allclose(image.gradients.bvecs, table.bvecs, atol=1e-12)
    with pytest.raises(ValueError, match="bvec_frame is `mrtrix`"):
        fimbria.load(tmp_path / "dwi.nii", bvec_frame="mrtrix")
