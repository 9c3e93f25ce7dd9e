#!/usr/bin/env python3
"""Maps of one field by our methods and by QSM.rs's of the same name: processor time, memory and error, in turns.

    python3 benches/rivals/qsm_rs.py --fimbria target/release/fimbria --peer PEER

Needs numpy and nibabel. PEER is a program around QSM.rs (https://github.com/astewartau/QSM.rs), which is on no registry:
PEER METHOD NX NY NZ VX VY VZ BX BY BZ FIELD MASK OUT, METHOD one of rts, tkd, tv with its defaults there, voxels in mm, B0
in voxel axes, FIELD and OUT raw f32, MASK raw u8, x fastest; it prints how many iterations it took. The field is that of
`phantom gre` with voxels of 1.125 mm in a volume of 160^3, with noise of 0.002 ppm. Prints of each the least of the seconds
of processor over the rounds, the peak of memory, iterations and NRMSE (means off) inside the mask.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from qsm_methods import WAITER

METHODS = ["rts", "tkd", "tv"]
SIDE, VOXEL_MM, NOISE_PPM = 160, 1.125, 0.002


def measured(words, folder):
    """What a command prints, its seconds of processor, and its peak of memory in megabytes."""
    ran = subprocess.run(["python3", "-S", "-c", WAITER, *words], cwd=folder, check=True, stdout=subprocess.PIPE,
                         text=True).stdout.splitlines()
    code, _, processor, megabytes = json.loads(ran[-1])
    if code != 0:
        raise subprocess.CalledProcessError(code, words)
    return ran[:-1], processor, megabytes


def nrmse(chi, truth):
    chi, truth = chi - chi.mean(), truth - truth.mean()
    return 100 * np.linalg.norm(chi - truth) / np.linalg.norm(truth)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--peer", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    fimbria, peer = (str(Path(path).resolve()) for path in (args.fimbria, args.peer))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([fimbria, "phantom", "gre", "--size", ",".join([str(SIDE)] * 3), "--voxel", str(VOXEL_MM),
                        "--finer", "1", "-q", "-o", "gre"], cwd=folder, check=True)
        local = nib.load(folder / "gre/truth/local_field.nii.gz")
        inside = np.asarray(nib.load(folder / "gre/mask.nii.gz").dataobj) > 0
        truth = nib.load(folder / "gre/truth/chi.nii.gz").get_fdata()[inside]
        noise = np.random.default_rng(1).normal(size=local.shape)
        field = np.float32(np.where(inside, local.get_fdata() + NOISE_PPM * noise, 0))
        nib.save(nib.Nifti1Image(field, local.affine), folder / "field.nii")
        field.ravel("F").tofile(folder / "field.raw")
        inside.astype(np.uint8).ravel("F").tofile(folder / "mask.raw")
        axes = local.affine[:3, :3] / np.linalg.norm(local.affine[:3, :3], axis=0)
        numbers = [SIDE] * 3 + [VOXEL_MM] * 3 + list(axes[2])
        best = {}
        for _ in range(args.rounds):
            for method in METHODS:
                ours = [fimbria, "qsm", "field.nii", "--mask", "gre/mask.nii.gz", "--method", method, "--device", "cpu",
                        "--threads", "1", "--format", "nii", "--force", "-q", "-o", "out"]
                _, seconds, megabytes = measured(ours, folder)
                rows = folder / "out/iterations.tsv"
                iterations = len(rows.read_text().splitlines()) - 1 if rows.exists() else 0
                rows.unlink(missing_ok=True)
                chi = nib.load(folder / "out/chi.nii").get_fdata()[inside]
                keep(best, (method, "fimbria"), seconds, megabytes, iterations, nrmse(chi, truth))
                theirs = [peer, method, *map(str, numbers), "field.raw", "mask.raw", "out.raw"]
                printed, seconds, megabytes = measured(theirs, folder)
                chi = np.fromfile(folder / "out.raw", np.float32).reshape(local.shape, order="F")[inside]
                keep(best, (method, "QSM.rs"), seconds, megabytes, int(printed[-1].split()[0]), nrmse(chi, truth))
        print(f"{'method':<6} {'by':<8} {'CPU s':>6} {'MB':>6} {'iterations':>10} {'NRMSE %':>8}")
        for (method, by), (seconds, megabytes, iterations, error) in best.items():
            print(f"{method:<6} {by:<8} {seconds:>6.1f} {megabytes:>6.0f} {iterations:>10} {error:>8.1f}")


def keep(best, row, seconds, *others):
    """The least seconds of a row."""
    seconds = min(seconds, best[row][0]) if row in best else seconds
    best[row] = (seconds, *others)


if __name__ == "__main__":
    main()
