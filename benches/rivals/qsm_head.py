#!/usr/bin/env python3
"""Why is the guided map of a simulated head worse than one by spheres? Its causes, one at a time.

    python3 benches/rivals/qsm_head.py --fimbria target/release/fimbria

Needs numpy and nibabel. Makes the gradient-echo head of `fimbria phantom gre` at 5 mm without noise and
maps it from its true local field with the true fibre directions, so that neither the scanner, the
background nor the tensor fit plays a part. Four heads take one cause away after another:

    tensors      as it is: tensors on a grid twice as fine
    isotropic    without anisotropy of the tensors
    one grid     that, its field made on the grid of the map: what spheres say exactly
    cylinders    the field that the guided model itself gives the true map (numpy, not fimbria's code)

Prints NRMSE after removal of the mean for each method, and how far each model's field of the true map is
from the field: what no regularisation can repair.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

THRESHOLD = 0.2
HEADS = {"tensors": [], "isotropic": ["--anisotropy", "0"], "one grid": ["--anisotropy", "0", "--finer", "1"]}
METHODS = [(m, k, it) for m in ("guided", "spheres", "tensor") for k in (0.95, 0.985, 0.999) for it in (30, 200)]
METHODS += [("tkd", None, None), ("tv", None, None)]


def load(path):
    return np.asarray(nib.load(path).dataobj, dtype=np.float64)


def model_fields(folder):
    """The fields of the true map in its mask: every voxel a sphere, and fibres as cylinders."""
    image = nib.load(folder / "truth/chi.nii.gz")
    chi, mask = image.get_fdata(), load(folder / "mask.nii.gz") > 0
    vectors = load(folder / "truth/fibre.nii.gz")
    turn = image.affine[:3, :3] / np.linalg.norm(image.affine[:3, :3], axis=0)
    b = turn.T @ [0, 0, 1.0]
    at = np.argwhere(mask).astype(np.float64)
    x = chi[mask]
    length = np.linalg.norm(vectors[mask], axis=1)
    axes = (vectors[mask] / np.maximum(length, 1e-9)[:, None]) @ turn
    spheres, guided = np.zeros(len(at)), np.zeros(len(at))
    a = 0.475
    for i in range(len(at)):
        d = at - at[i]
        d2 = (d**2).sum(1)
        d2[i] = 1
        field = x[i] * (3 * (d @ b) ** 2 / d2 - 1) / (4 * np.pi * d2**1.5)
        field[i] = 0
        spheres += field
        if length[i] > THRESHOLD:
            n = axes[i]
            along = d @ n
            across = b - (b @ n) * n
            h = np.maximum(2 * a - np.abs(along), 0)
            perpendicular = np.maximum(d2 - along**2, 1e-9)
            field = (2 * (d @ across) ** 2 / perpendicular - across @ across) / perpendicular
            field *= x[i] * h**2 * (3 * a - h) / (4 * a**3) / (2 * np.pi)
            field[i] = x[i] * (3 * (b @ n) ** 2 - 1) / 6
        guided += field
    return mask, {"spheres": spheres, "cylinders": guided}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    args = parser.parse_args()
    fimbria = str(Path(args.fimbria).resolve())

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def run(*words):
            subprocess.run([fimbria, *words, "--force", "-q"], cwd=folder, check=True)

        for name, options in HEADS.items():
            run("phantom", "gre", "--size", "30,36,28", "--voxel", "5", "--snr", "inf", "-o", name, *options)
        fields = {}
        print(f"{'head':<10} {'model':<10} misfit of the true map, % of the field")
        for name in HEADS:
            local = load(folder / name / "truth/local_field.nii.gz")
            mask, fields = model_fields(folder / name)
            for model, field in fields.items():
                # Maps, and with them fields, are known up to a constant.
                b, f = local[mask] - local[mask].mean(), field - field.mean()
                print(f"{name:<10} {model:<10} {100 * np.linalg.norm(f - b) / np.linalg.norm(b):.1f}")
        # The last head again, with the guided model's own field.
        image = nib.load(folder / "one grid/truth/local_field.nii.gz")
        data = np.zeros(image.shape, np.float32)
        data[mask] = fields["cylinders"]
        own = folder / "cylinders/truth"
        own.mkdir(parents=True)
        nib.save(nib.Nifti1Image(data, image.affine), own / "local_field.nii.gz")
        for part in ("truth/chi", "truth/fibre", "mask"):
            (folder / f"cylinders/{part}.nii.gz").symlink_to(folder / f"one grid/{part}.nii.gz")

        print(f"\n{'NRMSE %':<24}" + "".join(f"{head:>11}" for head in [*HEADS, "cylinders"]))
        for method, kappa, iterations in METHODS:
            row = []
            for head in [*HEADS, "cylinders"]:
                words = ["qsm", f"{head}/truth/local_field.nii.gz", "--mask", f"{head}/mask.nii.gz"]
                words += ["--truth", f"{head}/truth/chi.nii.gz", "-o", "out"]
                if method in ("guided", "tensor"):
                    words += ["--v1", f"{head}/truth/fibre.nii.gz"]
                if method not in ("guided", "spheres"):
                    words += ["--method", method]
                words += ["--kappa", str(kappa)] if kappa else []
                words += ["--iterations", str(iterations)] if iterations else []
                run(*words)
                row.append(json.loads((folder / "out/metrics.json").read_text())["nrmse_percent"])
            label = method + (f" κ {kappa}, {iterations} it." if kappa else "")
            print(f"{label:<24}" + "".join(f"{value:>11.1f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
