#!/usr/bin/env python3
"""Free water, tissue of bundles, propagators and spins: fimbria beside DIPY, processor time of a voxel and agreement.

    python3 benches/rivals/models.py --fimbria target/release/fimbria DWI.nii.gz BVAL BVEC MASK

Needs nibabel, numpy and DIPY. A series of two shells and more; of its middle slices (--slices) both take the
same voxels: DIPY --voxels of them, drawn once, as it needs tenths of a second for some. Times are user CPU of
one thread: ours of the whole command, reading and writing included, over all voxels of the slices; theirs of the
fit and the maps alone. Ratios are of one run of this script.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np


def user_seconds(who):
    return resource.getrusage(who).ru_utime


def parser(doc, voxels):
    """The arguments of a comparison of middle slices, of which DIPY fits so many voxels."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name in ("dwi", "bval", "bvec", "mask"):
        made.add_argument(name)
    made.add_argument("--fimbria", default="target/release/fimbria")
    made.add_argument("--slices", type=int, default=5)
    made.add_argument("--voxels", type=int, default=voxels)
    made.add_argument("--repeat", type=int, default=3)
    return made


def table_of(bval, bvec, **timing):
    """DIPY's table, whose directions must have length 1 or 0."""
    from dipy.core.gradients import gradient_table

    lengths = np.linalg.norm(bvec, axis=1, keepdims=True)
    bvec = np.divide(bvec, lengths, out=np.zeros_like(bvec), where=lengths > 0)
    return gradient_table(bvals=bval, bvecs=bvec, **timing)


def ours(args, tmp, name, options, maps):
    """Maps of a command and its processor seconds, the least of --repeat runs."""
    out = tmp / "out"
    command = [args.fimbria, "fit", name, tmp / "dwi.nii", "--mask", tmp / "mask.nii", "-o", out, "--force", "-q"]
    command += ["--threads", "1", "--device", "cpu", "--format", "nii", *options]
    seconds = []
    for _ in range(args.repeat):
        before = user_seconds(resource.RUSAGE_CHILDREN)
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        seconds.append(user_seconds(resource.RUSAGE_CHILDREN) - before)
    return {each: np.asarray(nib.load(out / f"{each}.nii").dataobj, np.float64) for each in maps}, min(seconds)


def slices_of(args, tmp):
    """The middle slices with their table and mask, as files; the series, the table in voxel axes, the mask."""
    image, mask = nib.load(args.dwi), np.asarray(nib.load(args.mask).dataobj) > 0
    mask = mask.reshape(image.shape[:3])
    first = max(0, image.shape[2] // 2 - args.slices // 2)
    some = slice(first, first + args.slices)
    data, mask = np.asarray(image.dataobj)[:, :, some].astype(np.float32), mask[:, :, some]
    bval, bvec = np.loadtxt(args.bval), np.loadtxt(args.bvec)
    bvec = bvec.T if bvec.shape[0] == 3 else bvec
    # What has no logarithm is not compared.
    mask &= (data > 0).all(axis=-1)
    nib.save(nib.Nifti1Image(data, image.affine), tmp / "dwi.nii")
    nib.save(nib.Nifti1Image(mask.astype(np.uint8), image.affine), tmp / "mask.nii")
    np.savetxt(tmp / "dwi.bval", bval[None])
    np.savetxt(tmp / "dwi.bvec", bvec.T)
    if np.linalg.det(image.affine[:3, :3]) > 0:
        bvec = bvec * [-1, 1, 1]  # DIPY takes voxel axes; FSL's files count x the other way
    return data, bval, bvec, mask


def rivals(table):
    """Of each row: our command with options, their fit of samples, and the maps that both have."""
    from dipy.data import get_sphere
    from dipy.reconst.dki_micro import KurtosisMicrostructureModel
    from dipy.reconst.fwdti import FreeWaterTensorModel
    from dipy.reconst.gqi import GeneralizedQSamplingModel
    from dipy.reconst.mapmri import MapmriModel
    from dipy.reconst.odf import gfa

    def water(samples):
        fit = FreeWaterTensorModel(table, fit_method="NLS").fit(samples)
        return {"FWF": fit.f, "FA": fit.fa, "MD": fit.md}

    def bundles(samples):
        fit = KurtosisMicrostructureModel(table, fit_method="WLS").fit(samples)
        return {"AWF": fit.awf, "RDE": fit.hindered_rd, "tortuosity": fit.tortuosity}

    def propagators(order, weighting):
        def fit(samples):
            model = MapmriModel(
                table, radial_order=order, laplacian_regularization=True, laplacian_weighting=weighting,
                positivity_constraint=False, bval_threshold=2001,
            )
            made = [model.fit(voxel) for voxel in samples]
            return {"RTOP": np.array([one.rtop() for one in made]), "MSD": np.array([one.msd() for one in made])}
        return fit

    def spins(method):
        sphere = get_sphere(name="repulsion724")

        def fit(samples):
            odf = GeneralizedQSamplingModel(table, method=method, sampling_length=1.25).fit(samples).odf(sphere)
            least, n = odf.min(axis=1), samples.shape[1]
            return {"QA": (odf.max(axis=1) - least) / n, "ISO": least / n, "GFA": gfa(odf)}
        return fit

    timing = ["--big-delta", "43.1", "--small-delta", "10.6"]
    return [
        ("free water, NLS", "fwdti", ["--bmax", "9999"], water),
        ("tissue of bundles", "dkimicro", ["--bmax", "9999", "--unconstrained"], bundles),
        ("MAP-MRI 4, 0.2", "mapmri", ["--order", "4", *timing], propagators(4, 0.2)),
        ("MAP-MRI 6, 0.2", "mapmri", ["--order", "6", *timing], propagators(6, 0.2)),
        ("MAP-MRI 6, gcv", "mapmri", ["--order", "6", "--laplacian", "gcv", *timing], propagators(6, "GCV")),
        ("GQI", "gqi", [], spins("standard")),
        ("GQI2", "gqi", ["--weighting", "squared"], spins("gqi2")),
    ]


def main():
    args = parser(__doc__, 200).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        data, bval, bvec, mask = slices_of(args, tmp)
        table = table_of(bval, bvec, big_delta=0.0431, small_delta=0.0106)
        inside = np.flatnonzero(mask)
        drawn = np.random.default_rng(0).permutation(inside)[: args.voxels]
        samples = data.reshape(-1, data.shape[-1])[drawn].astype(np.float64)
        print(f"{mask.sum()} voxels of {data.shape[-1]} volumes; DIPY {len(drawn)} of them")
        print("fit                  ours µs   DIPY µs   times   median difference of maps, relative")
        for title, name, options, fit in rivals(table):
            before = user_seconds(resource.RUSAGE_SELF)
            theirs = fit(samples)
            slow = (user_seconds(resource.RUSAGE_SELF) - before) / len(drawn) * 1e6
            made, seconds = ours(args, tmp, name, options, theirs)
            fast = seconds / mask.sum() * 1e6
            words = []
            for each, values in theirs.items():
                mine = made[each].reshape(-1)[drawn]
                with np.errstate(all="ignore"):
                    off = np.abs(mine - values) / np.maximum(np.abs(values), 1e-12)
                words.append(f"{each} {np.nanmedian(off):.0e}")
            print(f"{title:18s} {fast:9.1f} {slow:9.0f} {slow / fast:7.0f}   {'  '.join(words)}")


if __name__ == "__main__":
    main()
