#!/usr/bin/env python3
"""Diffusion tensors: fimbria beside DIPY and MRtrix3, agreement and time, on the user's own data.

    python3 benches/rivals/dti.py --fimbria target/release/fimbria DWI.nii.gz BVAL BVEC MASK

Needs nibabel and numpy; DIPY and MRtrix3 are compared where they are installed. Times are user CPU
seconds of whole commands with one thread, the mean of --repeat runs; ratios are of one run of this
script, nothing else should be running. fimbria writes all its maps, compressed; MRtrix3 writes FA,
MD, eigenvalues and eigenvectors, uncompressed, by two commands. Exit code 1 where a map disagrees.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

# Agreement asked of every peer. FA and MD: far below what noise leaves, far above f32 rounding.
# Directions are compared only where the neighbouring eigenvalue is at least GAP away: closer than
# that the direction is not defined by the data.
FA_TOLERANCE, MD_RELATIVE, V1_DEGREES, GAP = 1e-4, 1e-4, 0.1, 1e-5

# Below this, mm²/s, a mean diffusivity is the rest that eigenvalues of both signs leave where
# samples are zero or less (water has 3e-3): differences are then measured against it instead.
LEAST_MD = 5e-5


def user_seconds(command, repeat):
    """Mean user CPU time of `command` over `repeat` runs: systems that count in ticks of some
    milliseconds are right in the mean only."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    for _ in range(repeat):
        run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / repeat


def load(path):
    return np.asarray(nib.load(path).dataobj, dtype=np.float64)


def report(peer, ours, theirs, mask):
    """Prints the largest differences inside the mask; true where all are within tolerance."""
    good = mask & np.all(np.isfinite(theirs["V1"]), axis=-1) & (theirs["MD"] > 0)
    d_fa = np.abs(ours["FA"] - theirs["FA"])[good]
    d_md = (np.abs(ours["MD"] - theirs["MD"]) / np.maximum(theirs["MD"], LEAST_MD))[good]
    sharp = good & (theirs["L1"] - theirs["L2"] > GAP)
    cosine = np.abs(np.sum(ours["V1"] * theirs["V1"], axis=-1))[sharp]
    angle = np.degrees(np.arccos(np.clip(cosine, 0, 1)))
    ok = d_fa.max() <= FA_TOLERANCE and d_md.max() <= MD_RELATIVE and angle.max() <= V1_DEGREES
    print(
        f"{peer:24s} voxels {good.sum():7d}  |dFA| max {d_fa.max():.1e}  "
        f"dMD/MD max {d_md.max():.1e}  V1 max {angle.max():.4f} deg  {'agree' if ok else 'DISAGREE'}"
    )
    return ok


def ours(fimbria, args, out, *extra):
    command = [fimbria, "fit", "dti", args.dwi, "--bval", args.bval, "--bvec", args.bvec]
    command += ["--mask", args.mask, "-o", out, "--force", "-q", *extra]
    seconds = user_seconds(command, args.repeat)
    names = ["FA", "MD", "V1", "L1", "L2"]
    return {n: load(Path(out) / f"{n}.nii.gz") for n in names}, seconds


def mrtrix(args, tmp, iterations):
    """MRtrix3's maps: iterations = 0 is one pass weighted by the measured signal."""
    tensor = tmp / "dt.mif"
    fit = ["dwi2tensor", "-quiet", "-force", "-nthreads", "0", "-iter", iterations]
    fit += ["-fslgrad", args.bvec, args.bval, "-mask", args.mask, args.dwi, tensor]
    maps = {k: tmp / f"mr_{k}.nii" for k in ("fa", "adc", "vector", "value")}
    metric = ["tensor2metric", "-quiet", "-force", "-nthreads", "0", "-num", "1,2,3"]
    metric += ["-modulate", "none", tensor]
    for name, path in maps.items():
        metric += [f"-{name}", path]
    seconds = user_seconds(fit, args.repeat) + user_seconds(metric, args.repeat)
    vector, value = load(maps["vector"]), load(maps["value"])
    return {
        "FA": load(maps["fa"]), "MD": load(maps["adc"]), "V1": vector[..., :3],
        "L1": value[..., 0], "L2": value[..., 1],
    }, seconds


def dipy(args):
    """DIPY's maps by WLS, V1 turned from voxel to scanner axes."""
    from dipy.core.gradients import gradient_table
    from dipy.reconst.dti import TensorModel

    image = nib.load(args.dwi)
    bval, bvec = np.loadtxt(args.bval), np.loadtxt(args.bvec)
    bvec = bvec.T if bvec.shape[0] == 3 else bvec
    if np.linalg.det(image.affine[:3, :3]) > 0:
        bvec = bvec * [-1, 1, 1]  # DIPY takes voxel axes; FSL's files count x the other way
    lengths = np.linalg.norm(bvec, axis=1, keepdims=True)
    bvec = np.divide(bvec, lengths, out=np.zeros_like(bvec), where=lengths > 0)
    table = gradient_table(bvals=bval, bvecs=bvec)
    data, mask = np.asarray(image.dataobj), load(args.mask) > 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    fit = TensorModel(table, fit_method="WLS").fit(data, mask=mask)
    maps = {"FA": fit.fa, "MD": fit.md, "V1": fit.evecs[..., 0], "L1": fit.evals[..., 0],
            "L2": fit.evals[..., 1]}
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    u, _, vt = np.linalg.svd(image.affine[:3, :3] / np.linalg.norm(image.affine[:3, :3], axis=0))
    maps["V1"] = maps["V1"] @ (u @ vt).T
    return maps, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("dwi", "bval", "bvec", "mask"):
        parser.add_argument(name)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--repeat", type=int, default=10)
    args = parser.parse_args()
    mask = load(args.mask) > 0
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        if shutil.which("dwi2tensor"):
            for iterations, method in ((0, "one pass"), (2, "default")):
                extra = ["--compat", "mrtrix", "--method", "iwls" if iterations else "wls"]
                a, fast = ours(args.fimbria, args, tmp / "f", "--threads", "1", *extra)
                b, slow = mrtrix(args, tmp, iterations)
                agree &= report(f"MRtrix3 {method}", a, b, mask)
                print(f"{'':24s} user CPU {fast:.3f} s against {slow:.3f} s: {slow / fast:.1f} times")
        try:
            b, slow = dipy(args)
        except ImportError:
            print("DIPY is not installed: skipped")
        else:
            a, fast = ours(args.fimbria, args, tmp / "d", "--threads", "1", "--compat", "dipy")
            agree &= report("DIPY WLS", a, b, mask)
            print(f"{'':24s} user CPU {fast:.3f} s against {slow:.3f} s: {slow / fast:.1f} times "
                  "(theirs without reading and writing)")
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
