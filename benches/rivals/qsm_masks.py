#!/usr/bin/env python3
"""The defaults of `field` and `qsm` on a head whose mask is not that of the brain, at field strengths and noises.

    python3 benches/rivals/qsm_masks.py --fimbria target/release/fimbria

Needs numpy and nibabel. The head is that of `fimbria phantom head`, 3 mm, with bone, air, veins, a calcification
and a bleed, of a subject that nothing was tuned on. Masks are its own, one larger by two voxels all around, one
smaller by a voxel, and one that takes in the sinuses, larger by four voxels in its lowest third. Prints the NRMSE of
dtv and tv in %, means off, a voxel inside the brain, a voxel without a map counting as 0, and how much of that is
not in the mask of the field.
"""

import argparse
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from qsm_methods import load, measured

SCANS = [(3, "4,12,20,28", 100), (3, "4,12,20,28", 20), (7, "4,9,14,19", 20)]


def grown(mask, voxels):
    """With all voxels at so many steps through faces."""
    for _ in range(voxels):
        wide = np.pad(mask, 1)
        shifted = [np.roll(wide, step, axis) for axis in range(3) for step in (-1, 1)]
        mask = np.logical_or.reduce([wide, *shifted])[1:-1, 1:-1, 1:-1]
    return mask


def masks_of(brain):
    slices = np.where(brain.any((0, 1)))[0]
    low = np.zeros_like(brain)
    low[:, :, : slices[0] + len(slices) // 3] = True
    smaller = ~grown(~brain, 1)
    return {"own": brain, "larger": grown(brain, 2), "smaller": smaller, "sinuses": brain | grown(brain, 4) & low}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--subject", default="21")
    parser.add_argument("--background", nargs="*", default=["pdf", "vsharp", "lbv"])
    args = parser.parse_args()
    fimbria = str(Path(args.fimbria).resolve())
    print(f"{'tesla':>5} {'SNR':>4}  {'mask':<8} {'background':<10} {'dtv %':>6} {'tv %':>6} {'lost %':>6}")
    for tesla, times, snr in SCANS:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)

            def run(*words):
                measured(fimbria, list(map(str, words)), folder)

            run("phantom", "head", "--voxel", 3, "--shells", "1000:30", "--samples", 2, "--subject", args.subject,
                "--gre", times, "--gre-b0", tesla, "--gre-snr", snr, "-o", "head")
            run("fit", "dti", "head/dwi.nii.gz", "--mask", "head/mask.nii.gz", "-o", "dti")
            file = nib.load(folder / "head/gre/mask.nii.gz")
            brain = file.get_fdata() > 0
            inside = ~grown(~brain, 1)
            truth = load(folder / "head/gre/truth/chi.nii.gz")[inside]
            truth -= truth.mean()
            for name, mask in masks_of(brain).items():
                nib.save(nib.Nifti1Image(mask.astype(np.uint8), file.affine), folder / "mask.nii.gz")
                for background in args.background:
                    run("field", "head/gre/phase.nii.gz", "--magnitude", "head/gre/magnitude.nii.gz", "--mask",
                        "mask.nii.gz", "--background", background, "-o", "field")
                    run("qsm", "field/local_field.nii.gz", "--mask", "field/mask.nii.gz", "--weights",
                        "field/weights.nii.gz", "--dti", "dti", "-o", "qsm")
                    maps = [load(folder / f"qsm/{chi}.nii.gz")[inside] for chi in ("chi", "chi_tv")]
                    dtv, tv = (100 * np.linalg.norm(m - m.mean() - truth) / np.linalg.norm(truth) for m in maps)
                    lost = 100 * (load(folder / "field/mask.nii.gz")[inside] == 0).mean()
                    print(f"{tesla:>5} {snr:>4}  {name:<8} {background:<10} {dtv:>6.1f} {tv:>6.1f} {lost:>6.1f}",
                          flush=True)


if __name__ == "__main__":
    main()
