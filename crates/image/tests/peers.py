"""The other side of peers.rs: makes image files with nibabel and MRtrix3, and reads ours with them.

python3 peers.py make FOLDER    files of nibabel and, where mrconvert exists, of MRtrix3, each with
                                NAME.json: dims, n_volumes, affine, data (order x, y, z, volume)
python3 peers.py check FOLDER   reads every file that has such a NAME.json, and compares
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np

OBLIQUE = nib.affines.from_matvec(
    [[-1.9, 0.3, -0.1], [-0.35, 1.8, 0.6], [0.05, -0.4, 2.4]], [80.5, -100.25, -60]
)
MRTRIX = shutil.which("mrconvert") is not None


def rotated(flip):
    """An affine without shear, which a qform can hold; left- or right-handed."""
    a, b = 0.4, -0.7
    turn_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    return nib.affines.from_matvec(
        turn_z @ turn_x @ np.diag([flip * 2.0, 1.5, 3.0]), [10.5, -20.25, 30]
    )


def samples(shape, dtype):
    """Whole numbers of no symmetry that every type holds."""
    n = int(np.prod(shape))
    i = np.arange(n)
    return ((i * i + i // 7) % 101).astype(dtype).reshape(shape, order="F")


def describe(path, data, affine, **more):
    data = np.asarray(data, dtype=np.float64)
    space = (data.shape + (1, 1))[:3]
    description = {
        "dims": space,
        "n_volumes": int(np.prod(data.shape[3:])),
        "affine": np.asarray(affine)[:3].tolist(),
        "data": data.flatten(order="F").tolist(),
        **more,
    }
    Path(str(path) + ".json").write_text(json.dumps(description))


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def numbers(text):
    return np.array([[float(x) for x in line.split()] for line in text.strip().splitlines()])


# ---------------------------------------------------------------- theirs, for us to read


def make(folder):
    make_with_nibabel(folder)
    if MRTRIX:
        make_with_mrtrix(folder)


def make_with_nibabel(folder):
    classes = {
        "one": (nib.Nifti1Image, ".nii.gz"),
        "two": (nib.Nifti2Image, ".nii"),
        "pair": (nib.Nifti1Pair, ".img"),
        "pair2": (nib.Nifti2Pair, ".hdr.gz"),
    }
    types = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
    for name, (image_class, suffix) in classes.items():
        for dtype in types:
            for order in "<>":
                # nibabel writes in the byte order of the header it is given.
                header = image_class.header_class(endianness=order)
                header.set_data_dtype(np.dtype(dtype).newbyteorder(order))
                image = image_class(samples((5, 4, 3, 2), dtype), OBLIQUE, header)
                path = folder / f"nib_{name}_{dtype}_{'le' if order == '<' else 'be'}{suffix}"
                nib.save(image, path)
                save_description(path)
    for shape in [(6, 5), (6, 5, 4), (6, 5, 4, 1), (6, 5, 4, 3), (6, 5, 4, 3, 2), (6, 5, 4, 1, 6)]:
        path = folder / f"nib_shape_{'x'.join(map(str, shape))}.nii"
        nib.save(nib.Nifti1Image(samples(shape, np.int16), OBLIQUE), path)
        save_description(path)
    for flip in [1, -1]:
        image = nib.Nifti1Image(samples((6, 5, 4), np.int16), None)
        image.header.set_qform(rotated(flip), 1)
        image.header.set_sform(None, 0)
        path = folder / f"nib_qform_{flip}.nii.gz"
        nib.save(nib.Nifti1Image(image.dataobj, None, image.header), path)
        save_description(path)
    image = nib.Nifti1Image(samples((6, 5, 4), np.int16), OBLIQUE)
    image.header.set_qform(rotated(1), 1)
    path = folder / "nib_sform_before_qform.nii"
    nib.save(image, path)
    save_description(path)
    image = nib.Nifti1Image(samples((6, 5, 4), np.int16), None)
    image.header.set_zooms((2, 3, 4))
    path = folder / "nib_no_orientation.nii"
    nib.save(image, path)
    save_description(path)
    for slope, intercept in [(0.37, -12.5), (-3, 0), (float("nan"), float("nan"))]:
        image = nib.Nifti1Image(samples((6, 5, 4), np.int16), OBLIQUE)
        image.header.set_slope_inter(slope, intercept)
        path = folder / f"nib_slope_{slope}.nii.gz"
        nib.save(image, path)
        save_description(path)
    image = nib.Nifti1Image(samples((6, 5, 4), np.int16), OBLIQUE)
    image.header.extensions.append(nib.nifti1.Nifti1Extension("comment", b"n+1" * 100))
    path = folder / "nib_extension.nii"
    nib.save(image, path)
    save_description(path)


def save_description(path):
    """Describes a file as nibabel reads it back."""
    image = nib.load(path)
    describe(path, image.get_fdata(dtype=np.float64), image.affine)


def make_with_mrtrix(folder):
    source = folder / "source.nii"
    types = "bit int8 uint8 int16le uint16be int32be uint32le int64le uint64be float32be float64le"
    for sign, affine in [("pos", rotated(1)), ("neg", rotated(-1)), ("sheared", OBLIQUE)]:
        shape = (6, 5, 4, 7)
        nib.save(nib.Nifti1Image(samples(shape, np.int16) % 100, affine), source)
        angle = np.arange(7) * 0.9
        bvecs = np.array([np.cos(angle), np.sin(angle) * 0.6, np.sin(angle) * 0.8])
        bvecs[:, 0] = 0
        np.savetxt(folder / "bvecs", bvecs)
        np.savetxt(folder / "bvals", [[0, 1000, 1000, 2000, 2000, 3000, 3000]])
        grad = ["-fslgrad", folder / "bvecs", folder / "bvals"]
        layouts = ["1,2,3,4", "-1,-2,3,4", "2,3,4,1", "-3,2,-4,1", "4,-3,2,-1"]
        for i, strides in enumerate(layouts):
            for suffix in ["mif", "mif.gz", "mih"]:
                path = folder / f"mrtrix_{sign}_{i}.{suffix}"
                run("mrconvert", "-quiet", source, path, "-strides", strides, *grad)
                save_mrtrix_description(path)
        for datatype in types.split():
            path = folder / f"mrtrix_{sign}_{datatype}.mif"
            run("mrconvert", "-quiet", source, path, "-datatype", datatype, *grad)
            save_mrtrix_description(path)
        path = folder / f"mrtrix_{sign}_scaled.mif"
        scaling = ["-scaling", "2.5,0.125", "-datatype", "int16"]
        run("mrconvert", "-quiet", source, path, *scaling, *grad)
        save_mrtrix_description(path)
        path = folder / f"mrtrix_{sign}_nifti.nii.gz"
        run("mrconvert", "-quiet", source, path, "-strides", "-1,-2,3,4")
        save_description(path)
    source.unlink()


def save_mrtrix_description(path):
    """Describes a file as MRtrix reads it: by way of its own NIfTI, and `mrinfo`."""
    through = path.with_name("through.nii")
    # In Float64 and with plain strides; the axes may be in another order than in `dim:`.
    strides = ["-strides", "1,2,3,4", "-datatype", "float64"]
    run("mrconvert", "-quiet", path, through, *strides)
    image = nib.load(through)
    dw_scheme = numbers(run("mrinfo", "-quiet", path, "-dwgrad")).tolist()
    describe(path, image.get_fdata(), image.affine, dw_scheme=dw_scheme)
    through.unlink()


# ---------------------------------------------------------------- ours, for them to read


def check(folder):
    checked = 0
    for description in sorted(folder.glob("*.json")):
        path = Path(str(description)[: -len(".json")])
        expected = json.loads(description.read_text())
        if ".mif" not in path.name:
            image = nib.load(path)
            compare(path, image.get_fdata(dtype=np.float64), image.affine, expected, "nibabel")
            checked += 1
        # Of a pair MRtrix3 takes the .img, uncompressed.
        theirs = path.with_suffix(".img") if path.suffix == ".hdr" else path
        if MRTRIX and not path.name.endswith(".img.gz"):
            check_with_mrtrix(theirs, expected)
            checked += 1
    print(checked, "MRtrix3 and nibabel" if MRTRIX else "nibabel alone")


def check_with_mrtrix(path, expected):
    through = path.with_name("through.nii")
    run("mrconvert", "-quiet", path, through, "-datatype", "float64")
    image = nib.load(through)
    compare(path, image.get_fdata(), image.affine, expected, "MRtrix3")
    through.unlink()
    if "dw_scheme" in expected:
        theirs = numbers(run("mrinfo", "-quiet", path, "-dwgrad"))
        np.testing.assert_allclose(theirs, expected["dw_scheme"], atol=1e-6, err_msg=str(path))
    if "keyvals" in expected:
        for key, value in expected["keyvals"]:
            assert run("mrinfo", path, "-property", key).strip() == value, (path, key)


def compare(path, data, affine, expected, reader):
    """Values at the same places of the scanner, whatever the order of the axes."""
    space = tuple(expected["dims"])
    wanted = np.array(expected["data"]).reshape(space + (-1,), order="F")
    data = data.reshape((data.shape + (1, 1))[:3] + (-1,), order="F")
    assert data.shape[3] == wanted.shape[3], f"{reader} {path}: {data.shape} {wanted.shape}"
    vox = np.indices(space).reshape(3, -1)
    ras = nib.affines.apply_affine(np.vstack([expected["affine"], [0, 0, 0, 1]]), vox.T)
    theirs = nib.affines.apply_affine(np.linalg.inv(affine), ras)
    nearest = np.round(theirs).astype(int)
    # Single precision headers place a voxel to about 1e-5 mm.
    assert np.abs(theirs - nearest).max() < 1e-3, f"{reader} {path}: {affine}"
    found = data[tuple(nearest.T)]
    np.testing.assert_array_equal(
        found, wanted.reshape((-1, wanted.shape[3]), order="C"), err_msg=f"{reader} {path}"
    )


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
