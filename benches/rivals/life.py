#!/usr/bin/env python3
"""Connectome evaluation: fimbria beside DIPY's FiberModel and COMMIT, on a simulated brain.

    python3 benches/rivals/life.py --fimbria target/release/fimbria [--streamlines 10000]

Needs nibabel, numpy and DIPY; COMMIT (pip install dmri-commit; for research only) is compared where
it is installed. Times are user CPU seconds of whole processes' work on one thread, so that what
else a machine does matters little; ratios are of one run of this script.

* DIPY: its own model in both programs (--compat dipy: node counts, signal over S0): the time of
  FiberModel.fit against that of `fimbria life` (the whole command, reading and writing included)
  until our objective is below its final one.
* COMMIT: seconds of one product A x and one A'y for each nonzero of its own dictionary, against
  those of `fimbria bench life` for each entry; and the time until the objective is within 0.1 % of
  the least that a long run finds, each with its own model of the same data: COMMIT's fit alone, and
  the whole of `fimbria life`.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np
from nibabel.streamlines import Tractogram, save


# Numbers of iterations that are tried, until one is enough.
ITERATIONS = [5, 10, 15, 20, 30, 40, 60, 80, 120, 200, 400, 1000]


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime


def run(*command):
    """Runs a command; its user CPU seconds."""
    before = children_seconds()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return children_seconds() - before, done.stdout


def subject(folder, streamlines, directions, edge, seed=1):
    """Bent streamlines in a cube of `edge` voxels of 2 mm, and the signal of a third of them."""
    rng = np.random.default_rng(seed)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    t = np.linspace(0, 1, 2 * edge)
    lines = []
    for f in range(streamlines):
        a, b, c, d = rng.normal(size=4)
        along = 0.5 + (edge - 2) * t
        across = edge / 2 + edge / 6 * a + 2 * b * np.sin(3 * t + c)
        up = edge / 2 + edge / 6 * d + 2 * c * t
        line = np.stack([along, across, up], axis=1)
        line = np.clip(line[:, np.roll([0, 1, 2], f % 3)], 0, edge - 1)
        lines.append((line * 2.0).astype(np.float32))
    g = rng.normal(size=(directions, 3))
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    bvecs = np.vstack([[0, 0, 0], g])
    bvals = np.r_[0, np.full(directions, 2000.0)]
    signal = np.full((edge, edge, edge, directions + 1), 500.0)
    signal[..., 0] = 1000
    for line in lines[::3]:
        dirs = np.gradient(line, axis=0)
        dirs /= np.maximum(np.linalg.norm(dirs, axis=1, keepdims=True), 1e-9)
        vox = np.round(line / 2).astype(int)
        add = 1000 * 0.01 * (np.exp(-2 * (dirs @ g.T) ** 2) - 0.6)
        np.add.at(signal[..., 1:], tuple(vox.T), add)
    signal[..., 1:] += rng.normal(scale=20, size=signal[..., 1:].shape)
    nib.save(nib.Nifti1Image(signal.astype(np.float32), affine), folder / "dwi.nii.gz")
    np.savetxt(folder / "dwi.bval", bvals[None], fmt="%g")
    np.savetxt(folder / "dwi.bvec", bvecs.T, fmt="%.8f")
    save(Tractogram(lines, affine_to_rasmm=np.eye(4)), str(folder / "lines.tck"))
    return signal, lines, affine, bvals, bvecs


def against_dipy(fimbria, folder, data):
    import dipy.tracking.life as life
    from dipy.core.gradients import gradient_table

    signal, lines, affine, bvals, bvecs = data
    table = gradient_table(bvals, bvecs=bvecs, b0_threshold=50)
    in_voxels = [nib.affines.apply_affine(np.linalg.inv(affine), line) for line in lines]
    begin = time.process_time()
    fit = life.FiberModel(table).fit(signal, in_voxels, np.eye(4), sphere=False)
    theirs = time.process_time() - begin
    # Its objective in our terms: weighted volumes over the unweighted signal, demeaned.
    predicted = life.FiberFit.predict(fit)
    measured = signal[tuple(np.asarray(fit.vox_coords).T)]
    weighted = bvals > 50
    relative = (predicted - measured)[:, weighted] / measured[:, ~weighted].mean(1, keepdims=True)
    relative -= relative.mean(1, keepdims=True)
    objective = 0.5 * np.sum(relative**2)
    print(f"DIPY FiberModel.fit        {theirs:9.2f} s   objective {objective:.6g}   "
          f"{np.sum(fit.beta > 0)} of {len(lines)} streamlines")
    for iterations in ITERATIONS:
        out = folder / f"dipy-{iterations}"
        ours, _ = run(fimbria, "life", folder / "lines.tck", "--dwi", folder / "dwi.nii.gz",
                      "--bvec-frame", "voxel", "--compat", "dipy", "--max-iterations", iterations,
                      "--threads", 1, "--device", "cpu", "-q", "-o", out)
        record = json.loads((out / "run.json").read_text())
        print(f"fimbria, {iterations:4d} iterations   {ours:9.2f} s   "
              f"objective {record['objective']:.6g}   {record['nonzero']} streamlines")
        if record["objective"] < objective:
            print(f"fimbria is {theirs / ours:.1f} times faster")
            return
    print("fimbria does not come below it: the models differ on these streamlines")


def against_commit(fimbria, folder, streamlines):
    try:
        import commit
        from commit import trk2dictionary
    except ImportError:
        print("COMMIT is not installed")
        return
    from amico.util import fsl2scheme

    fsl2scheme(str(folder / "dwi.bval"), str(folder / "dwi.bvec"), str(folder / "dwi.scheme"))
    trk2dictionary.run(filename_tractogram=str(folder / "lines.tck"), path_out=str(folder / "commit"),
                       filename_mask=None, filename_peaks=None, n_threads=1,
                       TCK_ref_image=str(folder / "dwi.nii.gz"), verbose=0)
    commit.setup()
    mit = commit.Evaluation(str(folder), ".")
    mit.load_data(str(folder / "dwi.nii.gz"), str(folder / "dwi.scheme"))
    mit.set_model("StickZeppelinBall")
    mit.model.set(1.0e-3, None, [], [])
    mit.generate_kernels(regenerate=True)
    mit.load_kernels()
    mit.load_dictionary(str(folder / "commit"))
    mit.set_threads(1)
    mit.build_operator()
    nonzeros = mit.DICTIONARY["IC"]["n"]
    x = np.random.default_rng(0).random(mit.A.shape[1])
    y = mit.A.dot(x)
    times = []
    for _ in range(5):
        begin = time.process_time()
        mit.A.dot(x)
        mit.A.T.dot(y)
        times.append(time.process_time() - begin)
    theirs = min(times) / nonzeros
    _, shown = run(fimbria, "bench", "life", "--streamlines", streamlines, "--threads", 1,
                   "--device", "cpu", "--iterations", 1, "--solver", "sbb")
    rows = [re.split(r"\s{2,}", line) for line in shown.splitlines() if line.startswith("gradient")]
    ours = {row[2]: float(row[4]) for row in rows}
    print(f"COMMIT, A x and A'y: {1e9 * theirs:.1f} ns for each of {nonzeros} nonzeros")
    for rank, nanoseconds in ours.items():
        print(f"fimbria, rank {rank}: {nanoseconds} ns an entry: "
              f"{1e9 * theirs / nanoseconds:.1f} times faster")

    data = mit.get_y()

    def fit(iterations):
        begin = time.process_time()
        mit.fit(tol_fun=1e-12, max_iter=iterations)
        seconds = time.process_time() - begin
        return seconds, 0.5 * np.sum((mit.A.dot(mit.x) - data) ** 2)

    _, least = fit(3000)
    for iterations in ITERATIONS:
        theirs, objective = fit(iterations)
        if objective <= 1.001 * least:
            break
    print(f"COMMIT's fit to 0.1 %      {theirs:9.2f} s   {iterations} iterations, objective "
          f"{objective:.6g}, least {least:.6g}")

    def life(*options):
        out = folder / "gap"
        seconds, _ = run(fimbria, "life", folder / "lines.tck", "--dwi", folder / "dwi.nii.gz",
                         "--bvec-frame", "voxel", "--threads", 1, "--device", "cpu", "--force",
                         "-q", "-o", out, *options)
        return seconds, json.loads((out / "run.json").read_text())["objective"]

    for rank in ["full", "auto"]:
        _, least = life("--rank", rank, "--tolerance", 1e-6, "--max-iterations", 3000)
        for iterations in ITERATIONS:
            ours, objective = life("--rank", rank, "--max-iterations", iterations)
            if objective <= 1.001 * least:
                break
        print(f"fimbria life to 0.1 %      {ours:9.2f} s   rank {rank}, {iterations} iterations, "
              f"objective {objective:.6g}, least {least:.6g}: {theirs / ours:.1f} times faster")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fimbria", required=True)
    parser.add_argument("--streamlines", type=int, default=10_000)
    parser.add_argument("--directions", type=int, default=96)
    parser.add_argument("--edge", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = subject(folder, args.streamlines, args.directions, args.edge)
        against_dipy(args.fimbria, folder, data)
        against_commit(args.fimbria, folder, args.streamlines)


if __name__ == "__main__":
    main()
