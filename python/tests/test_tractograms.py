"""Streamlines in arrays and files."""

import os

import numpy as np
import pytest

import fimbria
from fimbria.tractograms import _whole

FORMATS = ["trx", "tck", "trk"]


@pytest.fixture
def lines():
    rng = np.random.default_rng(5)
    sizes = [3, 1, 7, 2, 40]
    affine = np.array([[-2.0, 0, 0, 90], [0, 2, 0, -110], [0, 0, 2, -70], [0, 0, 0, 1]])
    return fimbria.Tractogram(
        rng.uniform(-20, 20, (sum(sizes), 3)),
        np.r_[0, np.cumsum(sizes)],
        per_streamline={"weight": rng.random(5, dtype=np.float32), "colour": rng.random((5, 3), dtype=np.float32)},
        per_point={"fa": rng.random(sum(sizes), dtype=np.float32)},
        affine=affine,
        shape=(90, 110, 90),
    )


@pytest.mark.parametrize("extension", FORMATS)
def test_a_file_gives_back_what_was_saved(tmp_path, lines, extension):
    path = tmp_path / f"lines.{extension}"
    lines.save(path)
    back = fimbria.load_tractogram(path)
    np.testing.assert_array_equal(back.offsets, lines.offsets)
    # TRK has voxel millimetres in float32.
    np.testing.assert_allclose(back.points, lines.points, atol=0 if extension != "trk" else 1e-4)
    if extension != "tck":
        np.testing.assert_allclose(back.affine, lines.affine)
        assert back.shape == lines.shape
        np.testing.assert_array_equal(back.per_streamline["weight"], lines.per_streamline["weight"])
        np.testing.assert_array_equal(back.per_streamline["colour"], lines.per_streamline["colour"])
        np.testing.assert_array_equal(back.per_point["fa"], lines.per_point["fa"])
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("extension", ["tck", "trk"])
def test_nibabel_reads_the_same(tmp_path, lines, extension):
    streamlines = pytest.importorskip("nibabel").streamlines
    path = tmp_path / f"lines.{extension}"
    lines.save(path)
    theirs = streamlines.load(path)
    assert len(theirs.streamlines) == len(lines)
    for ours, one in zip(lines, theirs.streamlines):
        np.testing.assert_allclose(ours, one, atol=1e-4)
    back = fimbria.Tractogram.from_streamlines(theirs.tractogram)
    np.testing.assert_allclose(back.points, lines.points, atol=1e-4)


def test_chunks_have_all_streamlines_in_order_with_their_data(tmp_path, lines):
    path = tmp_path / "lines.trx"
    lines.groups = {"some": np.array([0, 4], np.uint32)}
    lines.save(path)
    reader = fimbria.open_tractogram(path, points=5)
    assert reader.n_streamlines == 5 and reader.n_points == 53
    assert reader.groups["some"].tolist() == [0, 4]
    chunks = list(reader)
    assert len(chunks) > 1 and sum(map(len, chunks)) == 5
    np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in chunks]), lines.points)
    together = np.concatenate([chunk.per_streamline["weight"] for chunk in chunks])
    np.testing.assert_array_equal(together, lines.per_streamline["weight"])
    # Again from the beginning.
    assert sum(map(len, reader)) == 5
    copy = tmp_path / "copy.trk"
    with fimbria.TractogramWriter(copy, like=chunks[0]) as writer:
        for chunk in reader:
            writer.write(chunk)
    assert len(fimbria.load_tractogram(copy)) == 5
    whole = fimbria.load_tractogram(path)
    assert whole.groups["some"].tolist() == [0, 4]


@pytest.mark.parametrize("extension", FORMATS)
def test_chunks_make_up_the_whole(tmp_path, lines, extension):
    path = tmp_path / f"lines.{extension}"
    lines.save(path)
    whole = fimbria.load_tractogram(path)
    joined = _whole(fimbria.open_tractogram(path, points=2))
    np.testing.assert_array_equal(joined.points, whole.points)
    np.testing.assert_array_equal(joined.offsets, whole.offsets)
    for one, other in ((joined.per_point, whole.per_point), (joined.per_streamline, whole.per_streamline)):
        assert set(one) == set(other)
        for name, values in other.items():
            np.testing.assert_array_equal(one[name], values)


def test_a_file_without_streamlines_is_none(tmp_path):
    path = tmp_path / "none.tck"
    fimbria.Tractogram(np.zeros((0, 3)), [0]).save(path)
    none = fimbria.load_tractogram(path)
    assert len(none) == 0 and none.points.shape == (0, 3) and none.lengths.size == 0


def test_a_writer_that_is_left_by_an_error_leaves_nothing(tmp_path, lines):
    with pytest.raises(RuntimeError), fimbria.TractogramWriter(tmp_path / "a.tck", like=lines) as writer:
        writer.write(lines)
        raise RuntimeError
    assert os.listdir(tmp_path) == []
    # An earlier file stays until another is whole.
    lines.save(tmp_path / "a.tck")
    with pytest.raises(ValueError, match="a.trk names the image .*: set affine and shape"):
        fimbria.Tractogram(lines.points, lines.offsets).save(tmp_path / "a.trk")
    with pytest.raises(fimbria.FimbriaError) as caught:
        lines.save(tmp_path / "no" / "a.tck")
    assert str(tmp_path / "no" / "a.tck") in str(caught.value)
    assert os.listdir(tmp_path) == ["a.tck"]


def test_some_of_the_streamlines_keep_their_data(lines):
    lines.groups = {"odd": np.array([1, 3], np.uint32)}
    some = lines[[3, 0]]
    assert len(some) == 2 and some.offsets.tolist() == [0, 2, 5]
    np.testing.assert_array_equal(some[0], lines[3])
    np.testing.assert_array_equal(some[1], lines[0])
    np.testing.assert_array_equal(some.per_streamline["weight"], lines.per_streamline["weight"][[3, 0]])
    np.testing.assert_array_equal(some.per_point["fa"][:2], lines.per_point["fa"][11:13])
    assert some.groups["odd"].tolist() == [0]
    assert len(lines[lines.lengths > 0]) == 4 and len(lines[1:]) == 4
    assert lines[-1].base is not None and len(lines[-1]) == 40
    with pytest.raises(IndexError):
        lines[5]


def test_lengths_are_sums_of_steps(lines):
    expected = [np.linalg.norm(np.diff(one.astype(float), axis=0), axis=1).sum() for one in lines]
    np.testing.assert_allclose(lines.lengths, expected, atol=1e-9)


def test_what_contradicts_itself_is_refused(tmp_path):
    with pytest.raises(ValueError, match="points has the shape"):
        fimbria.Tractogram(np.zeros((3, 2)), [0, 3])
    with pytest.raises(ValueError, match="which is 3"):
        fimbria.Tractogram(np.zeros((3, 3)), [0, 2])
    with pytest.raises(ValueError, match="`weight` has 2 rows"):
        fimbria.Tractogram(np.zeros((3, 3)), [0, 3], per_streamline={"weight": [1, 2]})
    with pytest.raises(fimbria.FimbriaError, match="no.trx"):
        fimbria.load_tractogram(tmp_path / "no.trx")
    with pytest.raises(fimbria.FimbriaError, match="lines.vtk"):
        fimbria.Tractogram(np.zeros((3, 3)), [0, 3]).save(tmp_path / "lines.vtk")


def test_dipy_gets_its_own_and_gives_it_back(lines):
    pytest.importorskip("dipy")
    stateful = lines.to_stateful()
    assert stateful.is_bbox_in_vox_valid()
    # DIPY goes to voxels and back in float32.
    np.testing.assert_allclose(stateful.streamlines[4], lines[4], atol=1e-4)
    stateful.to_vox()
    back = fimbria.Tractogram.from_streamlines(stateful)
    np.testing.assert_allclose(back.points, lines.points, atol=1e-4)
    np.testing.assert_allclose(back.affine, lines.affine)
    np.testing.assert_allclose(np.ravel(back.per_streamline["weight"]), lines.per_streamline["weight"])
    np.testing.assert_allclose(np.ravel(back.per_point["fa"]), lines.per_point["fa"])


def test_trx_python_gets_its_own(lines):
    pytest.importorskip("trx")
    theirs = lines.to_trx()
    assert len(theirs.streamlines) == 5
    # trx-python keeps coordinates as float16.
    np.testing.assert_allclose(theirs.streamlines[4], lines[4], atol=0.02)


@pytest.mark.parametrize("wrong", [np.zeros((2, 6)), np.zeros(3), np.zeros((1, 2, 3)), np.zeros((4, 2)), 5.0])
def test_what_is_no_list_of_points_is_no_streamline(wrong):
    with pytest.raises(ValueError, match=r"streamline 1 has the shape .*, and must be points \(n, 3\)"):
        fimbria.Tractogram.from_streamlines([np.zeros((4, 3)), wrong])


def test_a_streamline_may_have_no_points():
    lines = fimbria.Tractogram.from_streamlines([[], np.zeros((0, 3)), [[1, 2, 3]]])
    assert np.diff(lines.offsets).tolist() == [0, 0, 1]
