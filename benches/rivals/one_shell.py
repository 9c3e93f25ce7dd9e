#!/usr/bin/env python3
"""Three tissues of one shell: fimbria beside MRtrix3 and cs-dmri, against a known truth.

    python3 benches/rivals/one_shell.py --fimbria target/release/fimbria BRAIN [--slices 34:39]

BRAIN has dwi.nii.gz with dwi.bval and dwi.bvec, mask.nii.gz, and in truth/ gt_peaks_ras (three volumes per
fibre, scanner axes), nfibres and fractions (three fibres, grey matter, fluid). Prints the table of docs/densities.md,
"Three tissues of one shell", of the voxels of the mask in those slices:

* a peak is a maximum above 0.15, by `fimbria peaks` for every program; it is false where no fibre is within 25
  degrees: false peaks a voxel, of voxels with fibres and of those without;
* a fibre of a tenth of the voxel or more is found where a peak is within 25 degrees of it;
* main direction: the median angle between the largest fibre and the peak nearest to it, of voxels where that is found;
* r: correlation of the amounts of fibres, grey matter and fluid with their fractions, over all voxels.

Each program estimates its responses on the whole mask; csd has that of `--tissues white`. Needs nibabel, numpy and
MRtrix3; cs-dmri is compared where it is installed.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

LEAST, NEAR, LEAST_SHARE = 0.15, 25.0, 0.1


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def load(path):
    return np.asarray(nib.load(path).dataobj)


class Truth:
    """What is in the voxels that are looked at."""

    def __init__(self, brain, inside):
        dirs = load(brain / "truth/gt_peaks_ras.nii.gz")[inside].reshape(inside.sum(), 3, 3).astype(float)
        size = np.linalg.norm(dirs, axis=2)
        self.is_fibre, self.is_large = size > 0, size >= LEAST_SHARE
        self.dirs = dirs / np.maximum(size, 1e-12)[..., None]
        self.largest = size.argmax(axis=1)
        fractions = load(brain / "truth/fractions.nii.gz")[inside]
        self.fractions = [fractions[:, :3].sum(axis=1), fractions[:, 3], fractions[:, 4]]

    def row(self, name, peaks, amounts):
        found = np.nan_to_num(peaks.reshape(len(peaks), -1, 3).astype(float))
        size = np.linalg.norm(found, axis=2)
        unit = found / np.maximum(size, 1e-12)[..., None]
        cosine = np.abs(np.einsum("vik,vjk->vij", self.dirs, unit))
        cosine *= self.is_fibre[:, :, None] & (size > 0)[:, None, :]
        near = cosine >= np.cos(np.radians(NEAR))
        false = ((size > 0) & ~near.any(axis=1)).sum(axis=1)
        has = self.is_fibre.any(axis=1)
        is_found = near.any(axis=2)
        main = np.arange(len(peaks))[has], self.largest[has]
        angle = np.degrees(np.arccos(np.clip(cosine[main].max(axis=1), 0, 1)))[is_found[main]]
        line = f"| {name} | {false[has].mean():.2f}, {false[~has].mean():.2f} | "
        line += f"{100 * is_found[self.is_large].mean():.0f} % | {np.median(angle):.1f}° | "
        r = [f"{np.corrcoef(a, f)[0, 1]:.2f}" for a, f in zip(amounts, self.fractions)]
        print(line + ", ".join(r) + " |", flush=True)


def cs_dmri(dwi, bval, bvec, mask, some, out):
    """cs-dmri's densities of `some`, by responses of `mask`, as an image; amounts of grey matter and fluid."""
    import cs_dmri

    image = nib.load(dwi)
    bvals, bvecs = cs_dmri.read_bvals_bvecs(str(bval), str(bvec))
    if np.linalg.det(image.affine[:3, :3]) > 0:
        bvecs = np.asarray(bvecs) * [-1, 1, 1]
    table = cs_dmri.GradientTable(bvals, bvecs)
    data = np.asarray(image.dataobj, dtype=np.float32)
    responses = cs_dmri.estimate_responses(data, table, load(mask) > 0)
    model = cs_dmri.SS3TModel(table, responses, bvec_frame="world")
    fit = model.fit(data, load(some) > 0, affine=image.affine)
    nib.save(nib.Nifti1Image(np.asarray(fit.wm, dtype=np.float32), image.affine), out)
    return np.squeeze(fit.gm), np.squeeze(fit.csf)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brain", type=Path)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--slices", default="34:39")
    args = parser.parse_args()
    brain, fimbria = args.brain, args.fimbria
    image = nib.load(brain / "dwi.nii.gz")
    inside = load(brain / "mask.nii.gz") > 0
    first, last = map(int, args.slices.split(":"))
    inside[..., :first] = inside[..., last:] = False
    truth = Truth(brain, inside)
    bval, bvec = np.loadtxt(brain / "dwi.bval"), np.loadtxt(brain / "dwi.bvec")
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        some = tmp / "some.nii"
        nib.save(nib.Nifti1Image(inside.astype(np.uint8), image.affine), some)

        def series(name, keep):
            """The volumes of these shells."""
            use = np.isin(np.round(bval, -3), keep)
            nib.save(nib.Nifti1Image(np.asarray(image.dataobj)[..., use], image.affine), tmp / f"{name}.nii")
            np.savetxt(tmp / f"{name}.bval", bval[None, use], fmt="%g")
            np.savetxt(tmp / f"{name}.bvec", bvec[:, use], fmt="%.8f")
            return tmp / f"{name}.nii"

        def row(name, density, amounts):
            out = tmp / "peaks"
            run(fimbria, "peaks", density, "--sh-basis", "mrtrix", "--mask", some, "--number", 8, "--threshold", 0,
                "--absolute-threshold", LEAST, "--format", "nii", "--force", "-q", "-o", out)
            truth.row(name, load(out / "peaks.nii")[inside], [amount[inside] for amount in amounts])

        def ours(name, dwi, *extra):
            out = tmp / (name.replace(" ", "_").replace(":", "").replace("`", ""))
            base = [fimbria, "fit", "fod", dwi, "--format", "nii", "--force", "-q", *extra]
            run(*base, "--mask", brain / "mask.nii.gz", "-o", out)
            tissues = load(out / "tissues.nii")
            tissues = tissues[..., None] if tissues.ndim == 3 else tissues
            row(name, out / "fod.nii", [tissues[..., k] for k in range(tissues.shape[-1])])
            return out

        ours("b 0, 1000, 2000, 3000: three tissues", series("all", [0, 1000, 2000, 3000]))
        for b in (3000, 1000):
            dwi = series(f"b{b}", [0, b])
            ours(f"b 0, {b}: three tissues (the default)", dwi)
            try:
                out = tmp / "theirs.nii"
                grey, fluid = cs_dmri(dwi, tmp / f"b{b}.bval", tmp / f"b{b}.bvec", brain / "mask.nii.gz", some, out)
                row("the same, cs-dmri's SS3T", out, [load(out)[..., 0], grey, fluid])
            except ImportError:
                print("cs-dmri is not installed: skipped")
            white = ours(f"b {b}: `--tissues white`", dwi, "--tissues", "white")
            run("mrconvert", "-quiet", "-force", "-fslgrad", tmp / f"b{b}.bvec", tmp / f"b{b}.bval", dwi, tmp / "dwi.mif")
            lines = (white / "response.txt").read_text().splitlines()
            (tmp / "csd.txt").write_text([line for line in lines if not line.startswith("#")][-1] + "\n")
            run("dwi2fod", "csd", "-quiet", "-force", "-shells", b, "-mask", some, tmp / "dwi.mif", tmp / "csd.txt", tmp / "csd.nii")
            row(f"b {b}: `dwi2fod csd`", tmp / "csd.nii", [load(tmp / "csd.nii")[..., 0]])


if __name__ == "__main__":
    main()
