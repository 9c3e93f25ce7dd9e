#!/usr/bin/env python3
"""What the programs that people use make of the demo's head: the errors that the demo's page has, for DIPY and MRtrix3.

    python3 benches/rivals/demo.py fimbria-demo [--threads 2] > benches/runs/DATE-MACHINE/demo.tsv

Needs a finished `fimbria demo`, DIPY, nibabel, numpy, scipy, and MRtrix3. Each program works as its manual has it:

- DIPY's weighted tensor on b up to 1500, its kurtosis fit on all volumes;
- MRtrix3: dwi2response dhollander, dwi2fod msmt_csd, sh2peaks (three, of a tenth of the largest or more),
  tckgen iFOD2 with -act and -backtrack, 20,000 streamlines seeded at the border of white matter.

Errors are counted as `fimbria demo` counts them (crates/phantoms/src/closeness.rs), in the same voxels: those that are
nine tenths of one tissue; and the same of bundles. The lines are quantity, unit, program, number, median and 95th percentile; with the head of
the defaults they are the table that the page shows beside its own (crates/pipeline/src/stages/accuracy/usual.tsv).
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.io import read_bvals_bvecs
from dipy.reconst.dki import DiffusionKurtosisModel
from dipy.reconst.dti import TensorModel
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

# As in crates/phantoms/src/closeness.rs.
PURE, UNSEEN, SEEN, ASTRAY_DEG = 0.9, 0.1, 0.2, 20.0
# As in crates/pipeline/src/stages/accuracy/bundles.rs.
ENDS_MM, WITHIN_MM, INSIDE = 5.0, 4.001, 0.95
# Volumes of an image of five tissues.
CORTEX, NUCLEI, WHITE, FLUID = range(4)


def run(*command):
    """Runs a program; where it fails, so does this."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: {done.stderr}")


def angle(a, b):
    """Between axes along the last dimension, degrees."""
    sine = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(sine, np.abs(np.sum(a * b, axis=-1))))


def row(quantity, unit, program, errors):
    """A line of the table."""
    errors = np.sort(np.asarray(errors, float))
    at = lambda share: errors[round(share * (len(errors) - 1))]
    print(quantity, unit, program, len(errors), f"{at(0.5):.4g}", f"{at(0.95):.4g}", sep="\t")


class Head:
    """The demo's head and its truth."""

    def __init__(self, folder):
        self.folder = folder
        load = lambda name: nib.load(folder / name).get_fdata()
        self.image = nib.load(folder / "dwi.nii.gz")
        self.dwi, self.mask = self.image.get_fdata(), load("mask.nii.gz") > 0
        self.tissues = load("5tt.nii.gz")
        self.truth = {name: load(f"truth/{name}.nii.gz") for name in ("FA", "MD", "MK", "dirs", "fractions")}
        bvals, bvecs = read_bvals_bvecs(str(folder / "dwi.bval"), str(folder / "dwi.bvec"))
        if np.linalg.det(self.image.affine) > 0:
            bvecs[:, 0] *= -1
        self.bvals, self.bvecs = bvals, bvecs

    def pure(self, tissue):
        """Voxels of one tissue nearly alone."""
        return (self.tissues[..., tissue] >= PURE) & self.mask

    def fibres(self):
        """How many fibres a voxel has; -1 where it cannot be told."""
        fractions = self.truth["fractions"]
        n = np.cumprod(fractions >= UNSEEN, axis=-1).sum(-1)
        last = np.take_along_axis(fractions, np.maximum(n - 1, 0)[..., None], -1)[..., 0]
        return np.where((n > 0) & (last < SEEN), -1, n)

    def dirs(self):
        """True directions in scanner axes: x, y, z, fibre, component."""
        return self.truth["dirs"].reshape(*self.mask.shape, -1, 3)


def tensors(head):
    """FA, MD and V1 of DIPY."""
    used = head.bvals <= 1500
    table = gradient_table(head.bvals[used], bvecs=head.bvecs[used])
    fit = TensorModel(table).fit(head.dwi[..., used], mask=head.mask)
    dipy = f"DIPY {version('dipy')}"
    for name, tissue in ("white matter", WHITE), ("cortex", CORTEX):
        at = head.pure(tissue)
        row(f"FA, {name}", "", dipy, np.abs(fit.fa - head.truth["FA"])[at])
    for name, tissue in ("white matter", WHITE), ("cortex", CORTEX), ("fluid", FLUID):
        at = head.pure(tissue)
        row(f"MD, {name}", "%", dipy, 100 * np.abs(fit.md / head.truth["MD"] - 1)[at])
    at = head.pure(WHITE) & (head.fibres() == 1)
    # DIPY's directions are along the axes of the array.
    turn = head.image.affine[:3, :3] / np.linalg.norm(head.image.affine[:3, :3], axis=0)
    row("V1, one fibre", "°", dipy, angle(fit.directions[at][:, 0] @ turn.T, head.dirs()[at][:, 0]))
    table = gradient_table(head.bvals, bvecs=head.bvecs)
    kurtosis = DiffusionKurtosisModel(table).fit(head.dwi, mask=head.mask).mk(min_kurtosis=-3 / 7, max_kurtosis=10)
    for name, tissue in ("white matter", WHITE), ("nuclei", NUCLEI), ("cortex", CORTEX):
        at = head.pure(tissue)
        row(f"MK, {name}", "", dipy, np.abs(kurtosis - head.truth["MK"])[at])


def paired(true, other):
    """Angles of true directions to others, paired from the smallest up; 90 where there is none left."""
    angles, taken = np.full(len(true), 90.0), set()
    pairs = itertools.product(range(len(true)), range(len(other)))
    done = set()
    for degrees, t, o in sorted((angle(true[t], other[o]), t, o) for t, o in pairs):
        if t not in done and o not in taken:
            angles[t] = degrees
            done.add(t)
            taken.add(o)
    return angles


def directions(head, peaks, program):
    """Peaks in white matter, by the number of fibres."""
    fibres, dirs, white = head.fibres(), head.dirs(), head.pure(WHITE)
    for n in (1, 2, 3):
        errors = []
        for voxel in np.argwhere(white & (fibres == n)):
            x, y, z = voxel
            there = peaks[x, y, z][np.isfinite(peaks[x, y, z, :, 0])]
            lengths = np.linalg.norm(there, axis=-1)
            there = there[lengths >= 0.1 * lengths.max(initial=0)]
            errors.extend(paired(dirs[x, y, z, :n], there))
        row(f"peaks, {n} fibre{'s' if n > 1 else ''}", "°", program, errors)


def streamlines(head, lines, program):
    """How far streamlines follow the fibres of the voxels that they pass, by length."""
    dirs = np.where((head.truth["fractions"] >= UNSEEN)[..., None], head.dirs(), 0)
    to_voxels = np.linalg.inv(head.image.affine)
    mean, astray, outside = [], [], []
    for line in lines:
        step, middle = np.diff(line, axis=0), 0.5 * (line[1:] + line[:-1])
        mm = np.linalg.norm(step, axis=1)
        voxel = np.rint(middle @ to_voxels[:3, :3].T + to_voxels[:3, 3]).astype(int)
        inside = np.all((voxel >= 0) & (voxel < head.mask.shape), axis=1)
        fibres = np.zeros((len(step), dirs.shape[3], 3))
        fibres[inside] = dirs[tuple(voxel[inside].T)]
        there = np.any(fibres != 0, axis=2)
        degrees = np.where(there, angle(step[:, None], fibres), 999).min(axis=1)
        some, total = there.any(axis=1), mm.sum()
        mean.append(np.average(degrees[some], weights=mm[some]) if some.any() else 0)
        astray.append(100 * mm[some & (degrees > ASTRAY_DEG)].sum() / total)
        outside.append(100 * mm[~some].sum() / total)
    row("streamlines, mean angle", "°", program, mean)
    row("streamlines, astray", "%", program, astray)
    row("streamlines, in no fibre", "%", program, outside)


def groups_of(path):
    """Streamlines of a TRX file by group."""
    with zipfile.ZipFile(path) as file:
        arrays = {}
        for name in file.namelist():
            kind = name.rsplit(".", 1)[-1]
            if kind in ("float16", "float32", "uint32", "uint64", "int32"):
                arrays[name] = np.frombuffer(file.read(name), kind)
    one = lambda start: next(array for name, array in arrays.items() if name.startswith(start))
    points, offsets = one("positions").reshape(-1, 3).astype(float), one("offsets").astype(int)
    lines = np.split(points, offsets[1:])[: len(offsets)]
    lines = [line for line in lines if len(line)]
    groups = {name.split("/")[1].split(".")[0]: at for name, at in arrays.items() if name.startswith("groups/")}
    return {name: [lines[i] for i in at] for name, at in groups.items()}


def bundles(head, lines, program):
    """How much of each bundle valid streamlines pass, as crates/pipeline/src/stages/accuracy/bundles.rs counts it."""
    lines = [np.asarray(line, float) for line in lines if len(line)]
    ends = np.array([(line[0], line[-1]) for line in lines])
    to_voxels = np.linalg.inv(head.image.affine)
    edges = np.linalg.norm(head.image.affine[:3, :3], axis=0)
    places = [np.rint(line @ to_voxels[:3, :3].T + to_voxels[:3, 3]).astype(int) for line in lines]
    missed, beyond, valid = [], [], set()
    for name, fibres in groups_of(head.folder / "truth/tracts.trx").items():
        own = nib.load(head.folder / f"truth/bundles/{name}.nii.gz").get_fdata() > 0
        near = distance_transform_edt(~own, edges) <= WITHIN_MM + 1e-3
        true = np.array([(fibre[0], fibre[-1]) for fibre in fibres])
        joins = np.zeros(len(lines), bool)
        for pair in (ends, ends[:, ::-1]):
            if name.startswith("u_fibres"):
                far = cKDTree(true.reshape(-1, 6)).query(pair.reshape(-1, 6))[0]
                joins |= far <= ENDS_MM * 2**0.5
            else:
                far = [cKDTree(true[:, end]).query(pair[:, end])[0] for end in (0, 1)]
                joins |= np.maximum(*far) <= ENDS_MM
        passed = np.zeros_like(own)
        for i in np.flatnonzero(joins):
            inside = places[i][np.all((places[i] >= 0) & (places[i] < own.shape), axis=1)]
            if near[tuple(inside.T)].sum() >= INSIDE * len(places[i]):
                passed[tuple(inside.T)] = True
                valid.add(i)
        missed.append(100 * (own & ~passed).sum() / own.sum())
        beyond.append(100 * (passed & ~own).sum() / own.sum())
    row("bundles, missed", "%", program, missed)
    row("bundles, beyond", "%", program, beyond)
    return len(valid)


def crossings_and_tracts(head, threads):
    """Peaks and streamlines of MRtrix3."""
    at = head.folder
    said = subprocess.run(["mrinfo", "--version"], capture_output=True, text=True).stdout
    program = f"MRtrix3 {said.split()[2]}"
    with tempfile.TemporaryDirectory() as scratch:
        made = lambda name: f"{scratch}/{name}"
        table = ["-fslgrad", at / "dwi.bvec", at / "dwi.bval", "-nthreads", threads, "-quiet"]
        responses = [made(f"{tissue}.txt") for tissue in ("wm", "gm", "csf")]
        run("dwi2response", "dhollander", at / "dwi.nii.gz", *responses, "-mask", at / "mask.nii.gz",
            "-scratch", scratch, *table)
        densities = [made(f"{tissue}.nii") for tissue in ("wm", "gm", "csf")]
        pairs = itertools.chain.from_iterable(zip(responses, densities))
        run("dwi2fod", "msmt_csd", at / "dwi.nii.gz", *pairs, "-mask", at / "mask.nii.gz", *table)
        run("sh2peaks", densities[0], made("peaks.nii"), "-num", 3, "-quiet")
        peaks = nib.load(made("peaks.nii")).get_fdata()
        directions(head, peaks.reshape(*peaks.shape[:3], 3, 3), program)
        run("5tt2gmwmi", at / "5tt.nii.gz", made("border.nii"), "-quiet")
        run("tckgen", densities[0], made("lines.tck"), "-act", at / "5tt.nii.gz", "-backtrack", "-seed_gmwmi",
            made("border.nii"), "-select", 20000, "-nthreads", threads, "-quiet")
        lines = nib.streamlines.load(made("lines.tck")).streamlines
        streamlines(head, lines, program)
        bundles(head, lines, program)


def main():
    """The table on standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    head = Head(given.demo / "head")
    print("quantity", "unit", "program", "number", "median", "percentile_95", sep="\t")
    tensors(head)
    crossings_and_tracts(head, given.threads)


if __name__ == "__main__":
    main()
