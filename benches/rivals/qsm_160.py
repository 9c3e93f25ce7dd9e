#!/usr/bin/env python3
"""Time from phase to a finished map of a head of 160^3 voxels, by every method, with the peak of memory.

    nice -n -15 python3 benches/rivals/qsm_160.py --fimbria target/release/fimbria

Needs numpy and nibabel, and 2 GB beside 160^3 voxels of four echoes. The head is that of `phantom gre` with
voxels of 1.125 mm; what guides is its truth (FA and V1), MD and S0 images made of that and of the magnitude,
since only the time counts here. `field` runs once; a method's time is that of `field` and its own. Prints the
iterations that were done (those of dqsm and tensor are told: each costs what it costs), seconds, seconds of
processor, the peak of memory of the larger of both commands, NRMSE, and the load before each method.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from qsm_methods import measured

GUIDES = ["--dti", "dti"]
# Of every method its options, and the seconds that it is to take at most.
METHODS = {
    "tkd": ([], 60),
    "tikhonov": ([], 60),
    "tv": ([], 60),
    "rts": ([], 60),
    "dtv": (GUIDES, 180),
    "tgv": ([], 180),
    "medi": (["--magnitude", "gre/magnitude.nii.gz"], 180),
    "ndi": ([], 180),
    "ilsqr": ([], 180),
    "tensor": ([*GUIDES, "--kappa", "0.95", "--iterations", "20"], 180),
    "dqsm": ([*GUIDES, "--kappa", "0.95", "--iterations", "10", "--start", "tikhonov"], 180),
}
UNWEIGHED = ["tkd", "tikhonov", "rts"]


def guides(folder):
    """The folder of a tensor fit."""
    (folder / "dti").mkdir()
    fibre = nib.load(folder / "gre/truth/fibre.nii.gz")
    v = fibre.get_fdata(dtype=np.float32)
    fa = np.linalg.norm(v, axis=-1)
    magnitude = np.asarray(nib.load(folder / "gre/magnitude.nii.gz").dataobj[..., 0], np.float32)
    images = {"FA": fa, "V1": v / np.maximum(fa, 1e-6)[..., None], "MD": 8e-4 * (1 - 0.2 * fa), "S0": magnitude}
    for name, data in images.items():
        nib.save(nib.Nifti1Image(np.float32(data), fibre.affine), folder / f"dti/{name}.nii.gz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--side", type=int, default=160, help="voxels along each axis of the same head")
    parser.add_argument("--threads", default="2")
    args = parser.parse_args()
    fimbria = str(Path(args.fimbria).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def run(*words):
            return measured(fimbria, [*words, "--threads", args.threads], folder)

        side = str(args.side)
        run("phantom", "gre", "--size", ",".join([side] * 3), "--voxel", f"{180 / args.side:g}", "--finer", "1",
            "-o", "gre")
        guides(folder)
        of_field = run("field", "gre/phase.nii.gz", "--magnitude", "gre/magnitude.nii.gz", "--mask",
                       "gre/mask.nii.gz", "-o", "field")
        seconds, processor, megabytes = of_field
        print(f"field: {seconds:.1f} s, {processor:.1f} s of processor, {megabytes:.0f} MB")
        print(f"{'method':<9} {'iterations':>10} {'s':>7} {'CPU s':>7} {'in all s':>8} {'at most':>7} {'MB':>6} "
              f"{'NRMSE %':>8} {'load':>5}", flush=True)
        for method in args.methods:
            options, most = METHODS[method]
            weights = [] if method in UNWEIGHED else ["--weights", "field/weights.nii.gz"]
            load = os.getloadavg()[0]
            used = run("qsm", "field/local_field.nii.gz", "--mask", "field/mask.nii.gz", *weights, "--truth",
                       "gre/truth/chi.nii.gz", "--method", method, *options, "-o", "out")
            rows = folder / "out/iterations.tsv"
            iterations = len(rows.read_text().splitlines()) - 1 if rows.exists() else 0
            error = json.loads((folder / "out/metrics.json").read_text())["nrmse_percent"]
            in_all = seconds + used[0]
            print(f"{method:<9} {iterations:>10} {used[0]:>7.1f} {used[1]:>7.1f} {in_all:>8.1f} {most:>7} "
                  f"{max(megabytes, used[2]):>6.0f} {error:>8.1f} {load:>5.1f}", flush=True)
            rows.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
