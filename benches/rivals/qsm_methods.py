#!/usr/bin/env python3
"""Every method of susceptibility, from the true local field with noise or from phase, beside the truth.

    python3 benches/rivals/qsm_methods.py --fimbria target/release/fimbria --brain BRAIN

Needs numpy and nibabel. Scenes:

    brain      BRAIN/qsm and BRAIN/dwi, the simulated brain of the reference data: its noisy local field
    head       `fimbria phantom head`, 3 mm: its true local field, noise of 0.002 ppm
    phase      the same head from its phase, SNR 100: `field` with --background lbv, weights
    held       the same of another head, at another resolution, noise and pose, which nothing was tuned on
    bending, crossing, ending, none, straight
               the bundles of qsm_bundles.py, noise of 0.002 ppm, noise of 0.03 on FA

FA, V1, MD and S0 of brain and head are fitted to their noisy series (`fit dti`, b up to 1500). With
--off the directions are turned by as many degrees at random. Prints NRMSE (means off), XSIM and
seconds.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np
import qsm_bundles as bundles

METHODS = ["dtv", "tv", "tensor", "spheres", "dqsm", "tkd", "tikhonov", "rts"]
GUIDED = ["dtv", "tensor", "dqsm"]
NOISE = 0.002
WEIGHED = ["dtv", "tv", "tensor", "dqsm", "spheres"]
HEADS = {
    "head": ["--voxel", "3"],
    "phase": ["--voxel", "3"],
    "held": ["--subject", "4", "--rng-seed", "7", "--voxel", "2.6", "--tilt", "-11,7,5", "--gre-snr", "60"],
}


def load(path):
    return np.asarray(nib.load(path).dataobj, dtype=np.float64)


def turned(v1, degrees):
    """Unit vectors, each turned by an angle in a direction at random."""
    noise = np.random.default_rng(3).normal(size=v1.shape)
    noise -= (noise * v1).sum(-1, keepdims=True) * v1
    noise /= np.linalg.norm(noise, axis=-1, keepdims=True)
    angle = np.radians(degrees)
    return np.cos(angle) * v1 + np.sin(angle) * noise


class Scene:
    """Files of one scene in a folder: field, mask, truth and dti/."""

    def __init__(self, name, folder, run, brain):
        self.folder, self.name, self.run = folder, name, run
        (folder / "dti").mkdir()
        if name == "brain":
            self.fit(brain / "dwi.nii.gz", brain / "mask.nii.gz")
            for at, to in [("field_local_noisy_ppm", "field"), ("mask", "mask"), ("chi_iso", "truth")]:
                shutil.copy(brain / f"qsm/{at}.nii.gz", folder / f"{to}.nii.gz")
        elif name in HEADS:
            self.run("phantom", "head", *HEADS[name], "--shells", "1000:30", "--samples", "2", "--gre",
                     "4,12,20,28", "-o", "head")
            head = folder / "head"
            if name != "head":
                self.fit(head / "dwi.nii.gz", head / "mask.nii.gz")
                self.run("field", "head/gre/phase.nii.gz", "--magnitude", "head/gre/magnitude.nii.gz", "--mask",
                         "head/gre/mask.nii.gz", "--background", "lbv", "-o", "local")
                for at, to in [("local_field", "field"), ("mask", "mask"), ("weights", "weights")]:
                    shutil.copy(folder / f"local/{at}.nii.gz", folder / f"{to}.nii.gz")
                shutil.copy(head / "gre/truth/chi.nii.gz", folder / "truth.nii.gz")
                return
            self.fit(head / "dwi.nii.gz", head / "mask.nii.gz")
            field = nib.load(head / "gre/truth/local_field.nii.gz")
            noise = NOISE * np.random.default_rng(1).normal(size=field.shape)
            self.save("field", field.get_fdata() + noise, field.affine)
            shutil.copy(head / "mask.nii.gz", folder)
            shutil.copy(head / "gre/truth/chi.nii.gz", folder / "truth.nii.gz")
        else:
            rng = np.random.default_rng(1)
            x, y, z = bundles.coordinates(1)
            fa, v1 = bundles.directions(name, 0, rng)
            noisy = np.random.default_rng(2).normal(size=fa.shape)
            self.save("dti/FA", np.clip(fa + 0.03 * noisy, 0, 1))
            self.save("dti/V1", v1)
            self.save("field", bundles.field_of(name) + NOISE * rng.normal(size=x.shape))
            self.save("mask", x**2 + y**2 + z**2 < 17.5**2)
            self.save("truth", bundles.blocks(bundles.chi_of(name, bundles.FINE), bundles.FINE))

    def save(self, name, data, affine=None):
        affine = np.eye(4) if affine is None else affine
        nib.save(nib.Nifti1Image(np.float32(data), affine), self.folder / f"{name}.nii.gz")

    def fit(self, dwi, mask):
        self.run("fit", "dti", str(dwi), "--mask", str(mask), "-o", "fit")
        for name in ("FA", "V1", "MD", "S0"):
            shutil.copy(self.folder / f"fit/{name}.nii.gz", self.folder / "dti")

    def turn(self, degrees):
        path = self.folder / "dti/V1.nii.gz"
        v1 = nib.load(path)
        self.save("dti/V1", turned(v1.get_fdata(), degrees), v1.affine)

    def map(self, method):
        """NRMSE, XSIM and seconds."""
        name = "dqsm" if method == "spheres" else method
        words = ["qsm", "field.nii.gz", "--mask", "mask.nii.gz", "--truth", "truth.nii.gz", "--method", name]
        words += ["--dti", "dti"] if method in GUIDED else []
        words += ["--kappa", "0.95", "--iterations", "40"] if name in ("dqsm", "tensor") else []
        if (self.folder / "weights.nii.gz").exists():
            words += ["--weights", "weights.nii.gz"] if method in WEIGHED else []
        elif name in ("dtv", "tv"):
            words += ["--outside", "nothing"]
        begin = time.perf_counter()
        self.run(*words, "-o", "out")
        seconds = time.perf_counter() - begin
        found = json.loads((self.folder / "out/metrics.json").read_text())
        return found["nrmse_percent"], found["xsim"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--brain", type=Path, help="folder with dwi.nii.gz, mask.nii.gz and qsm/")
    parser.add_argument("--scenes", nargs="*", default=["brain", *HEADS, *bundles.SCENES])
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--off", nargs="*", type=int, default=[0, 20], help="degrees")
    args = parser.parse_args()
    fimbria = str(Path(args.fimbria).resolve())
    print(f"{'scene':<9} {'V1 off':>6}  {'method':<9} {'NRMSE %':>8} {'XSIM':>6} {'s':>7}")
    for scene in args.scenes:
        if scene == "brain" and args.brain is None:
            print("brain: left out, no --brain")
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)

            def run(*words):
                subprocess.run([fimbria, *words, "--force", "-q"], cwd=folder, check=True)

            made = Scene(scene, folder, run, args.brain and args.brain.resolve())
            for off in args.off:
                if off:
                    made.turn(off)
                for method in args.methods:
                    if off and method not in GUIDED:
                        continue
                    nrmse, xsim, seconds = made.map(method)
                    print(f"{scene:<9} {off:>6}  {method:<9} {nrmse:>8.1f} {xsim:>6.3f} {seconds:>7.1f}",
                          flush=True)


if __name__ == "__main__":
    main()
