#!/usr/bin/env python3
"""Tractograms: fimbria convert and connectome beside nibabel, DIPY, trx-python and MRtrix3.

    python3 benches/rivals/streamlines.py --fimbria target/release/fimbria [--count 20000]

Makes streamlines in an oblique image, with data, writes them with each program, converts them with
fimbria and reads the result with each program: both ways for every format. Then tckstats and
tck2connectome on the same file. Needs nibabel, dipy, trx-python, scipy and MRtrix3. Prints a line
per check; exit code 1 where one fails.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from nibabel.streamlines import Field, Tractogram
from scipy.spatial import cKDTree

# Coordinates reach 100 mm, where f32 has steps of 8e-6; TRK adds an affine in f32 and back.
TOLERANCE_MM = {"tck": 0.0, "trx": 0.0, "trk": 5e-5}

DIMS = (40, 50, 30)
AFFINE = np.array(
    [[-1.9, 0.3, -0.1, 40.0], [-0.35, 1.8, 0.6, -50.0], [0.05, -0.4, 2.4, -30.0], [0, 0, 0, 1.0]]
)


def make(count, rng):
    """Random walks that stay in the image, and end on no border between voxels."""
    lines = []
    for _ in range(count):
        n = rng.integers(2, 60)
        start = rng.uniform([8, 8, 8], np.array(DIMS) - 8)
        steps = rng.normal(size=3) * 0.3 + rng.normal(size=(n, 3)) * 0.1
        vox = np.clip(start + np.cumsum(steps, 0), 0.6, np.array(DIMS) - 1.6)
        lines.append((vox @ AFFINE[:3, :3].T + AFFINE[:3, 3]).astype(np.float32))
    return lines


class Checks:
    def __init__(self):
        self.failed = 0

    def say(self, what, good, detail=""):
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what} {detail}")


def run(*command):
    finished = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{finished.stderr}")
    return finished.stdout


def difference(a, b):
    if len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
        return np.inf
    return max(np.abs(np.asarray(x) - np.asarray(y)).max() for x, y in zip(a, b))


def trk_in_order(path, tractogram, order, endian, dims=DIMS):
    header = nib.streamlines.TrkFile.create_empty_header(endianness=endian)
    header[Field.VOXEL_TO_RASMM] = AFFINE
    header[Field.VOXEL_SIZES] = np.linalg.norm(AFFINE[:3, :3], axis=0)
    header[Field.DIMENSIONS] = dims
    header[Field.VOXEL_ORDER] = order
    nib.streamlines.TrkFile(tractogram, header).save(str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--count", type=int, default=20000)
    args = parser.parse_args()
    checks, rng = Checks(), np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        lines = make(args.count, rng)
        reference = tmp / "reference.nii.gz"
        nib.save(nib.Nifti1Image(np.zeros(DIMS, np.float32), AFFINE), reference)
        colour = [rng.random((len(line), 3)).astype(np.float32) for line in lines]
        weight = rng.random((len(lines), 1)).astype(np.float32)
        tractogram = Tractogram(
            lines, data_per_point={"rgb": colour}, data_per_streamline={"weight": weight},
            affine_to_rasmm=np.eye(4),
        )
        formats(args, tmp, lines, reference, tractogram, weight, checks)
        mrtrix(args, tmp, lines, rng, checks)
    sys.exit(1 if checks.failed else 0)


def formats(args, tmp, lines, reference, tractogram, weight, checks):
    from dipy.io.streamline import load_tractogram
    from trx.trx_file_memmap import TrxFile, load as load_trx, save as save_trx

    sources = {}
    nib.streamlines.TckFile(Tractogram(lines, affine_to_rasmm=np.eye(4))).save(str(tmp / "n.tck"))
    sources["nibabel tck"] = tmp / "n.tck"
    axes = "".join(nib.aff2axcodes(AFFINE))
    other = {"L": "R", "R": "L", "A": "P", "P": "A", "I": "S", "S": "I"}
    for order in (axes, "".join(other[c] for c in axes), other[axes[0]] + axes[1:]):
        for endian in ("<", ">"):
            path = tmp / f"n_{order}_{'le' if endian == '<' else 'be'}.trk"
            trk_in_order(path, tractogram, order, endian)
            sources[f"nibabel trk {order} {endian}"] = path
    trx = TrxFile.from_tractogram(tractogram, str(reference), dtype_dict={
        "positions": np.float32, "offsets": np.uint64,
        "dpv": {"rgb": np.float32}, "dps": {"weight": np.float32}})
    trx.groups = {"left": np.arange(0, len(lines), 3, dtype=np.uint32)}
    save_trx(trx, str(tmp / "p.trx"))
    sources["trx-python trx"] = tmp / "p.trx"

    for name, source in sources.items():
        for to in ("tck", "trk", "trx"):
            out = tmp / "out" / f"{name.replace(' ', '_').replace('<', 'l').replace('>', 'b')}.{to}"
            words = ["--reference", reference] if name.endswith("tck") else []
            run(args.fimbria, "convert", source, "-o", out, "-q", *words)
            tolerance = max(TOLERANCE_MM[to], TOLERANCE_MM["trk"] if "trk" in name else 0.0)
            if to == "trx":
                read = load_trx(str(out), "same")
                got = read.streamlines
                data = read.data_per_streamline
            else:
                read = nib.streamlines.load(str(out))
                got, data = read.streamlines, read.tractogram.data_per_streamline
            worst = difference(lines, got)
            good = worst <= tolerance
            if to != "tck" and not name.endswith("tck"):
                good &= np.allclose(np.asarray(data["weight"]).ravel(), weight.ravel(), atol=0)
            if to == "trx" and name.startswith("trx"):
                good &= np.array_equal(np.asarray(read.groups["left"]), np.arange(0, len(lines), 3))
            checks.say(f"{name} -> fimbria -> {to}", good, f"worst {worst:.1e} mm")
            if to == "trx":
                read.close()
            dipy = load_tractogram(str(out), str(reference), bbox_valid_check=False)
            checks.say(f"{name} -> fimbria -> {to}, read by DIPY",
                       difference(lines, dipy.streamlines) <= max(tolerance, 2e-5))


def mrtrix(args, tmp, lines, rng, checks):
    tck = tmp / "m.tck"
    run(args.fimbria, "convert", tmp / "p.trx", "-o", tck, "-q")
    info = run("tckinfo", tck, "-count")
    checks.say("tckinfo counts", f"actual count in file: {len(lines)}" in info)
    run("tckconvert", tck, tmp / "m.vtk", "-force", "-quiet")
    run("tckedit", tck, tmp / "e.tck", "-quiet", "-force")
    run(args.fimbria, "convert", tmp / "e.tck", "-o", tmp / "e2.tck", "-q")
    back = nib.streamlines.load(str(tmp / "e2.tck")).streamlines
    checks.say("tckedit -> fimbria", difference(lines, back) == 0.0)

    theirs = run("tckstats", tck, "-output", "mean", "-output", "median", "-output", "std",
                 "-output", "min", "-output", "max", "-quiet").split()
    text = run(args.fimbria, "info", tck, "--lengths")
    length = next(l for l in text.splitlines() if l.strip().startswith("length")).replace(",", "").split()
    mean = next(l for l in text.splitlines() if l.strip().startswith("mean")).replace(",", "").split()
    ours = [mean[1], length[6], mean[-1], length[1], length[3]]
    worst = max(abs(float(a) - float(b)) for a, b in zip(ours, theirs))
    # tckstats sums each length in f32 and takes the standard deviation over n.
    checks.say("tckstats", worst < 1e-2, f"{ours} {theirs}")

    labels = np.zeros(DIMS, np.uint16)
    centres = rng.uniform([4, 4, 4], np.array(DIMS) - 4, (30, 3))
    grid = np.stack(np.meshgrid(*map(np.arange, DIMS), indexing="ij"), -1)
    for i, centre in enumerate(centres):
        labels[np.linalg.norm(grid - centre, axis=-1) < 3.5] = i + 1
    # Labels that later ones covered would leave a row without voxels.
    labels = np.searchsorted(np.unique(labels), labels).astype(np.uint16)
    nib.save(nib.Nifti1Image(labels, AFFINE), tmp / "labels.nii.gz")
    weights = rng.random(len(lines))
    np.savetxt(tmp / "weights.txt", weights)
    for name, flags, ours, radius in (
        ("radial search, counts", [], [], 4.0),
        ("end voxels, counts", ["-assignment_end_voxels"], ["--exact-label"], None),
        ("radial search, weights", ["-tck_weights_in", tmp / "weights.txt"],
         ["--weights", tmp / "weights.txt"], 4.0),
        ("radial search, mean length", ["-scale_length", "-stat_edge", "mean"], [], 4.0),
    ):
        run("tck2connectome", tck, tmp / "labels.nii.gz", tmp / "theirs.csv", "-symmetric",
            "-force", "-quiet", *flags)
        run(args.fimbria, "connectome", tck, tmp / "labels.nii.gz", "-o", tmp / "ours", "-f", "-q",
            *ours)
        file = "lengths.csv" if "length" in name else "weights.csv"
        a, b = (np.loadtxt(f, delimiter=",") for f in (tmp / "theirs.csv", tmp / "ours" / file))
        each = {"lengths.csv": lengths(lines), "weights.csv": np.ones(len(lines))}[file]
        each = weights if "weights" in name else each
        plain = connections(ends(lines, labels, radius), labels.max(), each, "mean" in name)
        worst = np.abs(plain - b).max() / plain.max()
        checks.say(f"connectome, {name}, beside a plain search", worst < 1e-5,
                   f"worst {worst:.1e} of the largest")
        # tck2connectome's radial search does not look at every voxel that lies within the radius.
        differ = np.count_nonzero(np.abs(a - b) > 1e-4 * a.max()) / b.size
        checks.say(f"tck2connectome, {name}", differ < 0.02, f"{100 * differ:.2f} % of entries differ")


def lengths(lines):
    return np.array([np.linalg.norm(np.diff(l.astype(float), axis=0), axis=1).sum() for l in lines])


def ends(lines, labels, radius):
    """The label at both ends of each line: of the voxel, or the nearest within the radius; or 0."""
    points = np.array([[line[0], line[-1]] for line in lines], float)
    if radius is None:
        vox = (points - AFFINE[:3, 3]) @ np.linalg.inv(AFFINE[:3, :3]).T
        return labels[tuple(np.moveaxis(np.round(vox).astype(int), -1, 0))]
    tree = cKDTree(np.argwhere(labels > 0) @ AFFINE[:3, :3].T + AFFINE[:3, 3])
    known = np.append(labels[labels > 0], 0)
    return known[tree.query(points, distance_upper_bound=radius)[1]]


def connections(pairs, n, each, mean):
    sums, counts = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for matrix, values in ((sums, each), (counts, np.ones(len(each)))):
        np.add.at(matrix, (pairs[:, 0], pairs[:, 1]), values)
        other = pairs[:, 0] != pairs[:, 1]
        np.add.at(matrix, (pairs[other, 1], pairs[other, 0]), values[other])
    return (sums / np.maximum(counts, 1) if mean else sums)[1:, 1:]


if __name__ == "__main__":
    main()
