#!/usr/bin/env python3
"""Streamlines, water around fibres and free water of every voxel: fimbria life beside COMMIT.

    python3 benches/rivals/commit.py --fimbria target/release/fimbria

A head of known bundles (phantom crossing, 3 mm, b = 1000 and 2500 s/mm², SNR 30), its true streamlines
and its true fibre directions go to both programs, with COMMIT's stick, zeppelin and ball: 1.7e-3 mm²/s
along fibres, 0.5e-3 across for the water around them, 1.7e-3 and 3e-3 for the water that is free. COMMIT
gets the weighted volumes over the unweighted ones, which is what `life --demean none` explains, and half
a voxel of --fiber_shift, which its reading of TCK files wants. Said: how the weights of streamlines and
the parts of each voxel agree, and the error that both leave. Needs numpy, nibabel and dmri-commit (2.4).
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np

THEIRS = """
import time
import amico
import commit
from commit import trk2dictionary

amico.setup()
commit.core.setup()
amico.util.fsl2scheme("norm.bval", "norm.bvec", "norm.scheme")
trk2dictionary.run(
    filename_tractogram="tracts.tck", path_out="dict", filename_mask="mask.nii.gz", filename_peaks="dirs.nii.gz",
    TCK_ref_image="norm.nii.gz", ndirs=32761, peaks_use_affine=True, fiber_shift=0.5,
)
found = commit.Evaluation(study_path=".", subject=".", dictionary_path="dict")
found.set_config("doNormalizeSignal", False)
found.load_data("norm.nii.gz", "norm.scheme", b0_thr=50)
found.set_model("StickZeppelinBall")
found.model.set(1.7e-3, [0.5e-3], [1.7e-3, 3e-3])
found.generate_kernels(regenerate=True, ndirs=32761)
found.load_kernels()
found.load_dictionary()
found.set_threads()
found.build_operator()
found.fit(tol_fun=1e-9, max_iter=20000)
found.save_results()
"""


def seconds(*command, cwd):
    began = time.monotonic()
    finished = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{finished.stdout[-3000:]}\n{finished.stderr[-3000:]}")
    return time.monotonic() - began


def over_unweighted(folder):
    """Writes the weighted volumes over the mean of the unweighted ones, inside the mask."""
    image = nib.load(folder / "ph/dwi.nii.gz")
    data = image.get_fdata(dtype=np.float32)
    b, directions = (np.loadtxt(folder / f"ph/dwi.{kind}") for kind in ("bval", "bvec"))
    directions = directions if directions.shape[0] == 3 else directions.T
    weighted = b > 50
    s0 = data[..., ~weighted].mean(-1, keepdims=True)
    inside = (nib.load(folder / "ph/mask.nii.gz").get_fdata()[..., None] > 0) & (s0 > 1e-3)
    relative = np.where(inside, data[..., weighted] / np.maximum(s0, 1e-3), 0).astype(np.float32)
    nib.save(nib.Nifti1Image(relative, image.affine), folder / "norm.nii.gz")
    np.savetxt(folder / "norm.bval", b[weighted][None])
    np.savetxt(folder / "norm.bvec", directions[:, weighted])
    return data, s0, weighted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fimbria", type=Path, default="target/release/fimbria")
    args = parser.parse_args()
    program = args.fimbria.resolve()
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        seconds(program, "phantom", "crossing", "--size", "40,48,36", "--voxel", 3, "--tilt", "0,0,0", "--shells",
                "1000:30,2500:60", "--snr", 30, "-o", "ph", cwd=tmp)
        seconds(program, "convert", "ph/truth/tracts.trx", "-o", "tracts.tck", cwd=tmp)
        for name, to in (("mask.nii.gz", "mask.nii.gz"), ("truth/dirs.nii.gz", "dirs.nii.gz")):
            (tmp / to).write_bytes((tmp / "ph" / name).read_bytes())
        data, s0, weighted = over_unweighted(tmp)
        ours = seconds(program, "life", "tracts.tck", "--dwi", "ph/dwi.nii.gz", "--mask", "mask.nii.gz", "--demean",
                       "none", "--normalise", "volume", "--axial", 1.7e-3, "--hindered", 0.5e-3, "--isotropic",
                       "1.7e-3,3e-3", "--peaks", "dirs.nii.gz", "-o", "life", cwd=tmp)
        theirs = seconds(sys.executable, "-c", THEIRS, cwd=tmp)

        def of(path):
            return nib.load(tmp / path).get_fdata()

        results = "dict/Results_StickZeppelinBall"
        parts = {
            "streamlines": (of(f"{results}/compartment_IC.nii.gz"), of("life/restricted.nii.gz")),
            "around fibres": (of(f"{results}/compartment_EC.nii.gz"), of("life/hindered.nii.gz").sum(-1)),
            "free water": (of(f"{results}/compartment_ISO.nii.gz"), of("life/isotropic.nii.gz").sum(-1)),
        }
        passed = (sum(pair[1] for pair in parts.values()) > 0) & (s0[..., 0] > 0.05 * s0.max())
        print(f"{passed.sum()} voxels; whole commands on all cores: life {ours:.1f} s, COMMIT {theirs:.1f} s")
        for name, (a, b) in parts.items():
            a, b = a[passed], b[passed]
            print(f"{name}: mean {a.mean():.4f} theirs, {b.mean():.4f} ours, correlation "
                  f"{np.corrcoef(a, b)[0, 1]:.4f}, median difference {np.median(abs(a - b)):.1e}")
        edge_mm = 3.0
        a = np.loadtxt(tmp / results / "streamline_weights.txt") * edge_mm
        b = np.loadtxt(tmp / "life/weights.txt")
        print(f"weights of streamlines: mean {a.mean():.4f} theirs, {b.mean():.4f} ours, correlation "
              f"{np.corrcoef(a, b)[0, 1]:.4f}; above zero {(a > 0).sum()} and {(b > 0).sum()} of {len(a)}")
        residual = (of("life/prediction.nii.gz") - data)[..., weighted] / np.maximum(s0, 1e-3)
        errors = np.sqrt((residual**2).mean(-1))[passed], of(f"{results}/fit_RMSE.nii.gz")[passed]
        print(f"error over the unweighted signal: {errors[1].mean():.5f} theirs, {errors[0].mean():.5f} ours")


if __name__ == "__main__":
    main()
