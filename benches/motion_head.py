#!/usr/bin/env python3
"""How near motion correction comes to the motion of a digital head, and what it leaves in maps.

    python3 benches/motion_head.py target/release/fimbria [SCAN...] [--dipy]

SCAN is a part of the name of one of SCANS; without any, all. Each head is made twice by `fimbria phantom head`, once moving with
dropped slices and once still, and corrected by `fimbria correct --eddy none` (it has no eddy currents), with --dipy by DIPY's
`motion_correction` too (b0s, rigid; the gradients turned by `reorient_bvecs`), which registers volume by volume. Tensor and
kurtosis are fitted by `fimbria fit` whoever corrected.

Of a volume the error is the median over the brain of the distance between where a point of the head was and where the
correction says; degrees are those of the turn that is left, and of a weighted volume's gradient in the head's frame. Maps are
compared with the truth over white matter (true FA of 0.3 and more): the median of the difference. Seconds are those of the
processor, of all threads. Needs numpy and nibabel; DIPY where it is asked for. The tables are Markdown.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

SCANS = {
    "20 volumes, one shell": "--b0s 2 --shells 1000:18 --dropped-slices 4",
    "33 volumes, one shell": "--b0s 3 --shells 1000:30 --dropped-slices 6",
    "96 volumes, three shells": "--b0s 6 --shells 1000:20,2000:30,3000:40 --dropped-slices 12",
    "288 volumes, three shells": "--b0s 18 --shells 1000:90,2000:90,3000:90 --dropped-slices 30",
}
# The point that the head of `phantom head` turns about, scanner mm.
MIDDLE = np.array([0.0, -14.0, 2.0])


def seconds(command: list[str]) -> float:
    """Runs a command; the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def turn(angles: np.ndarray) -> np.ndarray:
    """The turn about x, then y, then z, radians."""
    (a, b, c), (i, j, k) = np.cos(angles), np.sin(angles)
    about_x = np.array([[1, 0, 0], [0, a, -i], [0, i, a]])
    about_y = np.array([[b, 0, j], [0, 1, 0], [-j, 0, b]])
    about_z = np.array([[c, -k, 0], [k, c, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def poses(table: Path, middle: np.ndarray) -> list[np.ndarray]:
    """Matrices from a table of trans_x to rot_z about this point."""
    lines = [line.split("\t") for line in table.read_text().splitlines()]
    at = [lines[0].index(f"{kind}_{axis}") for kind in ("trans", "rot") for axis in "xyz"]
    all_poses = []
    for row in lines[1:]:
        numbers = np.array([float(row[i]) for i in at])
        matrix = np.eye(4)
        matrix[:3, :3] = turn(numbers[3:])
        matrix[:3, 3] = numbers[:3] + middle - matrix[:3, :3] @ middle
        all_poses.append(matrix)
    return all_poses


def degrees(cosine: float) -> float:
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def apart(truth, made, points, gradients) -> list[str]:
    """Median and largest error of all volumes, mm and degrees, and of gradients."""
    mm, turned, angles = [], [], []
    for known, given, gradient in zip(truth, made, gradients):
        difference = (known - given) @ points
        mm.append(np.median(np.linalg.norm(difference[:3], axis=0)))
        left = given[:3, :3].T @ known[:3, :3]
        turned.append(degrees((np.trace(left) - 1) / 2))
        if gradient @ gradient > 0:
            angles.append(degrees(gradient @ left @ gradient / (gradient @ gradient)))
    return [f"{np.median(all_of):.2f} ({np.max(all_of):.2f})" for all_of in (mm, turned, angles)]


def biases(fimbria: str, series: Path, mask: Path, truth: Path, shells: int, out: Path) -> list[str]:
    """The medians over white matter of what maps have too much."""
    true = {name: nib.load(truth / f"{name}.nii.gz").get_fdata() for name in ("FA", "MD", "MK")}
    white = (nib.load(mask).get_fdata() > 0) & (true["FA"] >= 0.3)
    words = []
    for model, names in [("dti", ["FA", "MD"]), ("dki", ["MK"])]:
        if model == "dki" and shells < 2:
            words.append("")
            continue
        folder = out / model
        seconds([fimbria, "fit", model, str(series), "--mask", str(mask), "-q", "-f", "-o", str(folder)])
        for name in names:
            over = nib.load(folder / f"{name}.nii.gz").get_fdata()[white] - true[name][white]
            over = np.median(over[np.isfinite(over)])
            words.append(f"{over * 1e6:+.0f}" if name == "MD" else f"{over:+.4f}")
    return words


def by_dipy(folder: Path, out: Path) -> None:
    """Corrects in this process, so that its time can be told."""
    from dipy.align import motion_correction
    from dipy.core.gradients import gradient_table, reorient_bvecs

    image = nib.load(folder / "dwi.nii.gz")
    b, g = (np.loadtxt(folder / f"dwi.{name}") for name in ("bval", "bvec"))
    table = gradient_table(b, bvecs=g.T, b0_threshold=50)
    pipeline = ["center_of_mass", "translation", "rigid"]
    made, affines = motion_correction(image.get_fdata(), table, affine=image.affine, pipeline=pipeline)
    weighted = affines[:, :, ~table.b0s_mask]
    turned = reorient_bvecs(table, weighted).bvecs
    out.mkdir()
    nib.save(nib.Nifti1Image(made.get_fdata().astype(np.float32), image.affine), out / "dwi.nii.gz")
    np.savetxt(out / "dwi.bval", b[None])
    np.savetxt(out / "dwi.bvec", turned.T)
    np.save(out / "affines.npy", affines)


def rows(fimbria: str, name: str, options: str, with_dipy: bool, folder: Path):
    for kind, motion in [("moved", ["--motion", "3"]), ("still", [])]:
        words = options.split() if motion else options.split(" --dropped")[0].split()
        head = [fimbria, "phantom", "head", "--voxel", "3", *words, *motion, "-q", "-o", str(folder / kind)]
        subprocess.run(head, check=True)
    moved = folder / "moved"
    image, mask = nib.load(moved / "dwi.nii.gz"), moved / "mask.nii.gz"
    affine, dims = image.affine, np.array(image.shape[:3])
    points = np.argwhere(nib.load(mask).get_fdata() > 0)[::20]
    points = affine @ np.c_[points, np.ones(len(points))].T
    gradients = np.loadtxt(moved / "dwi.bvec").T * [-np.sign(np.linalg.det(affine[:3, :3])), 1, 1]
    unit = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    gradients = gradients @ unit.T
    truth = poses(moved / "truth/motion.tsv", MIDDLE)
    shells = options.count(":")

    def maps(series, of):
        return biases(fimbria, series, mask, moved / "truth", shells, folder / f"maps_{of}")

    correct = [fimbria, "correct", str(moved / "dwi.nii.gz"), "--mask", str(mask), "--phase-encoding", "j"]
    correct += ["--eddy", "none", "-q", "-o", str(folder / "ours")]
    took = seconds(correct)
    middle = (affine @ [*((dims - 1) / 2), 1])[:3]
    ours = poses(folder / "ours/confounds.tsv", middle)
    still = [np.eye(4)] * len(truth)
    yield [name, "still", "0", "0", "0", *maps(folder / "still/dwi.nii.gz", "still"), ""]
    yield [name, "moved", *apart(truth, still, points, gradients), *maps(moved / "dwi.nii.gz", "moved"), ""]
    yield [name, "`fimbria correct`", *apart(truth, ours, points, gradients),
           *maps(folder / "ours/dwi.nii.gz", "ours"), f"{took:.0f}"]
    if with_dipy:
        took = seconds([sys.executable, __file__, "--in", str(moved), str(folder / "dipy")])
        theirs = list(np.moveaxis(np.load(folder / "dipy/affines.npy"), 2, 0))
        yield [name, "DIPY", *apart(truth, theirs, points, gradients),
               *maps(folder / "dipy/dwi.nii.gz", "dipy"), f"{took:.0f}"]


def main() -> None:
    if sys.argv[1:2] == ["--in"]:
        return by_dipy(Path(sys.argv[2]), Path(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fimbria")
    parser.add_argument("scans", nargs="*")
    parser.add_argument("--dipy", action="store_true")
    given = parser.parse_args()
    print("| scan | | mm | degrees | gradients, degrees | FA | MD, 1e-6 mm²/s | MK | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, options in SCANS.items():
        if given.scans and not any(scan in name for scan in given.scans):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in rows(given.fimbria, name, options, given.dipy, Path(folder)):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
