#!/usr/bin/env python3
"""Brain masks beside each other: `fimbria mask`, MRtrix3's dwi2mask, DIPY's median_otsu.

    python3 benches/masks.py target/release/fimbria SERIES...

A row for each series with bval and bvec beside it, and for each mask: ml, seconds of the processor, and the Dice coefficient
with ours; where `mask.nii.gz` lies in its folder, as beside a series of `fimbria phantom head`, also with that.
What is not installed is left out.
Needs numpy and nibabel. The table is Markdown.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

OTSU = """
import sys, nibabel as nib, numpy as np
from dipy.segment.mask import median_otsu
image = nib.load(sys.argv[1])
b0 = np.flatnonzero(np.loadtxt(sys.argv[2]).ravel() <= 50)
_, mask = median_otsu(image.get_fdata(), vol_idx=b0, median_radius=4, numpass=4)
nib.save(nib.Nifti1Image(mask.astype(np.uint8), image.affine), sys.argv[3])
"""


def seconds(command: list[str]) -> float:
    """Runs a command; the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beside(series: Path, extension: str) -> Path:
    return series.with_name(series.name.split(".nii")[0] + extension)


def makers(fimbria: str, series: Path, folder: Path):
    """Name, command and file of each."""
    bval, bvec = beside(series, ".bval"), beside(series, ".bvec")
    yield "fimbria", [fimbria, "mask", str(series), "-q", "-o", str(folder / "ours")], folder / "ours/mask.nii.gz"
    if shutil.which("dwi2mask"):
        out = folder / "dwi2mask.nii.gz"
        yield "dwi2mask", ["dwi2mask", "-fslgrad", str(bvec), str(bval), str(series), str(out)], out
    out = folder / "otsu.nii.gz"
    yield "median_otsu", [sys.executable, "-c", OTSU, str(series), str(bval), str(out)], out


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return 2 * np.sum(a & b) / (a.sum() + b.sum())


def main() -> None:
    fimbria, *files = sys.argv[1:]
    print("| series | mask | ml | Dice with ours | with the truth | seconds |")
    print("|---|---|---|---|---|---|")
    for series in map(Path, files):
        known = series.with_name("mask.nii.gz")
        truth = nib.load(known).get_fdata() > 0 if known.exists() else None
        name = f"{series.parent.name}/{beside(series, '').name}"
        with tempfile.TemporaryDirectory() as folder:
            ours = None
            for maker, command, file in makers(fimbria, series, Path(folder)):
                took = seconds(command)
                image = nib.load(file)
                mask = image.get_fdata().reshape(image.shape[:3]) > 0
                ours = mask if ours is None else ours
                ml = mask.sum() * abs(np.linalg.det(image.affine[:3, :3])) / 1000
                known = "" if truth is None else f"{dice(mask, truth):.3f}"
                print(f"| {name} | {maker} | {ml:,.0f} | {dice(mask, ours):.3f} | {known} | {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
