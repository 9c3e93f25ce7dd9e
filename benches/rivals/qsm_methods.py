#!/usr/bin/env python3
"""Every method of susceptibility, from the true local field with noise or from phase, beside the truth.

    python3 benches/rivals/qsm_methods.py --fimbria target/release/fimbria --brain BRAIN

Needs numpy and nibabel. Scenes:

    brain      BRAIN/qsm and BRAIN/dwi, the simulated brain of the reference data: its noisy local field
    head       `fimbria phantom head`, 3 mm: its true local field, with noise
    gre        `fimbria phantom gre`, 4 mm, a head of another making: its true local field, with noise; FA
               with noise of 0.03, V1 of as much to each side
    phase      the same head from its phase, SNR 100: `field` with --background lbv, weights
    held       the same of another head, at another resolution, noise and pose, which nothing was tuned on
    bending, crossing, ending, none, straight
               the bundles of qsm_bundles.py, with noise, noise of 0.03 on FA
    sphere     SPHERE/field_analytic_ppm.nii.gz of the reference data, with noise; nothing guides

FA, V1, MD and S0 of brain and head are fitted to their noisy series (`fit dti`, b up to 1500). With
--off the directions are turned by as many degrees at random; --noise are standard deviations of the
field, ppm (brain, phase and held have noise of their own). --oracle maps from the true field without
noise, with true directions and, in place of MD and S0, the true fractions of tissue; -fibres is guided by
all fibres of a voxel, the others by the first. Edges of medi are those of the magnitude, of S0 where there
is none. A method's name with -phase is the method with --data phase.
Prints NRMSE (means off), XSIM, seconds, seconds of processor, and the peak of memory.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np
import qsm_bundles as bundles

IN_MASK = ["dtv", "dtv-all", "tv", "tgv", "medi"]
PHASE = [f"{method}-phase" for method in IN_MASK]
METHODS = [*IN_MASK, *PHASE, "ndi", "ilsqr", "tensor", "spheres", "dqsm", "tkd", "tikhonov", "rts"]
METHODS += ["dtv-fibres", "tensor-fibres"]
# Guided by all fibres of a voxel, where they are known.
CROSSING = ["dtv-fibres", "tensor-fibres"]
GUIDED = ["dtv", "dtv-phase", "dtv-all", "dtv-all-phase", "tensor", "dqsm", *CROSSING]
OF_PHASE = ["--te", "20", "--b0", "3"]
# What a method is called where it has another name here, and its options.
NAMES = {"dtv-fibres": ["dtv"], "tensor-fibres": ["tensor"], "spheres": ["dqsm"], "ndi": ["ndi", *OF_PHASE]}
NAMES |= {f"{method}-phase": [method, "--data", "phase", *OF_PHASE] for method in IN_MASK}
SMOOTH = ["dqsm", "tensor", "tensor-fibres", "spheres"]
UNWEIGHED = ["tkd", "tikhonov", "rts"]
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

    def __init__(self, name, folder, run, brain, sphere, noise, oracle):
        self.folder, self.name, self.run, self.noise, self.oracle = folder, name, run, noise, oracle
        (folder / "dti").mkdir()
        if name == "brain":
            self.fit(brain / "dwi.nii.gz", brain / "mask.nii.gz")
            field = "field_local_ppm" if oracle else "field_local_noisy_ppm"
            for at, to in [(field, "field"), ("mask", "mask"), ("chi_iso", "truth")]:
                shutil.copy(brain / f"qsm/{at}.nii.gz", folder / f"{to}.nii.gz")
            if oracle:
                self.of_truth(brain / "truth/fractions.nii.gz", brain / "truth/gt_peaks_ras.nii.gz")
        elif name == "sphere":
            field = nib.load(sphere / "field_analytic_ppm.nii.gz")
            self.with_noise(field)
            shutil.copy(sphere / "chi.nii.gz", folder / "truth.nii.gz")
            self.save("mask", np.ones(field.shape), field.affine)
        elif name == "gre":
            self.run("phantom", "gre", "--voxel", "4", "--size", "48,56,44", "-o", "gre")
            truth = folder / "gre/truth"
            fibre = nib.load(truth / "fibre.nii.gz")
            rng = np.random.default_rng(2)
            v = fibre.get_fdata() + (0 if oracle else 0.03 * rng.normal(size=fibre.shape))
            fa = np.linalg.norm(v, axis=-1)
            self.save("dti/FA", np.clip(fa, 0, 1), fibre.affine)
            self.save("dti/V1", v / np.maximum(fa, 1e-6)[..., None], fibre.affine)
            self.with_noise(nib.load(truth / "local_field.nii.gz"))
            shutil.copy(folder / "gre/mask.nii.gz", folder)
            shutil.copy(folder / "gre/magnitude.nii.gz", folder)
            shutil.copy(truth / "chi.nii.gz", folder)
            shutil.move(folder / "chi.nii.gz", folder / "truth.nii.gz")
        elif name in HEADS:
            self.run("phantom", "head", *HEADS[name], "--shells", "1000:30", "--samples", "2", "--gre",
                     "4,12,20,28", "-o", "head")
            head = folder / "head"
            self.fit(head / "dwi.nii.gz", head / "mask.nii.gz")
            shutil.copy(head / "gre/magnitude.nii.gz", folder)
            shutil.copy(head / "gre/truth/chi.nii.gz", folder / "truth.nii.gz")
            if name != "head":
                self.from_phase("lbv")
                return
            self.with_noise(nib.load(head / "gre/truth/local_field.nii.gz"))
            shutil.copy(head / "mask.nii.gz", folder)
            if oracle:
                self.of_truth(head / "truth/fractions.nii.gz", head / "gre/truth/fibre.nii.gz")
        else:
            rng = np.random.default_rng(1)
            x, y, z = bundles.coordinates(1)
            fa, v1 = bundles.directions(name, 0, rng)
            noisy = np.random.default_rng(2).normal(size=fa.shape)
            self.save("dti/FA", fa if oracle else np.clip(fa + 0.03 * noisy, 0, 1))
            self.save("dti/V1", v1)
            field = bundles.field_of(name)
            self.save("field", field if oracle else field + noise * rng.normal(size=x.shape))
            self.save("mask", x**2 + y**2 + z**2 < 17.5**2)
            self.save("truth", bundles.blocks(bundles.chi_of(name, bundles.FINE), bundles.FINE))

    def from_phase(self, background):
        """The field of the head's phase."""
        self.run("field", "head/gre/phase.nii.gz", "--magnitude", "head/gre/magnitude.nii.gz", "--mask",
                 "head/gre/mask.nii.gz", "--background", background, "-o", "local")
        for at, to in [("local_field", "field"), ("mask", "mask"), ("weights", "weights")]:
            shutil.copy(self.folder / f"local/{at}.nii.gz", self.folder / f"{to}.nii.gz")

    def of_truth(self, fractions, fibre):
        """What guides, as it is."""
        fibre, fractions = nib.load(fibre), nib.load(fractions)
        # Of several fibres the first; all of them beside.
        every = fibre.get_fdata()
        v = every[..., :3]
        fa = np.linalg.norm(v, axis=-1)
        self.save("dti/FA", fa, fibre.affine)
        self.save("dti/V1", v / np.maximum(fa, 1e-6)[..., None], fibre.affine)
        parts = fractions.get_fdata()
        # By their share of the head, the largest but the first: the first follows from the others.
        most = np.argsort(-parts.sum((0, 1, 2)))[1:3]
        for name, volume in zip(("MD", "S0"), most):
            self.save(f"dti/{name}", parts[..., volume], fractions.affine)
        if every.shape[3] > 3:
            shutil.copytree(self.folder / "dti", self.folder / "fibres")
            self.save("fibres/V1", every, fibre.affine)
            lengths = np.linalg.norm(every.reshape(*every.shape[:3], -1, 3), axis=-1)
            self.save("fibres/FA", np.minimum(lengths.sum(-1), 1), fibre.affine)

    def with_noise(self, field):
        noise = 0 if self.oracle else self.noise
        noise = noise * np.random.default_rng(1).normal(size=field.shape)
        self.save("field", field.get_fdata() + noise, field.affine)

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
        """NRMSE, XSIM, seconds, seconds of processor, megabytes; `None` where it cannot be."""
        words = ["qsm", "field.nii.gz", "--mask", "mask.nii.gz", "--truth", "truth.nii.gz", "--method"]
        words += NAMES.get(method, [method])
        if method in GUIDED:
            if not (self.folder / "dti/V1.nii.gz").exists():
                return None
            words += ["--dti", "fibres" if method in CROSSING else "dti"]
            if method in CROSSING and not (self.folder / "fibres").exists():
                return None
        if method in ("medi", "medi-phase"):
            edges = [name for name in ("magnitude.nii.gz", "dti/S0.nii.gz") if (self.folder / name).exists()]
            if not edges:
                return None
            words += ["--magnitude", edges[0]]
        words += ["--kappa", "0.95", "--iterations", "40"] if method in SMOOTH else []
        if (self.folder / "weights.nii.gz").exists():
            words += ["--weights", "weights.nii.gz"] if method not in UNWEIGHED else []
        elif method in [*IN_MASK, *PHASE, "dtv-fibres"]:
            words += ["--outside", "nothing"]
        seconds, processor, megabytes = self.run(*words, "-o", "out")
        found = json.loads((self.folder / "out/metrics.json").read_text())
        return found["nrmse_percent"], found["xsim"], seconds, processor, megabytes


# Starts a command and waits for it: a program of its own, since the peak of a child's memory begins at
# that of whoever starts it.
WAITER = """
import json, os, sys, time
begin = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - begin
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def measured(program, words, folder):
    """Seconds, seconds of processor and the peak of memory in megabytes of a command."""
    words = [program, *words, "--force", "-q"]
    waiter = [sys.executable, "-S", "-c", WAITER, *words]
    said = subprocess.run(waiter, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    code, *used = json.loads(said.splitlines()[-1])
    if code != 0:
        raise subprocess.CalledProcessError(code, words)
    return used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--brain", type=Path, help="folder with dwi.nii.gz, mask.nii.gz and qsm/")
    parser.add_argument("--sphere", type=Path, help="folder with field_analytic_ppm.nii.gz and chi.nii.gz")
    parser.add_argument("--scenes", nargs="*", default=["brain", *HEADS, "gre", "sphere", *bundles.SCENES])
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--off", nargs="*", type=int, default=[0, 20], help="degrees")
    parser.add_argument("--noise", nargs="*", type=float, default=[0.002], help="ppm")
    parser.add_argument("--background", nargs="*", default=["lbv"], help="of the scenes from phase")
    parser.add_argument("--oracle", action="store_true")
    args = parser.parse_args()
    fimbria = str(Path(args.fimbria).resolve())
    print(f"{'scene':<9} {'noise':>6} {'field':<7} {'V1 off':>6}  {'method':<13} {'NRMSE %':>8} {'XSIM':>6} "
          f"{'s':>7} {'CPU s':>7} {'MB':>6}")
    for scene in args.scenes:
        lacks = {"brain": args.brain, "sphere": args.sphere}
        if scene in lacks and lacks[scene] is None:
            print(f"{scene}: left out, no --{scene}")
            continue
        # Those with noise of their own once.
        has_own = args.oracle or scene in ("brain", "phase", "held")
        for noise in [None] if has_own else args.noise:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)

                def run(*words):
                    return measured(fimbria, words, folder)

                paths = [path and path.resolve() for path in (args.brain, args.sphere)]
                made = Scene(scene, folder, run, *paths, noise, args.oracle)
                is_phase = scene in ("phase", "held")
                for background in args.background if is_phase else ["true"]:
                    if is_phase:
                        made.from_phase(background)
                    for off in args.off:
                        # Directions that are turned stay turned.
                        if off and (scene == "sphere" or is_phase and background != args.background[0]):
                            continue
                        if off:
                            made.turn(off)
                        for method in args.methods:
                            if off and method not in GUIDED:
                                continue
                            found = made.map(method)
                            if found is None:
                                continue
                            nrmse, xsim, seconds, processor, megabytes = found
                            own = "own" if noise is None else f"{noise:g}"
                            print(f"{scene:<9} {own:>6} {background:<7} {off:>6}  {method:<13} {nrmse:>8.1f} "
                                  f"{xsim:>6.3f} {seconds:>7.1f} {processor:>7.1f} {megabytes:>6.0f}",
                                  flush=True)


if __name__ == "__main__":
    main()
