"""The other side of copies.rs.

python3 copies.py make FOLDER    images of every type, byte order and number of dimensions; with
                                 mrconvert also .mif files, each with the NIfTI that mrconvert makes
                                 of it as NAME.reference.nii
python3 copies.py check FOLDER   every NAME.copy.nii holds what NAME (or its reference) does
"""

import shutil
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np

AFFINE = nib.affines.from_matvec(np.diag([2.0, 1.5, 3.0]), [-40, 12.5, 7])
TYPES = ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def numbers(dtype, shape):
    """The extremes of a type, what float32 and float64 round, and counts."""
    n = int(np.prod(shape))
    data = (np.arange(n) % 100).astype(dtype)
    if dtype[0] == "f":
        some = [0.1, -1e30, np.inf, np.nan, 16777217, 1 / 3]
    else:
        info = np.iinfo(dtype)
        some = [info.min, info.max, info.max - 1, info.max // 3]
        some += [x for x in (16777217, 2**31 + 1, 2**53 + 1) if x <= info.max]
    data[1 : 1 + len(some)] = np.array(some, dtype=dtype)
    return data.reshape(shape, order="F")


def save(path, data, order, slope=None, kind=nib.Nifti1Image):
    header = kind.header_class(endianness=order)
    image = kind(data, AFFINE, header, dtype=data.dtype.newbyteorder(order))
    image.header.set_xyzt_units("mm", "sec")
    if data.ndim > 3:
        image.header.set_zooms((2.0, 1.5, 3.0, 2.25) + (1.0,) * (data.ndim - 4))
    if slope:
        image.header.set_slope_inter(*slope)
        image = kind.from_bytes(with_scaling(image, data, slope))
    nib.save(image, path)


def with_scaling(image, data, slope):
    """nibabel would undo a scaling that is set: the header of one with it, the data as they are."""
    header = image.header.copy()
    header.set_slope_inter(*slope)
    header["vox_offset"] = header.single_vox_offset
    raw = header.binaryblock + b"\0" * 4 + data.astype(header.get_data_dtype()).tobytes(order="F")
    return raw


def make(folder):
    for dtype in TYPES:
        for order in "<>":
            name = f"{dtype}{'le' if order == '<' else 'be'}"
            save(folder / f"{name}.nii", numbers(dtype, (5, 4, 3)), order)
    for shape in [(3, 4, 2, 1, 5), (3, 4, 2, 2, 3), (4, 3, 5, 1), (7, 4), (3, 2, 4, 6)]:
        name = "x".join(map(str, shape))
        save(folder / f"{name}.nii.gz", numbers("i4", shape), "<")
        save(folder / f"{name}-2.nii", numbers("i4", shape), ">", kind=nib.Nifti2Image)
    for order in "<>":
        path = folder / f"scaled{'le' if order == '<' else 'be'}.nii"
        data = numbers("i2", (5, 4, 3))
        header = nib.Nifti1Header(endianness=order)
        image = nib.Nifti1Image(data, AFFINE, header, dtype=data.dtype.newbyteorder(order))
        path.write_bytes(with_scaling(image, data, (0.25, -7.0)))
    if not shutil.which("mrconvert"):
        return
    for datatype in ["bit", "int8", "uint8"] + [
        f"{kind}{order}"
        for kind in ["int16", "uint16", "int32", "uint32", "int64", "uint64",
                     "float32", "float64"]  # float16 only from MRtrix 3.1 on
        for order in ["le", "be"]
    ]:
        for strides in ["1,2,3,4", "-2,3,4,1"]:
            source = folder / "3x2x4x6-2.nii"
            small = folder / "small.nii"
            if not small.exists():
                data = (np.arange(5 * 3 * 4 * 3) % 7).astype("f4").reshape(5, 3, 4, 3)
                save(small, data, "<")
            source = small
            path = folder / f"{datatype}{strides.replace(',', '')}.mif"
            convert = ["mrconvert", "-quiet", "-datatype", datatype, "-strides", strides]
            subprocess.run([*convert, str(source), str(path)], check=True)
            # What MRtrix3 itself reads of its file, in a type that NIfTI has.
            reference = str(path) + ".reference.nii"
            back = ["mrconvert", "-quiet", "-datatype", "float64", "-strides", "1,2,3,4"]
            subprocess.run([*back, str(path), reference], check=True)


def raw(image):
    data = image.dataobj
    return data.get_unscaled(), data.slope, data.inter


def check(folder):
    checked = 0
    for copy in sorted(folder.glob("*.copy.nii*")):
        name = copy.name.split(".copy.nii")[0]
        ours = nib.load(copy)
        reference = folder / f"{name}.reference.nii"
        theirs = nib.load(reference if reference.exists() else folder / name)
        assert ours.shape == theirs.shape, (copy, ours.shape, theirs.shape)
        np.testing.assert_array_equal(ours.affine, theirs.affine, err_msg=str(copy))
        assert ours.header.get_zooms() == theirs.header.get_zooms(), copy
        if reference.exists():
            np.testing.assert_array_equal(ours.get_fdata(), theirs.get_fdata(), err_msg=str(copy))
        else:
            (a, *scaling), (b, *expected) = raw(ours), raw(theirs)
            assert a.dtype == b.dtype.newbyteorder("<"), (copy, a.dtype, b.dtype)
            assert scaling == expected, (copy, scaling, expected)
            np.testing.assert_array_equal(a, b, err_msg=str(copy))
        checked += 1
    print(checked)


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
