"""Peaks, sticks, tracking, evaluation and connectomes: the numbers of the program on the same data."""

import json
import subprocess

import numpy as np
import pytest

import fimbria
from fimbria import _core

nibabel = pytest.importorskip("nibabel")


@pytest.fixture(scope="module")
def phantom(program, tmp_path_factory):
    """A head of 20 x 22 x 16 voxels, with densities that the program fitted."""
    folder = tmp_path_factory.mktemp("head")
    run(program, "phantom", "crossing", "--size", "20,22,16", "--voxel", "6", "--shells", "1000:20,2000:20", "-o", folder / "in")
    run(program, "fit", "fod", folder / "in/dwi.nii.gz", "--mask", folder / "in/mask.nii.gz", "-o", folder / "fod")
    return folder


@pytest.fixture(scope="module")
def fod(phantom):
    image = nibabel.load(phantom / "fod/fod.nii.gz")
    return np.asarray(image.dataobj, dtype=np.float32), image.affine


@pytest.fixture(scope="module")
def seeds(fod):
    """Some voxels in the middle."""
    inside = np.zeros(fod[0].shape[:3], dtype=bool)
    inside[8:12, 9:13, 7:9] = True
    return inside


def run(program, *words):
    subprocess.run([program, *map(str, words), "-q"], check=True)


def read(path):
    return np.asarray(nibabel.load(path).dataobj)


def save(path, array, affine):
    nibabel.save(nibabel.Nifti1Image(array.astype(np.float32), affine), path)
    return path


def test_peaks_are_those_of_the_program(program, phantom, fod, tmp_path):
    run(program, "peaks", phantom / "fod/fod.nii.gz", "--number", "2", "-o", tmp_path / "peaks")
    found = fimbria.peaks(fod[0], sh_basis="mrtrix", affine=fod[1], number=2)
    for name in ("peaks", "values", "count", "status"):
        np.testing.assert_array_equal(found.maps[name], read(tmp_path / f"peaks/{name}.nii.gz"), name)
    there = found.count > 0
    lengths = np.linalg.norm(found.peak_dirs, axis=-1)
    np.testing.assert_allclose(lengths[there, 0], 1, atol=1e-6)
    assert (found.peak_values[there, 0] > 0).all() and (found.peak_dirs[~there] == 0).all()


def test_peaks_of_a_fit_are_those_of_its_densities(phantom):
    image = fimbria.load(phantom / "in/dwi.nii.gz")
    mask = read(phantom / "in/mask.nii.gz")
    fit = fimbria.FibreOrientationModel(image.gradients).fit(image, mask=mask)
    np.testing.assert_allclose(fit.affine, image.affine)
    found = fimbria.peaks(fit)
    by_array = fimbria.peaks(fit.fod, sh_basis="mrtrix", affine=image.affine, mask=fit.status > 0)
    np.testing.assert_array_equal(found.directions, by_array.directions)
    assert (found.status[mask == 0] == 0).all()


def test_harmonics_without_a_basis_are_refused_as_the_program_does(fod):
    with pytest.raises(fimbria.FimbriaError, match="array of directions"):
        fimbria.peaks(fod[0], affine=fod[1])
    with pytest.raises(fimbria.FimbriaError, match="20 volumes"):
        fimbria.peaks(np.ones((2, 2, 2, 20)), sh_basis="mrtrix")
    with pytest.raises(ValueError, match="sh_basis is `tournier`"):
        fimbria.peaks(fod[0], sh_basis="tournier")
    with pytest.raises(fimbria.FimbriaError, match="number"):
        fimbria.peaks(fod[0], sh_basis="mrtrix", number=100)


@pytest.mark.parametrize("algorithm", ["probabilistic", "deterministic"])
def test_tracks_through_densities_are_those_of_the_program(program, phantom, fod, seeds, tmp_path, algorithm):
    path = save(tmp_path / "seeds.nii.gz", seeds, fod[1])
    run(program, "track", phantom / "fod/fod.nii.gz", "--seeds", path, "--select", 40, "--algorithm", algorithm, "-o", tmp_path / "out")
    tracks = fimbria.track(fod[0], seeds, sh_basis="mrtrix", affine=fod[1], select=40, algorithm=algorithm)
    theirs = fimbria.load_tractogram(tmp_path / "out/tracks.trx")
    same_lines(tracks, theirs)
    assert len(tracks) == 40 == tracks.kept[0]
    np.testing.assert_array_equal(tracks.visits, read(tmp_path / "out/visits.nii.gz"))
    record = json.loads((tmp_path / "out/run.json").read_text())
    counts = next(stage["counts"] for stage in record["stages"] if stage["name"] == "track")
    assert {name: tracks.counts[name] for name in ("samples", "kept", "points")} == {
        name: counts[name] for name in ("samples", "kept", "points")
    }


def same_lines(ours, theirs):
    np.testing.assert_array_equal(ours.offsets, theirs.offsets)
    np.testing.assert_array_equal(ours.points, theirs.points)
    assert set(ours.per_streamline) == set(theirs.per_streamline)
    for name, values in theirs.per_streamline.items():
        np.testing.assert_array_equal(ours.per_streamline[name], values, name)
    np.testing.assert_allclose(ours.affine, theirs.affine, atol=1e-6)
    assert tuple(ours.shape) == tuple(theirs.shape)


def test_tracks_along_peaks_with_regions_are_those_of_the_program(program, phantom, fod, tmp_path):
    seeds = np.zeros(fod[0].shape[:3], dtype=bool)
    seeds[5:15, 6:16, 5:11] = True
    run(program, "peaks", phantom / "fod/fod.nii.gz", "-o", tmp_path / "peaks")
    past = np.zeros_like(seeds)
    past[:, :12] = True
    gone, other = np.zeros_like(seeds), np.roll(seeds, 4, axis=1)
    gone[..., :2] = True
    paths = {name: save(tmp_path / f"{name}.nii.gz", array, fod[1]) for name, array in (("seeds", seeds), ("past", past), ("gone", gone), ("other", other))}
    common = ["--samples", 2, "--dispersion", 5, "--rng-seed", 3]
    run(
        program, "track", tmp_path / "peaks/peaks.nii.gz", "--seeds", paths["seeds"], "--include", paths["past"],
        "--exclude", paths["gone"], "--target", paths["other"], *common, "-o", tmp_path / "out",
    )  # fmt: skip
    found = fimbria.peaks(fod[0], sh_basis="mrtrix", affine=fod[1])
    tracks = fimbria.track(
        found, seeds, include=past, exclude=[gone], target=paths["other"], samples=2, dispersion=5, rng_seed=3
    )
    assert len(tracks) > 10
    same_lines(tracks, fimbria.load_tractogram(tmp_path / "out/tracks.trx"))
    np.testing.assert_array_equal(tracks.reached[0], read(tmp_path / "out/seeds_to_other.nii.gz"))
    # The same from an array of directions, and from points in the middle of voxels.
    again = fimbria.track(found.peak_dirs * found.peak_values[..., None], seeds, affine=fod[1], samples=2)
    middles = np.argwhere(seeds) @ fod[1][:3, :3].T + fod[1][:3, 3]
    by_points = fimbria.track(found, middles, samples=2)
    # A voxel without fibres has nothing to follow.
    followed = seeds & (np.nan_to_num(found.peak_values[..., 0]) > 0)
    assert len(by_points) == by_points.kept[0] == 2 * followed.sum() == len(again) > 1100
    network = fimbria.track(found, [seeds, other], network=True, samples=2).network
    run(program, "track", tmp_path / "peaks/peaks.nii.gz", "--seeds", paths["seeds"], "--seeds", paths["other"], "--network", "--samples", 2, "-o", tmp_path / "network")
    table = (tmp_path / "network/matrix_network.tsv").read_text().splitlines()[1:]
    np.testing.assert_array_equal(network, [[int(word) for word in row.split("\t")[1:]] for row in table])


def test_tracks_among_tissues_are_those_of_the_program(program, phantom, fod, seeds, tmp_path):
    # White matter in the middle, cortex around it.
    tissues = np.zeros((*seeds.shape, 5), dtype=np.float32)
    middle = np.zeros_like(seeds)
    middle[5:15, 5:17, 4:12] = True
    tissues[..., 0], tissues[..., 2] = ~middle, middle
    paths = [save(tmp_path / "seeds.nii.gz", seeds, fod[1]), save(tmp_path / "tissues.nii.gz", tissues, fod[1])]
    run(program, "track", phantom / "fod/fod.nii.gz", "--seeds", paths[0], "--act", paths[1], "--crop", "--select", 20, "-o", tmp_path / "out")
    theirs = fimbria.load_tractogram(tmp_path / "out/tracks.trx")
    same = {"sh_basis": "mrtrix", "affine": fod[1], "crop": True, "select": 20}
    for act in (tissues, paths[1], nibabel.load(paths[1])):
        same_lines(fimbria.track(fod[0], seeds, act=act, **same), theirs)
    with pytest.raises(fimbria.FimbriaError, match="the array of tissues"):
        fimbria.track(fod[0], seeds, act=tissues[..., :3], **same)


def test_sticks_are_those_of_the_program_and_so_are_their_tracks(program, phantom, seeds, tmp_path):
    affine = nibabel.load(phantom / "in/dwi.nii.gz").affine
    mask = save(tmp_path / "mask.nii.gz", seeds, affine)
    few = {"fibres": 2, "burn_in": 50, "jumps": 50, "sample_every": 5}
    words = [word for name, value in few.items() for word in (f"--{name.replace('_', '-')}", value)]
    run(program, "sticks", phantom / "in/dwi.nii.gz", "--mask", mask, *words, "-o", tmp_path / "sticks")
    image = fimbria.load(phantom / "in/dwi.nii.gz")
    sticks = fimbria.sample_sticks(image, mask=seeds, **few)
    for name in ("mean_f1samples", "mean_f2samples", "dyads1_dispersion", "mean_dsamples", "mean_S0samples", "acceptance", "status"):
        np.testing.assert_array_equal(sticks.maps[name], read(tmp_path / f"sticks/{name}.nii.gz"), name)
    directions, fractions = sticks.samples(0)
    np.testing.assert_array_equal(fractions, read(tmp_path / "sticks/merged_f1samples.nii.gz"))
    assert directions.shape == (*seeds.shape, sticks.n_samples, 3)
    # The principal direction of the samples, in scanner axes, is the dyad.
    matrix = np.einsum("...si,...sj->...ij", directions[seeds], directions[seeds])
    along = np.einsum("vi,vi->v", np.linalg.eigh(matrix)[1][..., -1], sticks.dyads1[seeds])
    # Directions are stored to 1e-6 or so.
    np.testing.assert_allclose(np.abs(along), 1, atol=1e-5)
    # Those of a folder come back from angles, which moves streamlines by roundings alone.
    run(program, "track", tmp_path / "sticks", "--seeds", mask, "--samples", 3, "-o", tmp_path / "out")
    theirs = fimbria.load_tractogram(tmp_path / "out/tracks.trx")
    tracks = fimbria.track(sticks, seeds, samples=3)
    assert len(tracks) == len(theirs)
    apart = np.abs(tracks.lengths - theirs.lengths)
    # A step more or less at an edge.
    assert np.median(apart) < 0.01
    with pytest.raises(ValueError, match="dispersion has no use"):
        fimbria.track(sticks, seeds, dispersion=3)
    with pytest.raises(fimbria.FimbriaError, match="`select` has no use through samples"):
        fimbria.track(sticks, seeds, select=3)


def test_weights_and_connectomes_are_those_of_the_program(program, phantom, fod, seeds, tmp_path):
    image = fimbria.load(phantom / "in/dwi.nii.gz")
    lines = fimbria.load_tractogram(phantom / "in/truth/tracts.trx")
    mask = read(phantom / "in/mask.nii.gz")
    run(program, "life", phantom / "in/truth/tracts.trx", "--dwi", phantom / "in/dwi.nii.gz", "--mask", phantom / "in/mask.nii.gz", "-o", tmp_path / "life")
    found = fimbria.life(lines, image, mask=mask)
    np.testing.assert_array_equal(found.weights, np.loadtxt(tmp_path / "life/weights.txt", dtype=np.float32))
    for name in ("rmse", "rmse_s0", "rmse_s0_without", "prediction"):
        np.testing.assert_array_equal(found.maps[name], read(tmp_path / f"life/{name}.nii.gz"), name)
    record = json.loads((tmp_path / "life/run.json").read_text())
    assert found.counts["objective"] == record["objective"]
    row = (tmp_path / "life/evidence.tsv").read_text().splitlines()[1].split("\t")
    assert found.lesions["all"]["rmse"] == pytest.approx(float(row[6]), rel=1e-6)

    labels = (np.arange(20)[:, None, None] // 7 + 1) * np.ones(mask.shape, dtype=int) * mask.astype(int)
    path = save(tmp_path / "labels.nii.gz", labels, image.affine)
    map = found.maps["rmse_s0"]
    options = ["--weights", tmp_path / "life/weights.txt", "--map", f"e={tmp_path}/life/rmse_s0.nii.gz", "--per-length"]
    run(program, "connectome", phantom / "in/truth/tracts.trx", path, *options, "-o", tmp_path / "matrix")
    counted = fimbria.connectome(lines, labels, weights=found.weights, map={"e": map}, per_length=True, affine=image.affine)
    # Weights of the file are decimals that read back as the same float32, here taken as doubles.
    np.testing.assert_allclose(counted.weights, np.loadtxt(tmp_path / "matrix/weights.csv", delimiter=","), rtol=1e-6)
    np.testing.assert_allclose(counted.lengths, np.loadtxt(tmp_path / "matrix/lengths.csv", delimiter=","), rtol=1e-6)
    np.testing.assert_allclose(counted.means["e"], np.loadtxt(tmp_path / "matrix/mean_e.csv", delimiter=","), rtol=1e-6)
    np.testing.assert_array_equal(counted.numbers, np.loadtxt(tmp_path / "matrix/counts.csv", delimiter=","))
    assert counted.labels.tolist() == [1, 2, 3]
    by_file = fimbria.connectome(phantom / "in/truth/tracts.trx", path, exact_label=True)
    assert by_file.weights.sum() > 0 and by_file.weights.dtype == float


def test_weights_by_densities_are_those_of_the_program(program, phantom, fod, tmp_path):
    tracts = phantom / "in/truth/tracts.trx"
    run(program, "sift2", tracts, phantom / "fod/fod.nii.gz", "--iterations", 20, "-o", tmp_path / "sift2")
    found = fimbria.sift2(tracts, fod[0], sh_basis="mrtrix", affine=fod[1], iterations=20)
    np.testing.assert_array_equal(found.weights, np.loadtxt(tmp_path / "sift2/weights.txt", dtype=np.float32))
    assert found.mu == pytest.approx(float((tmp_path / "sift2/mu.txt").read_text()), rel=1e-15)
    rows = np.loadtxt(tmp_path / "sift2/iterations.tsv", skiprows=1)
    # The table has nine digits.
    np.testing.assert_allclose(found.iterations, rows[:, 1:], rtol=1e-8)
    assert (found.weights > 0).any() and found.counts["streamlines"] == len(found.weights)
    with pytest.raises(fimbria.FimbriaError, match="variation"):
        fimbria.sift2(tracts, fod[0], sh_basis="mrtrix", affine=fod[1], variation=-1)


def test_chunks_of_seeds_give_the_streamlines_of_all(fod, seeds):
    options = {"sh_basis": "mrtrix", "affine": fod[1], "samples": 2, "rng_seed": 5}
    whole = fimbria.track(fod[0], seeds, **options)
    chunks = list(fimbria.track_chunks(fod[0], seeds, seeds_at_once=7, **options))
    assert len(chunks) == -(-int(seeds.sum()) // 7)
    np.testing.assert_array_equal(np.concatenate([tracks.points for tracks in chunks]), whole.points)
    np.testing.assert_array_equal(sum(tracks.visits for tracks in chunks), whole.visits)
    with pytest.raises(ValueError, match="select counts over all seeds"):
        next(fimbria.track_chunks(fod[0], seeds, select=5))


def test_signatures_have_the_options_of_the_extension():
    import inspect

    # What is data or of the machine, and options of files.
    series = {"data", "gtab", "mask", "affine", "device"}
    given = {
        "peaks": {"directions", "sh_basis", "frame", "mask", "affine", "device"},
        "sticks": series,
        "track": {
            "directions", "seeds", "sh_basis", "hot", "frame", "dispersion", "mask", "affine", "include",
            "include_any", "in_order", "exclude", "stop", "target", "network", "device",
        },
        "life": series | {"tractogram"},
        "sift2": {"tractogram", "densities", "sh_basis", "frame", "mask", "affine", "act"},
        "connectome": {"affine"},
        "field": {"affine"},
        "qsm": {"affine", "device", "md", "s0"},
    }  # fmt: skip
    names = {"sticks": "sample_sticks", "field": "local_field"}
    for command, others in given.items():
        function = getattr(fimbria, names.get(command, command))
        said = set(inspect.signature(function).parameters) - others - {"threads", "progress"}
        assert said == set(_core.options_of(command)) - {"half", "tracks", "dti", "resample", "dqsm_files", "lut", "npy", "imaginary", "assignments"}, command


def test_progress_of_a_method_may_raise_and_leaves_the_next_one_sound(fod, seeds):
    class Enough(Exception):
        pass

    def raising(*_):
        raise Enough

    with pytest.raises(Enough):
        fimbria.track(fod[0], np.ones_like(seeds), sh_basis="mrtrix", affine=fod[1], select=1_000_000, progress=raising)
    assert len(fimbria.track(fod[0], seeds, sh_basis="mrtrix", affine=fod[1], select=3)) == 3


def test_an_interrupt_ends_tracking_and_leaves_the_next_one_sound(fod, seeds):
    import os
    import signal
    import threading

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    soon = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    soon.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fimbria.track(fod[0], np.ones_like(seeds), sh_basis="mrtrix", affine=fod[1], select=4_000_000)
    finally:
        soon.join()
        signal.signal(signal.SIGINT, before)
    assert len(fimbria.track(fod[0], seeds, sh_basis="mrtrix", affine=fod[1], select=3)) == 3


def test_seeds_outside_are_warned_of_in_words_of_python(fod, seeds):
    with pytest.warns(fimbria.FimbriaWarning) as caught:
        fimbria.track(fod[0], [[1e4, 0, 0]], sh_basis="mrtrix", affine=fod[1], select=3)
    said = [str(one.message) for one in caught]
    assert "no streamline was kept: see in counts why they ended (fimbria help tracking)" in said
    assert not any("--" in message or "run.json" in message for message in said)
    with pytest.raises(fimbria.FimbriaError, match="seeds has no voxel"):
        fimbria.track(fod[0], np.zeros_like(seeds), sh_basis="mrtrix", affine=fod[1])
    with pytest.raises(ValueError, match="peaks are"):
        fimbria.track(fod[0][..., :10], seeds)
