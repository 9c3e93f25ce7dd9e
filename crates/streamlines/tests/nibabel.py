"""The other side of nibabel.rs. Every action prints lines: file, permuted, points x y z x y z ...

python3 nibabel.py make FOLDER   TRK files of every voxel order on affines of several orientations
python3 nibabel.py own FOLDER    the TRK files that nibabel itself is tested with
python3 nibabel.py read FOLDER   a.tck, as nibabel reads it
"""

import itertools
import sys
from pathlib import Path

# A script is found beside its own name first.
sys.path.pop(0)

import nibabel as nib  # noqa: E402
import numpy as np  # noqa: E402

POINTS = np.array([[1.0, -2.0, 3.0], [10.5, 4.0, -7.25], [-100.0, 250.0, 30.0]], "f4")


def tell(name, permuted, points):
    numbers = [f"{x:.9g}" for x in np.asarray(points, dtype=float).ravel()]
    print(" ".join([str(name), str(permuted), *numbers]))


def points_of(path):
    return np.asarray(nib.streamlines.load(path).streamlines.get_data(), dtype=float)


def affines():
    """Axial, sagittal and coronal, one of them oblique, one sheared."""
    for axes in ["RAS", "ASL", "PSR", "LIP"]:
        turn = nib.orientations.inv_ornt_aff(
            nib.orientations.axcodes2ornt(axes), (1, 1, 1)
        )[:3, :3].T
        yield nib.affines.from_matvec(turn @ np.diag([2.0, 1.5, 3.0]), [-40, 12.5, 7])
    yield nib.affines.from_matvec(
        np.array([[0.1, -0.35, 2.9], [1.9, 0.3, -0.1], [0.05, 1.4, 0.6]]), [80.5, -100.25, -60]
    )


def make(folder):
    for index, affine in enumerate(affines()):
        own = nib.aff2axcodes(affine)
        for order in itertools.permutations(range(3)):
            for signs in itertools.product([0, 1], repeat=3):
                letters = "".join(["LR", "PA", "IS"][w][s] for w, s in zip(order, signs))
                header = nib.streamlines.TrkFile.create_empty_header()
                header["voxel_to_rasmm"] = affine
                header["voxel_order"] = letters
                header["dimensions"] = (40, 50, 30)
                header["voxel_sizes"] = (2.0, 1.5, 3.0)
                lines = nib.streamlines.Tractogram([POINTS], affine_to_rasmm=np.eye(4))
                path = folder / f"{index}{letters}.trk"
                nib.streamlines.save(nib.streamlines.TrkFile(lines, header), path)
                pair = ({a, b} in ({"L", "R"}, {"P", "A"}, {"I", "S"}) or a == b
                        for a, b in zip(letters, own))
                tell(path.name, not all(pair), points_of(path))


def own_files():
    for path in sorted((Path(nib.__file__).parent / "tests/data").glob("*.trk")):
        points = points_of(path)
        if points.size:
            tell(path, False, points)


if __name__ == "__main__":
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "make":
        make(folder)
    elif action == "own":
        own_files()
    else:
        tell("a.tck", False, points_of(folder / "a.tck"))
