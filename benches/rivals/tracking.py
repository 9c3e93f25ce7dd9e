#!/usr/bin/env python3
"""Streamlines through densities: fimbria track beside MRtrix3's tckgen and DIPY's trackers, how good and
how fast.

    python3 benches/rivals/tracking.py --fimbria target/release/fimbria MASK SEEDS \\
        (--dwi DWI BVAL BVEC | --fod FOD) [--truth PEAKS]

Fibre orientation densities are given, or estimated once, by MRtrix3 (dwi2response tournier, dwi2fod
csd, the largest shell). The programs track them with their defaults, but for tckgen's cut-off of 0.1 in
fimbria too, so that streamlines end alike and are as long, from the same seed voxels, with one thread,
and write TCK files of --count streamlines. Said of each: median and mean length, median turn between
steps per mm, median angle of steps to the nearest of the true directions (--truth, three volumes each,
scanner axes; in voxels that have some), and streamlines a second of user CPU: what further ones take,
the whole command for many less that for few, both programs by turns, the best of --rounds. Needs
MRtrix3, numpy and nibabel, and for --dipy DIPY.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np


def user_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    finished = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{finished.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def densities(args, tmp):
    if args.fod:
        return args.fod
    image, bval, bvec = args.dwi
    grad = ["-fslgrad", bvec, bval]
    shells = np.unique(np.round(np.loadtxt(bval), -2))
    dwi, response, fod = tmp / "dwi.mif", tmp / "response.txt", tmp / "fod.nii"
    user_seconds("dwiextract", "-quiet", *grad, "-shells", f"0,{shells[-1]:.0f}", image, dwi)
    user_seconds("dwi2response", "tournier", "-quiet", dwi, response, "-mask", args.mask)
    user_seconds("dwi2fod", "csd", "-quiet", dwi, response, fod, "-mask", args.mask)
    return fod


def tckgen(algorithm):
    def run(args, fod, count, out):
        return user_seconds("tckgen", "-quiet", "-force", "-nthreads", 0, "-algorithm", algorithm,
                            "-seed_image", args.seeds, "-mask", args.mask, "-select", count, fod,
                            out)
    return run


def fimbria(algorithm, edges=None):
    """With tckgen's cut-off, and the default step or one of so many voxel edges."""
    def run(args, fod, count, out):
        folder = out.with_suffix("")
        step = [] if edges is None else ["--step", edges * min(nib.load(args.mask).header.get_zooms()[:3])]
        seconds = user_seconds(args.fimbria, "track", fod, "--sh-basis", "mrtrix", "--mask",
                               args.mask, "--seeds", args.seeds, "--select", count, "--algorithm",
                               algorithm, "--cutoff", 0.1, "--threads", 1, "--device", "cpu", "--tracks", "tck",
                               "-o", folder, "-f", "-q", *step)
        out.unlink(missing_ok=True)
        (folder / "tracks.tck").rename(out)
        return seconds
    return run


def dipy(kind):
    def run(args, fod, count, out):
        script = Path(__file__).with_name("dipy_tracks.py")
        return user_seconds(sys.executable, script, kind, fod, args.mask, args.seeds, count, out)
    return run


PAIRS = [
    # Steps of half a voxel edge in both.
    [("tckgen iFOD2", tckgen("iFOD2")), ("fimbria probabilistic", fimbria("probabilistic")),
     ("fimbria transport", fimbria("transport"))],
    # SD_STREAM's are a tenth of one, ours a fifth, or the same.
    [("tckgen SD_STREAM", tckgen("SD_STREAM")),
     ("fimbria deterministic", fimbria("deterministic")),
     ("fimbria, its step", fimbria("deterministic", 0.1))],
]

WITH_DIPY = [
    [("DIPY probabilistic", dipy("probabilistic")),
     ("fimbria probabilistic", fimbria("probabilistic"))],
    [("DIPY PTT", dipy("ptt")), ("fimbria transport", fimbria("transport"))],
]


class Truth:
    """True directions in the voxel of a point."""

    def __init__(self, path):
        image = nib.load(path)
        peaks = np.nan_to_num(image.get_fdata(dtype=np.float32))
        peaks = peaks.reshape(peaks.shape[:3] + (-1, 3))
        norm = np.linalg.norm(peaks, axis=-1, keepdims=True)
        self.dirs = np.where(norm > 0, peaks / np.maximum(norm, 1e-9), 0)
        self.vox = np.linalg.inv(image.affine)

    def angles(self, points, dirs):
        at = np.rint(points @ self.vox[:3, :3].T + self.vox[:3, 3]).astype(int)
        inside = np.all((at >= 0) & (at < self.dirs.shape[:3]), axis=1)
        i, j, k = at[inside].T
        here = self.dirs[i, j, k]
        known = np.any(here != 0, axis=(1, 2))
        cos = np.abs((here * dirs[inside][:, None, :]).sum(-1)).max(1)[known]
        return np.degrees(np.arccos(np.clip(cos, 0, 1)))


def quality(streamlines, truth):
    lengths, turns, angles = [], [], []
    for points in streamlines:
        steps = np.diff(np.asarray(points, float), axis=0)
        mm = np.linalg.norm(steps, axis=1)
        dirs = steps / mm[:, None]
        lengths.append(mm.sum())
        cos = np.clip((dirs[1:] * dirs[:-1]).sum(1), -1, 1)
        turns.append(np.degrees(np.arccos(cos)) / (0.5 * (mm[1:] + mm[:-1])))
        if truth:
            angles.append(truth.angles(0.5 * (points[1:] + points[:-1]), dirs))
    off = np.median(np.concatenate(angles)) if truth else np.nan
    return np.median(lengths), np.mean(lengths), np.median(np.concatenate(turns)), off


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--count", type=int, default=3000, help="streamlines")
    parser.add_argument("--more", type=int, default=10, help="times as many of fimbria's are timed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dipy", action="store_true", help="DIPY's trackers too")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dwi", nargs=3, type=Path, metavar=("DWI", "BVAL", "BVEC"))
    source.add_argument("--fod", type=Path, help="spherical harmonics of MRtrix3")
    parser.add_argument("--truth", type=Path, help="true directions, three volumes each")
    parser.add_argument("mask", type=Path)
    parser.add_argument("seeds", type=Path)
    args = parser.parse_args()
    truth = Truth(args.truth) if args.truth else None
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        fod = densities(args, tmp)
        print(f"{'':22s} {'median mm':>9s} {'mean mm':>8s} {'turn/mm':>8s} {'to truth':>8s} "
              f"{'a second':>9s}")
        for pair in PAIRS + (WITH_DIPY if args.dipy else []):
            best = {name: 0.0 for name, _ in pair}
            for _ in range(args.rounds):
                for name, run in pair:
                    count = args.count * (args.more if name.startswith("fimbria") else 1)
                    few, out = count // 10, tmp / "timed.tck"
                    seconds = run(args, fod, count, out) - run(args, fod, few, out)
                    best[name] = max(best[name], (count - few) / max(seconds, 1e-9))
            for name, run in pair:
                out = tmp / "judged.tck"
                run(args, fod, args.count, out)
                median, mean, turn, off = quality(nib.streamlines.load(out).streamlines, truth)
                print(f"{name:22s} {median:9.1f} {mean:8.1f} {turn:8.1f} {off:8.1f} "
                      f"{best[name]:9.0f}", flush=True)
            theirs, *ours = best.values()
            print(f"{'ratio':22s} {'':36s} " + " ".join(f"{one / theirs:9.1f}" for one in ours), flush=True)


if __name__ == "__main__":
    main()
