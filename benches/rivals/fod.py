#!/usr/bin/env python3
"""Fibre orientation densities: fimbria beside MRtrix3 and DIPY, against a known truth, and time.

    python3 benches/rivals/fod.py --fimbria target/release/fimbria DWI BVAL BVEC MASK \\
        --truth PEAKS --count COUNT

PEAKS has three volumes per true fibre (scanner axes), COUNT their number. Needs nibabel, numpy and
MRtrix3; DIPY is compared where it is installed. Every density is turned into peaks by the same
program, sh2peaks, and by `fimbria peaks` where this build has it; a peak counts from a tenth of the
largest and 25 degrees from a larger one. MRtrix3 and DIPY work on every --every'th voxel of the
mask. Times are user CPU seconds of whole commands with one thread, responses given, less those of the same
command on a single voxel, per voxel; what it takes to estimate the responses is printed last.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

THRESHOLD, SEPARATION = 0.1, 25.0


def user_seconds(command):
    """User CPU time of a command, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{run.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def load(path):
    return np.asarray(nib.load(path).dataobj)


def save_mask(mask, like, path):
    nib.save(nib.Nifti1Image(mask.astype(np.uint8), nib.load(like).affine), path)
    return path


def compare(name, peaks, truth, count, mask, seconds):
    """Prints angular errors and how often the count is right, by number of fibres."""
    found = np.nan_to_num(peaks[mask].reshape(mask.sum(), -1, 3).astype(float))
    size = np.linalg.norm(found, axis=2)
    keep = (size > 0) & (size >= THRESHOLD * size.max(axis=1, keepdims=True))
    unit = found / np.maximum(size, 1e-12)[..., None]
    for i in range(unit.shape[1]):
        for j in range(i):
            near = np.abs((unit[:, i] * unit[:, j]).sum(-1)) > np.cos(np.radians(SEPARATION))
            keep[:, i] &= ~(keep[:, j] & near)
    true = truth[mask].reshape(mask.sum(), -1, 3).astype(float)
    true /= np.maximum(np.linalg.norm(true, axis=2), 1e-12)[..., None]
    number = count[mask]
    line = f"{name:34s}"
    for n in (1, 2, 3):
        of = number == n
        cosine = np.abs(np.einsum("vik,vjk->vij", true[of, :n], unit[of]))
        cosine[~np.broadcast_to(keep[of][:, None, :], cosine.shape)] = 0
        angle = np.degrees(np.arccos(np.clip(cosine.max(axis=2), 0, 1)))
        right = (keep[of].sum(axis=1) == n).mean()
        line += f"  {angle.mean():5.2f} {np.median(angle):5.2f} {right:5.3f} |"
    line += f" {1e6 * seconds:8.1f}" if seconds is not None else "        -"
    print(line, flush=True)


def mrtrix_peaks(fod, mask, tmp):
    out = tmp / "peaks.nii"
    user_seconds(["sh2peaks", "-quiet", "-force", "-num", 3, "-nthreads", 0, "-mask", mask, fod, out])
    return load(out)


def ours(args, tmp, mask, one, *extra):
    """Our density of the whole mask, seconds per voxel, and seconds to estimate the responses."""
    out = tmp / "ours"
    # The order of dwi2fod.
    base = [args.fimbria, "fit", "fod", args.dwi, "--bval", args.bval, "--bvec", args.bvec, "--order", "8"]
    base += ["--threads", 1, "--device", "cpu", "--force", "-q", "--format", "nii", *extra]
    total = user_seconds([*base, "--mask", args.mask, "-o", out])
    given = [f"--{p.stem.replace('_', '-')}={p}" for p in sorted(out.glob("response*.txt"))]
    start = user_seconds([*base, *given, "--mask", one, "-o", tmp / "start"])
    alone = user_seconds([*base, *given, "--mask", args.mask, "-o", tmp / "alone"])
    return out / "fod.nii", (alone - start) / mask.sum(), total - alone


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("dwi", "bval", "bvec", "mask"):
        parser.add_argument(name)
    parser.add_argument("--truth", required=True)
    parser.add_argument("--count", required=True)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--every", type=int, default=20)
    args = parser.parse_args()
    truth, count = load(args.truth), load(args.count)
    mask = load(args.mask) > 0
    print(f"{'':34s}  1 fibre             |  2 fibres            |  3 fibres            | CPU")
    print(f"{'':34s}  mean  median  right |  mean  median  right |  mean  median  right | us/voxel")
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        some = np.zeros(mask.size, bool)
        some[np.flatnonzero(mask & (count > 0))[:: args.every]] = True
        some = some.reshape(mask.shape)
        one = np.zeros_like(mask)
        one[tuple(np.argwhere(some)[0])] = True
        some_file = save_mask(some, args.mask, tmp / "some.nii")
        one_file = save_mask(one, args.mask, tmp / "one.nii")
        dwi = tmp / "dwi.mif"
        user_seconds(["mrconvert", "-quiet", "-fslgrad", args.bvec, args.bval, args.dwi, dwi])

        def mrtrix(command):
            total = user_seconds([*command, "-mask", some_file])
            return (total - user_seconds([*command, "-mask", one_file])) / some.sum()

        response_seconds = {}
        for tissues in ("auto", "white"):
            fod, seconds, response_seconds[f"fimbria ({tissues})"] = ours(args, tmp, mask, one_file, "--tissues", tissues)
            peaks = mrtrix_peaks(fod, some_file, tmp)
            compare(f"fimbria ({tissues})", peaks, truth, count, some, seconds)
            if tissues == "auto" and re.search(r"^  peaks", subprocess.run(
                    [args.fimbria, "-h"], capture_output=True, text=True).stdout, re.M):
                user_seconds([args.fimbria, "peaks", fod, "--sh-basis", "mrtrix", "--force", "-q",
                              "--mask", some_file, "--format", "nii", "-o", tmp / "p"])
                peaks = load(tmp / "p" / "peaks.nii")
                compare("fimbria (auto), fimbria peaks", peaks, truth, count, some, None)

        quiet = ["-quiet", "-force", "-nthreads", 0]
        response = [tmp / f"{t}.txt" for t in ("wm", "gm", "csf")]
        response_seconds["dwi2response dhollander"] = user_seconds(
            ["dwi2response", "dhollander", dwi, *response, *quiet, "-mask", args.mask])
        pairs = []
        for tissue, text in zip(("wm", "gm", "csf"), response):
            pairs += [text, tmp / f"{tissue}.nii"]
        fod_command = ["dwi2fod", "msmt_csd", dwi, *pairs, *quiet]
        user_seconds([*fod_command, "-mask", one_file])
        seconds = mrtrix(fod_command)
        user_seconds([*fod_command, "-mask", some_file])
        peaks = mrtrix_peaks(tmp / "wm.nii", some_file, tmp)
        compare("dwi2fod msmt_csd, sh2peaks", peaks, truth, count, some, seconds)

        bmax = int(np.loadtxt(args.bval).max())
        user_seconds(["dwi2response", "tournier", dwi, tmp / "t.txt", *quiet, "-mask", some_file])
        command = ["dwi2fod", "csd", dwi, "-shells", bmax, tmp / "t.txt", tmp / "csd.nii", *quiet]
        seconds = mrtrix(command)
        user_seconds([*command, "-mask", some_file])
        peaks = mrtrix_peaks(tmp / "csd.nii", some_file, tmp)
        compare(f"dwi2fod csd (b={bmax}), sh2peaks", peaks, truth, count, some, seconds)

        try:
            peaks, seconds = dipy(args, some, bmax)
        except ImportError:
            print("DIPY is not installed: skipped")
        else:
            compare(f"DIPY CSD (b={bmax})", peaks, truth, count, some, seconds)
        for name, seconds in response_seconds.items():
            print(f"responses, {name}: {seconds:.1f} s")


def dipy(args, mask, bmax):
    """Peaks of DIPY's CSD on the highest shell (and the unweighted volumes), scanner axes."""
    from dipy.core.gradients import gradient_table
    from dipy.data import default_sphere
    from dipy.direction import peaks_from_model
    from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel, auto_response_ssst

    image = nib.load(args.dwi)
    bval, bvec = np.loadtxt(args.bval), np.loadtxt(args.bvec)
    bvec = bvec.T if bvec.shape[0] == 3 else bvec
    if np.linalg.det(image.affine[:3, :3]) > 0:
        bvec = bvec * [-1, 1, 1]
    norms = np.linalg.norm(bvec, axis=1, keepdims=True)
    bvec = np.divide(bvec, norms, out=np.zeros_like(bvec), where=norms > 0)
    use = (bval < 50) | (bval > bmax - 100)
    table = gradient_table(bvals=bval[use], bvecs=bvec[use])
    data = np.asarray(image.dataobj)[..., use]
    response, _ = auto_response_ssst(table, data, roi_radii=10, fa_thr=0.7)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    model = ConstrainedSphericalDeconvModel(table, response, sh_order_max=8)
    found = peaks_from_model(model, data, default_sphere, THRESHOLD, SEPARATION, mask=mask, npeaks=3)
    seconds = (resource.getrusage(resource.RUSAGE_SELF).ru_utime - before) / mask.sum()
    rotation = image.affine[:3, :3] / np.linalg.norm(image.affine[:3, :3], axis=0)
    peaks = (found.peak_dirs * found.peak_values[..., None]) @ rotation.T
    return peaks.reshape(*peaks.shape[:3], -1), seconds


if __name__ == "__main__":
    main()
