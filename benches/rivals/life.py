#!/usr/bin/env python3
"""Connectome evaluation: fimbria beside DIPY's FiberModel and COMMIT, on a simulated brain.

    python3 benches/rivals/life.py --fimbria target/release/fimbria [--streamlines 10000]

Needs nibabel, numpy and DIPY; COMMIT (pip install dmri-commit; for research only) is compared where
it is installed. Times are CPU seconds on one thread, so that what else a machine does matters little;
ratios are of one run of this script.

* DIPY: its own model in both programs (--compat dipy: node counts, signal over S0). Its time is that of
  FiberModel.fit on arrays in memory, with its usual sphere of 724 directions and with exact ones. Ours is
  that of encoding and weighing, reading the tractogram included (the stage `life` of run.json), with as
  few iterations as make our weights better than its own: both are judged by DIPY's matrix and signal.
  With the columns that DIPY has (its sphere's directions by --directions, or exact ones), full and
  short, and with the program's usual ones (grid:360, short).
* COMMIT: seconds of one product A x and one A'y for each nonzero of its own dictionary, against
  those of `fimbria bench life` for each entry, with the program's usual directions and with as many as
  COMMIT has; and the time until the objective lacks 0.1 % of its way
  from that without weights to the least (that of a long run), each with its own model of the same data:
  from the tractogram on (COMMIT: trk2dictionary, loading what it wrote, building the operator, the fit),
  and of the fit alone.
"""

import argparse
import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import nibabel as nib
import numpy as np
from nibabel.streamlines import Tractogram, save


# What an objective may lack of its way from that without weights to the least.
GAP = 1e-3

# Numbers of iterations that are tried, until one is enough.
ITERATIONS = [5, 8, 10, 12, 14, 16, 18, 20, 25, 30, 40, 60, 80, 120, 200, 400, 1000]


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(*command):
    """Runs a command; its CPU seconds."""
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


def life(fimbria, folder, *options):
    """Runs `fimbria life` on one thread: CPU seconds from the tractogram to weights and of weighing
    alone, the record, and the weights."""
    out = folder / "out"
    cpu, _ = run(fimbria, "life", folder / "lines.tck", "--dwi", folder / "dwi.nii.gz", "--bvec-frame", "voxel",
        "--threads", 1, "--device", "cpu", "--force", "-q", "-o", out, *options)
    record = json.loads((out / "run.json").read_text())
    # The command's CPU time, as much of it as the steps have of the stages' wall time.
    stages = {stage["name"]: stage for stage in record["stages"]}
    each = cpu / sum(stage["seconds"] for stage in stages.values())
    steps = {step["name"]: each * step["seconds"] for step in stages["life"]["steps"]}
    # Where no streamline can have a weight nothing is weighed.
    weighing = steps.get("weighing streamlines", 0.0)
    whole = steps["encoding streamlines"] + steps["gathering signal and columns"] + weighing
    return (whole, weighing), record, np.loadtxt(out / "weights.txt")


def against_dipy(fimbria, folder, data):
    import dipy.tracking.life as life_of_dipy
    from dipy.core.gradients import gradient_table
    from dipy.data import default_sphere

    signal, lines, affine, bvals, bvecs = data
    table = gradient_table(bvals, bvecs=bvecs, b0_threshold=50)
    in_voxels = [nib.affines.apply_affine(np.linalg.inv(affine), line) for line in lines]
    for name, sphere in [("its sphere of 724", None), ("exact directions", False)]:
        begin = time.process_time()
        fit = life_of_dipy.FiberModel(table).fit(signal, in_voxels, np.eye(4), sphere=sphere)
        theirs = time.process_time() - begin

        def objective(weights):
            return 0.5 * np.sum((fit.life_matrix @ weights - fit.fit_data) ** 2)

        reached = objective(fit.beta)
        print(f"DIPY, {name:18s} {theirs:9.2f} s   objective {reached:.6g} of {objective(0 * fit.beta):.6g}"
              f"   {np.sum(fit.beta > 0)} of {len(lines)} streamlines")
        own = []
        if sphere is None:
            np.savetxt(folder / "sphere.txt", default_sphere.vertices, fmt="%.17g")
            own = ["--directions", folder / "sphere.txt"]
        for options in [own, [*own, "--rank", "auto"], ["--atoms", "grid:360", "--rank", "auto"]]:
            for iterations in ITERATIONS:
                (ours, _), record, weights = life(fimbria, folder, "--compat", "dipy", *options,
                                                  "--max-iterations", iterations)
                if objective(weights) < reached:
                    break
            shown = [option for option in options if option not in own] or ["--rank full"]
            name = " ".join(shown if "--atoms" in shown else ["its directions,", *shown])
            print(f"fimbria, {name:29s} {ours:9.3f} s   {iterations} iterations, by DIPY's matrix "
                  f"{objective(weights):.6g}, own {record['objective']:.6g}   {np.sum(weights > 0)} "
                  f"streamlines: {theirs / ours:.1f} times faster")


def against_commit(fimbria, folder, streamlines):
    try:
        import commit
        from commit import trk2dictionary
    except ImportError:
        print("COMMIT is not installed")
        return
    from amico import lut
    from amico.util import fsl2scheme
    from dicelib import ui

    ui.set_verbose("commit", 0)

    directions = 500
    # What `commit.setup()` prepares for every number of directions, once for all; this one only.
    if not list(Path(lut.dipy_home).glob(f"AMICO_aux_matrices_lmax=12_ndirs={directions}.*")):
        lut.precompute_rotation_matrices(12, directions)
    fsl2scheme(str(folder / "dwi.bval"), str(folder / "dwi.bvec"), str(folder / "dwi.scheme"))
    begin = time.process_time()
    trk2dictionary.run(filename_tractogram=str(folder / "lines.tck"), path_out=str(folder / "commit"),
                       filename_mask=None, filename_peaks=None, n_threads=1,
                       ndirs=directions, TCK_ref_image=str(folder / "dwi.nii.gz"), verbose=0)
    before = time.process_time() - begin
    mit = commit.Evaluation(str(folder), ".", "commit")
    mit.load_data(str(folder / "dwi.nii.gz"), str(folder / "dwi.scheme"))
    mit.set_model("StickZeppelinBall")
    mit.model.set(1.0e-3, [], [])
    mit.generate_kernels(regenerate=True, ndirs=directions)
    mit.load_kernels()
    begin = time.process_time()
    mit.load_dictionary()
    mit.set_threads(1)
    mit.build_operator()
    before += time.process_time() - begin
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
    print(f"COMMIT, A x and A'y: {1e9 * theirs:.1f} ns for each of {nonzeros} nonzeros")
    # The usual grid, and one of 507 directions.
    for atoms in ["grid:360", "grid:23"]:
        _, shown = run(fimbria, "bench", "life", "--streamlines", streamlines, "--threads", 1, "--atoms", atoms,
                       "--device", "cpu", "--iterations", 1, "--solver", "sbb")
        rows = [re.split(r"\s{2,}", line) for line in shown.splitlines() if line.startswith("gradient")]
        for row in rows:
            rank, nanoseconds = row[2], float(row[4])
            print(f"fimbria, --atoms {atoms}, rank {rank}: {nanoseconds} ns an entry: "
                  f"{1e9 * theirs / nanoseconds:.1f} times faster")

    data = mit.get_y()

    def fit(iterations):
        begin = time.process_time()
        with redirect_stdout(io.StringIO()):
            mit.fit(tol_fun=1e-12, max_iter=iterations)
        seconds = time.process_time() - begin
        return seconds, 0.5 * np.sum((mit.A.dot(mit.x) - data) ** 2)

    _, least = fit(1000)
    most = 0.5 * np.sum(data**2)
    for iterations in ITERATIONS:
        theirs, objective = fit(iterations)
        if objective - least <= GAP * (most - least):
            break
    print(f"COMMIT to 0.1 %         {before + theirs:9.2f} s, fit {theirs:.2f} s   {iterations} iterations, "
          f"objective {objective:.6g} of {least:.6g} to {most:.6g}")

    for rank in ["full", "auto"]:
        _, record, _ = life(fimbria, folder, "--rank", rank, "--tolerance", 1e-6,
                            "--max-iterations", 3000)
        least = record["objective"]
        # A penalty that leaves no weight.
        _, record, _ = life(fimbria, folder, "--rank", rank, "--l1", 2)
        most = record["objective"]
        for iterations in ITERATIONS:
            (whole, fitting), record, _ = life(fimbria, folder, "--rank", rank,
                                               "--max-iterations", iterations)
            objective = record["objective"]
            if objective - least <= GAP * (most - least):
                break
        print(f"fimbria life to 0.1 %   {whole:9.2f} s, fit {fitting:.2f} s   rank {rank}, {iterations} "
              f"iterations, objective {objective:.6g} of {least:.6g} to {most:.6g}: "
              f"{(before + theirs) / whole:.1f} times faster, fit {theirs / fitting:.1f} times")


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
