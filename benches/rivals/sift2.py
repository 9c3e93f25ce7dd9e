#!/usr/bin/env python3
"""Weights by the density of fibres: fimbria sift2 beside tcksift2 on the same tractogram.

    python3 benches/rivals/sift2.py --fimbria target/release/fimbria [--voxel 4] [--select 20000] [--keep FOLDER]

Makes a head of known truth, its densities and streamlines through them that end in grey matter (two cores a
program), weighs them with both programs at their defaults, and judges all weights by two models that are the
same for both:

* ours: `sift2 --start WEIGHTS --iterations 0`, with lobes and lengths of fimbria;
* one of neither: the lobes and amounts of fod2fixel, streamlines cut into pieces of 0.2 mm, each of which goes to
  the nearest lobe of its voxel within 45 degrees.

The misfit is the root of Σ PM (μ TD - FD)² over Σ PM FD², over lobes that streamlines at weight 1 fill to at least
a tenth; μ is that of weights of one for all, and in a second column that which suits the weights best. Then the
distribution of the factors, how their logarithms correlate, and CPU seconds. Needs nibabel, scipy and MRtrix3.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy.sparse import csr_matrix

PIECE_MM = 0.2
WITHIN = np.cos(np.deg2rad(45))
LEAST_FILLED = 0.1


def run(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def image(path, tmp):
    plain = tmp / f"{path.stem}_plain.nii"
    run("mrconvert", path, plain, "-quiet", "-force", "-strides", "1,2,3,4")
    return nib.load(plain)


class Neutral:
    """The model of neither program."""

    def __init__(self, tmp):
        index = image(tmp / "fixels/index.mif", tmp)
        number, self.first = (index.get_fdata()[..., k].astype(int) for k in (0, 1))
        self.number = number
        self.dirs = image(tmp / "fixels/directions.mif", tmp).get_fdata()[:, :, 0]
        self.density = image(tmp / "fixels/afd.mif", tmp).get_fdata().ravel()
        lines = nib.streamlines.load(str(tmp / "track/tracks.tck")).streamlines
        self.lengths = self.follow(lines, np.linalg.inv(index.affine))
        tissues = nib.load(tmp / "head/5tt.nii")
        white = np.zeros(len(self.density))
        from_index = np.linalg.inv(tissues.affine) @ index.affine
        for voxel in np.argwhere(number > 0):
            there = np.rint(from_index[:3, :3] @ voxel + from_index[:3, 3]).astype(int)
            begin = self.first[tuple(voxel)]
            white[begin:begin + number[tuple(voxel)]] = tissues.dataobj[(*there, 2)]
        at_one = np.asarray(self.lengths.sum(0)).ravel()
        self.mu = (white * self.density).sum() / (white * at_one).sum()
        self.white = np.where(self.mu * at_one < LEAST_FILLED * self.density, 0, white)

    def follow(self, lines, vox_from_ras):
        """The length of every streamline in every lobe, mm."""
        rows, columns, values = [], [], []
        for row, points in enumerate(lines):
            points = np.asarray(points, float)
            steps = np.diff(points, axis=0)
            length = np.linalg.norm(steps, axis=1)
            steps, points, length = steps[length > 0], points[:-1][length > 0], length[length > 0]
            pieces = np.ceil(length / PIECE_MM).astype(int)
            of = np.repeat(np.arange(len(pieces)), pieces)
            place = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            along = (place + 0.5) / pieces[of]
            middle = points[of] + along[:, None] * steps[of]
            dirs, mm = (steps / length[:, None])[of], (length / pieces)[of]
            voxel = np.rint(middle @ vox_from_ras[:3, :3].T + vox_from_ras[:3, 3]).astype(int)
            inside = ((voxel >= 0) & (voxel < self.number.shape)).all(1)
            voxel, dirs, mm = voxel[inside], dirs[inside], mm[inside]
            number, first = self.number[tuple(voxel.T)], self.first[tuple(voxel.T)]
            best, cosine = np.full(len(mm), -1), np.full(len(mm), WITHIN)
            for lobe in range(number.max(initial=0)):
                at = np.minimum(first + lobe, len(self.dirs) - 1)
                near = np.where(number > lobe, np.abs((self.dirs[at] * dirs).sum(1)), 0)
                best, cosine = np.where(near > cosine, at, best), np.maximum(near, cosine)
            met, which = np.unique(best[best >= 0], return_inverse=True)
            rows += [row] * len(met)
            columns += list(met)
            values += list(np.bincount(which, mm[best >= 0]))
        return csr_matrix((values, (rows, columns)), shape=(len(lines), len(self.density)))

    def misfits(self, weights):
        held = self.mu * (self.lengths.T @ weights)
        size = (self.white * self.density**2).sum()
        best = (self.white * held * self.density).sum() / (self.white * held**2).sum()
        error = [np.sqrt((self.white * (c * held - self.density) ** 2).sum() / size) for c in (1, best)]
        return error


def of_ours(fimbria, tmp, weights):
    """The misfits by our own model: it is quadratic in a common factor, 1 at none."""
    squares = []
    for factor in (1, 2):
        np.savetxt(tmp / "judged.txt", factor * weights)
        words = ["--start", tmp / "judged.txt", "--iterations", 0, "-o", tmp / "judged", "--force", "-q"]
        run(fimbria, "sift2", tmp / "track/tracks.tck", tmp / "fod/fod.mif", "--act", tmp / "head/5tt.nii", *words)
        squares.append(json.loads((tmp / "judged/run.json").read_text())["misfit_after"] ** 2)
    a = (squares[1] - 2 * squares[0] + 1) / 2
    b = (1 + a - squares[0]) / 2
    return [np.sqrt(squares[0]), np.sqrt(1 - b * b / a)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--voxel", type=float, default=4)
    parser.add_argument("--select", type=int, default=20000)
    parser.add_argument("--keep", help="a folder in which all files stay")
    parser.add_argument("--variation", type=float, nargs="*", default=[0.2, 0.5, 1.0], help="besides the default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(args.keep or folder)
        compare(args, tmp)


def compare(args, tmp):
    fimbria, threads = args.fimbria, ["--threads", 2]
    if not (tmp / "fixels/afd.mif").exists():
        run(fimbria, "phantom", "head", "--voxel", args.voxel, "--format", "nii", "-o", tmp / "head", *threads)
        run(fimbria, "fit", "fod", tmp / "head/dwi.nii", "--mask", tmp / "head/mask.nii", "--format", "mif",
            "--device", "cpu", "-o", tmp / "fod", *threads)
        run(fimbria, "track", tmp / "fod/fod.mif", "--seeds", tmp / "head/mask.nii", "--act", tmp / "head/5tt.nii",
            "--select", args.select, "--device", "cpu", "--tracks", "tck", "-o", tmp / "track", *threads)
        run("fod2fixel", tmp / "fod/fod.mif", tmp / "fixels", "-afd", "afd.mif", "-quiet")
    lines, fod, act = tmp / "track/tracks.tck", tmp / "fod/fod.mif", tmp / "head/5tt.nii"
    seconds = {}
    found = {}
    for variation in [None, *args.variation]:
        name = "fimbria" if variation is None else f"fimbria --variation {variation:g}"
        more = [] if variation is None else ["--variation", variation]
        seconds[name] = run(fimbria, "sift2", lines, fod, "--act", act, *more, "-o", tmp / "ours", "--force", "-q", *threads)
        found[name] = np.loadtxt(tmp / "ours/weights.txt")
    seconds["tcksift2"] = run("tcksift2", lines, fod, tmp / "theirs.txt", "-act", act, "-force", "-quiet", "-nthreads", 2)
    found["tcksift2"] = np.loadtxt(tmp / "theirs.txt")
    found = {"all 1": np.ones_like(found["tcksift2"]), **found}
    neutral = Neutral(tmp)
    theirs = found["tcksift2"]
    print(f"{len(theirs)} streamlines, voxels of {args.voxel:g} mm")
    print(f"{'':26}{'our model':>16}{'of neither':>16}   {'1 %':>6}{'50 %':>6}{'90 %':>6}{'99 %':>6}{'99.9 %':>7}"
          f"{'log corr.':>10}{'CPU s':>7}")
    for name, weights in found.items():
        ours, other = of_ours(fimbria, tmp, weights), neutral.misfits(weights)
        both = (weights > 0) & (theirs > 0)
        logs = np.log(weights[both]), np.log(theirs[both])
        with np.errstate(invalid="ignore"):
            correlation = np.corrcoef(*logs)[0, 1] if name != "all 1" else np.nan
        shares = np.percentile(weights, [1, 50, 90, 99, 99.9])
        print(f"{name:26}{ours[0]:8.3f}{ours[1]:8.3f}{other[0]:8.3f}{other[1]:8.3f}   "
              + "".join(f"{share:6.2f}" for share in shares)
              + f"{correlation:11.3f}{seconds.get(name, np.nan):7.1f}", flush=True)


if __name__ == "__main__":
    main()
