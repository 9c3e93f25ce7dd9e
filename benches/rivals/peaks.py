#!/usr/bin/env python3
"""Fibre directions: fimbria peaks beside MRtrix3's sh2peaks on one FOD image, error and time.

    python3 benches/rivals/peaks.py --fimbria target/release/fimbria FOD.mif MASK [TRUTH]

FOD.mif holds spherical harmonics in MRtrix3's basis, uncompressed, such as dwi2fod writes; TRUTH,
where it is known, three volumes for each fibre, largest first: direction in scanner axes times
volume fraction, 0 = none. Needs nibabel and numpy, and MRtrix3.

Both programs look for three peaks without threshold; rank-one terms are sought with the defaults.
Times are user CPU seconds of whole commands with one thread, .mif to .mif, the mean of --repeat
runs of fimbria and of one of sh2peaks; ratios are of one run of this script, nothing else should be
running. Errors are angles from each true fibre to the nearest of the peaks that reach a tenth of
the voxel's largest. Exit code 1 where fimbria's mean error is larger, or where fewer of its
directions are those of sh2peaks than agree.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

# The share of voxels whose first peak must be the same to SAME_DEGREES: where two maxima are
# equally high, or sh2peaks stops early (1e-4 rad, 60 seeds), the first may be another.
AGREE, SAME_DEGREES = 0.999, 0.1

# By how much the mean error may exceed theirs, degrees: each program misses a few low maxima that
# the other finds, some ten in a hundred thousand fibres at up to 90 degrees.
ERROR_SLACK = 1e-2

# Peaks below this share of the largest in their voxel are not counted.
THRESHOLD = 0.1


def run(command):
    finished = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(finished.stderr)


def user_seconds(command, repeat):
    """Mean user CPU time of `command` over `repeat` runs: systems that count in ticks of some
    milliseconds are right in the mean only."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    for _ in range(repeat):
        run(command)
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / repeat


def load(path, tmp):
    """An image as an array in NIfTI's order, .mif converted first."""
    if str(path).endswith((".mif", ".mih")):
        plain = tmp / (Path(path).stem + "_plain.nii")
        run(["mrconvert", "-quiet", "-force", path, plain])
        path = plain
    return nib.as_closest_canonical(nib.load(path))


def vectors(path, tmp, mask):
    """Peaks of the voxels in the mask, [voxel][peak][xyz], scanner axes; NaN where none."""
    data = np.asarray(load(path, tmp).dataobj, dtype=np.float64)[mask]
    return data.reshape(len(data), -1, 3)


def degrees(a, b):
    """Angles between axes, NaN where one is missing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = np.abs(np.sum(a * b, -1)) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    return np.degrees(np.arccos(np.clip(cosine, 0, 1)))


def counted(peaks):
    """NaN instead of peaks below the threshold."""
    length = np.linalg.norm(peaks, axis=-1)
    with np.errstate(invalid="ignore"):
        good = length >= THRESHOLD * np.nanmax(np.nan_to_num(length), axis=1, keepdims=True)
    return np.where((good & (length > 0))[..., None], peaks, np.nan)


def errors(peaks, truth):
    """Mean and median angle from each true fibre to the nearest peak, and the share of voxels with
    the right number of peaks, by number of fibres; then the mean of all."""
    peaks = counted(peaks)
    length = np.linalg.norm(truth, axis=-1)
    fibres = np.sum(length > 0, axis=1)
    found = np.sum(np.isfinite(peaks[..., 0]), axis=1)
    apart = degrees(truth[:, :, None, :], peaks[:, None, :, :])
    nearest = np.min(np.where(np.isfinite(apart), apart, 90.0), axis=2)
    rows = {}
    for n in (1, 2, 3):
        of = fibres == n
        if of.any():
            angle = nearest[of][length[of] > 0]
            rows[n] = (angle.mean(), np.median(angle), np.mean(found[of] == n), of.sum())
    return rows, nearest[length > 0].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("fod", "mask"):
        parser.add_argument(name)
    parser.add_argument("truth", nargs="?")
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--repeat", type=int, default=10)
    args = parser.parse_args()
    if not shutil.which("sh2peaks"):
        sys.exit("sh2peaks is not installed")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        # MRtrix3 counts voxels in its own direction: the mask goes through it, as the FOD did.
        mask_at = tmp / "mask.mif"
        run(["mrconvert", "-quiet", args.mask, "-datatype", "uint8", mask_at])
        mask = np.asarray(load(mask_at, tmp).dataobj) > 0
        voxels = int(mask.sum())

        theirs_at, out = tmp / "theirs.mif", tmp / "out"
        slow = user_seconds(["sh2peaks", "-quiet", "-force", "-nthreads", "0", "-num", "3", "-mask",
                             mask_at, args.fod, theirs_at], 1)
        theirs = vectors(theirs_at, tmp, mask)
        truth = vectors(args.truth, tmp, mask) if args.truth else None
        print(f"{voxels} voxels; user CPU seconds of one thread, voxels a second")
        print(f"{'sh2peaks':22s} {slow:8.3f} s {voxels / slow:12.0f}/s")
        results = {"sh2peaks": theirs}
        for method in ("maxima", "low-rank"):
            command = [args.fimbria, "peaks", args.fod, "--sh-basis", "mrtrix", "--mask", mask_at,
                       "--method", method, "-o", out, "--format", "mif", "--force", "--quiet",
                       "--threads", "1", "--device", "cpu"]
            if method == "maxima":
                command += ["--threshold", "0", "--separation", "0"]
            fast = user_seconds(command, args.repeat)
            stages = json.loads((out / "run.json").read_text())["stages"]
            rate = next(s for s in stages if s["name"] == "peaks")["counts"]["voxels_per_second"]
            results[f"fimbria {method}"] = vectors(out / "peaks.mif", tmp, mask)
            print(f"{'fimbria ' + method:22s} {fast:8.3f} s {voxels / fast:12.0f}/s  "
                  f"{slow / fast:6.1f} times; the stage itself {rate}/s, "
                  f"{rate * slow / voxels:.0f} times")

        ours = results["fimbria maxima"]
        both = np.isfinite(ours[:, 0, 0]) & np.isfinite(theirs[:, 0, 0])
        same = np.mean(degrees(ours[:, 0], theirs[:, 0])[both] <= SAME_DEGREES)
        nearest = np.min(np.nan_to_num(degrees(theirs[:, :1], ours), nan=90.0), axis=1)
        among = np.mean(nearest[both] <= SAME_DEGREES)
        print(f"first peak of sh2peaks within {SAME_DEGREES} deg of ours: {same:.4%}; of any of "
              f"ours: {among:.4%}; voxels with peaks {np.isfinite(ours[:, 0, 0]).sum()} ours, "
              f"{np.isfinite(theirs[:, 0, 0]).sum()} theirs")
        good &= among >= AGREE

        if truth is not None:
            means = {}
            for name, peaks in results.items():
                rows, means[name] = errors(peaks, truth)
                for n, (mean, median, count, of) in rows.items():
                    print(f"{name:22s} {n} fibres ({of} voxels): mean {mean:6.3f} deg, median "
                          f"{median:6.3f} deg, count right {count:6.1%}")
                print(f"{name:22s} all fibres: mean {means[name]:.4f} deg")
            good &= means["fimbria maxima"] <= means["sh2peaks"] + ERROR_SLACK
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
