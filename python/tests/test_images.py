import numpy as np
import pytest

import fimbria

nibabel = pytest.importorskip("nibabel")


@pytest.mark.parametrize("determinant", [-1, 1])
def test_a_file_gives_what_its_array_does_in_scanner_axes(tmp_path, gtab, series, tensors, determinant):
    affine = np.diag([2.0 * determinant, 2.0, 2.0, 1.0])
    path = tmp_path / "dwi.nii.gz"
    nibabel.save(nibabel.Nifti1Image(series, affine), path)
    # FSL counts x the other way where the determinant is positive.
    fsl = gtab.bvecs * [1 if determinant < 0 else -1, 1, 1]
    np.savetxt(tmp_path / "dwi.bval", gtab.bvals[None])
    np.savetxt(tmp_path / "dwi.bvec", fsl.T)
    image = fimbria.load(path)
    assert image.shape == series.shape
    np.testing.assert_array_equal(image.affine, affine)
    np.testing.assert_array_equal(image.read(), series)
    # Voxel axes and the scanner's differ by the sign of x here.
    scanner = gtab.bvecs * [determinant, 1, 1]
    np.testing.assert_allclose(image.gradients.bvecs, scanner, atol=1e-6)
    fit = fimbria.fit("dti", image)
    turned = tensors * np.outer([determinant, 1, 1], [determinant, 1, 1])
    np.testing.assert_allclose(fit.tensor[..., [0, 1, 2]], turned[..., 0, :], atol=2e-9)


def test_images_of_nibabel_are_taken(tmp_path, gtab, series):
    path = tmp_path / "dwi.nii"
    nibabel.save(nibabel.Nifti1Image(series, np.eye(4)), path)
    expected = fimbria.TensorModel(gtab).fit(series).fa
    np.testing.assert_array_equal(fimbria.TensorModel(gtab).fit(nibabel.load(path)).fa, expected)
    mapped = np.asanyarray(nibabel.load(path, mmap=True).dataobj)
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(fimbria.TensorModel(gtab).fit(mapped).fa, expected)


def test_paths_and_images_are_series_and_masks(tmp_path, gtab, series):
    path, mask = tmp_path / "dwi.nii", tmp_path / "mask.nii"
    inside = np.zeros(series.shape[:3], np.uint8)
    inside[::2] = 1
    nibabel.save(nibabel.Nifti1Image(series, np.eye(4)), path)
    nibabel.save(nibabel.Nifti1Image(inside, np.eye(4)), mask)
    expected = fimbria.fit("dti", series, gtab, inside).fa
    for given in [str(mask), mask, nibabel.load(mask), fimbria.load(mask)]:
        np.testing.assert_array_equal(fimbria.fit("dti", path, gtab, given).fa, expected)


def test_what_is_no_image_is_one_error(tmp_path):
    path = tmp_path / "no.nii"
    path.write_text("nothing")
    with pytest.raises(fimbria.FimbriaError, match="no.nii"):
        fimbria.load(path)
