#!/usr/bin/env python3
"""Streamlines per second: fimbria track beside MRtrix3's tckgen (iFOD2) on the same densities.

    python3 benches/rivals/tracking.py --fimbria target/release/fimbria MASK SEEDS \\
        (--dwi DWI BVAL BVEC | --fod FOD)

Fibre orientation densities are given, or estimated once, by MRtrix3 (dwi2response tournier, dwi2fod
csd, the largest shell). tckgen tracks them as they are, with its defaults; fimbria draws 50 samples of
directions in each voxel first, which is timed by itself, and tracks those with steps of 0.5 mm. The
longest streamline allowed is lowered on the side whose mean is longer until the means agree to 3 %.
Both work with one thread. A rate is what further streamlines take, in user CPU seconds: the whole command for
many less that for few. Both by turns, --rounds times; the best of each counts. Last, seconds of
tracking alone, and both writing TCK files. Needs MRtrix3 and numpy.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def user_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    finished = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{finished.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def lengths(tck):
    """Number and mean length of streamlines, by MRtrix3."""
    run = subprocess.run(["tckstats", "-quiet", "-output", "count", "-output", "mean", str(tck)],
                         capture_output=True, text=True, check=True)
    count, mean = run.stdout.split()
    return int(count), float(mean)


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


class Theirs:
    name = "tckgen iFOD2"

    def __init__(self, args, fod, tmp):
        self.args, self.fod, self.out = args, fod, tmp / "theirs.tck"
        self.longest = None

    def run(self, count):
        longest = ["-maxlength", self.longest] if self.longest else []
        return user_seconds("tckgen", "-quiet", "-force", "-nthreads", 0, "-algorithm", "iFOD2",
                            "-seed_image", self.args.seeds, "-mask", self.args.mask, "-select",
                            count, *longest, self.fod, self.out), lengths(self.out)


class Ours:
    name = "fimbria track"

    def __init__(self, args, fod, tmp, tracks):
        self.args, self.fod, self.folder, self.tracks = args, fod, tmp / "ours", tracks
        self.seeds = int(subprocess.run(
            ["mrstats", "-quiet", "-output", "count", "-ignorezero", str(args.seeds)],
            capture_output=True, text=True, check=True).stdout.split()[0])
        self.longest = None

    def run(self, count, tracks=None):
        tracks = tracks or self.tracks
        longest = ["--max-length", self.longest] if self.longest else []
        seconds = user_seconds(
            self.args.fimbria, "track", self.fod, "--sh-basis", "mrtrix", "--mask", self.args.mask,
            "--seeds", self.args.seeds, "-n", max(1, round(count / self.seeds)), "--threads", 1,
            "--device", "cpu", "--jitter", 1, "--min-length", self.args.shortest, "--tracks", tracks,
            "-o", self.folder, "-f", "-q", *longest)
        record = json.loads((self.folder / "run.json").read_text())
        track = next(s for s in record["stages"] if s["name"] == "track")
        # Points count the seed twice.
        kept, points = track["counts"]["kept"], track["counts"]["points"]
        self.tracking = track["seconds"]
        return seconds, (kept, (points / kept - 2) * 0.5)


def agree(ours, theirs, count):
    """Lowers the longest allowed of the longer side until means are equal to 3 %."""
    _, (_, mine) = ours.run(20 * count)
    _, (_, yours) = theirs.run(count)
    print(f"means by default: {mine:.1f} mm ours, {yours:.1f} mm theirs", flush=True)
    longer, target = (ours, yours) if mine > yours else (theirs, mine)
    low, high = 0.5 * target, 1000.0
    for _ in range(9):
        longer.longest = 0.5 * (low + high)
        _, (_, mean) = longer.run(20 * count if longer is ours else count)
        if abs(mean / target - 1) < 0.03:
            break
        low, high = (low, longer.longest) if mean > target else (longer.longest, high)


def rate(runner, few, many):
    seconds, (count, mean) = runner.run(many)
    start, (fewer, _) = runner.run(few)
    return (count - fewer) / (seconds - start), mean


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--count", type=int, default=4000, help="streamlines of tckgen")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shortest", type=float, default=12.5,
                        help="shortest streamline, mm: tckgen's default is five voxels")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dwi", nargs=3, type=Path, metavar=("DWI", "BVAL", "BVEC"))
    source.add_argument("--fod", type=Path, help="spherical harmonics of MRtrix3")
    parser.add_argument("mask", type=Path)
    parser.add_argument("seeds", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        fod = densities(args, tmp)
        theirs = Theirs(args, fod, tmp)
        for tracks in ("none", "tck"):
            ours = Ours(args, fod, tmp, tracks)
            if tracks == "none":
                agree(ours, theirs, args.count)
                longest = ours.longest
                print(f"{'':22s} {'streamlines/s':>14s} {'mean mm':>8s}")
            ours.longest = longest
            best = {}
            for _ in range(args.rounds):
                for runner, few, many in ((theirs, args.count // 10, args.count),
                                          (ours, 5 * args.count, 100 * args.count)):
                    now = rate(runner, few, many)
                    best[runner.name] = max(best.get(runner.name, (0, 0)), now)
            for name, (per_second, mean) in best.items():
                wrote = " (maps)" if (name, tracks) == (ours.name, "none") else " (TCK)"
                print(f"{name + wrote:22s} {per_second:14.0f} {mean:8.1f}", flush=True)
            (mine, my_mean), (yours, your_mean) = best[ours.name], best[theirs.name]
            print(f"{'ratio':22s} {mine / yours:14.1f}   per mm {mine * my_mean / (yours * your_mean):.1f}",
                  flush=True)


if __name__ == "__main__":
    main()
