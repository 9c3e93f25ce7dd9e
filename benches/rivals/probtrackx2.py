#!/usr/bin/env python3
"""fimbria probtrackx2 beside FSL's own outputs: paths with fixed random numbers, and statistics.

    python3 benches/rivals/probtrackx2.py --fimbria target/release/fimbria FSL_DATA [CASE ...]

FSL_DATA is a folder of reference data whose cases/NAME/info.txt holds the command that FSL was run
with (`probtrackx2 ...`, relative to FSL_DATA) and whose compare.py applies the acceptance rules.
Every case is run with --runs seeds of its own, on --device; `deterministic` repeats the paths with fixed numbers.
Needs numpy and nibabel. Prints a line per map, matrix and waytotal, user CPU seconds and points per
second of each case; exit code 1 where one is rejected.
"""

import argparse
import gzip
import json
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# What compare.py can look at, by the name that limits in info.txt are given for.
MATRICES = ("fdt_network_matrix", "fdt_matrix1.dot", "matrix_seeds_to_all_targets")

# Mode of a deterministic case and the options of FSL that it stands for.
MODES = {"euler": "", "modeuler": "--modeuler", "modeuler_l": "--modeuler -l"}


def case_command(case):
    for line in (case / "info.txt").read_text().splitlines():
        if line.startswith("command:"):
            words = shlex.split(line.removeprefix("command:"))
            return [w for w in words[1:] if not w.startswith(("--rseed", "--dir", "--forcedir"))]
    return None


def run(program, words, folder, cwd):
    command = [*program, *words, "--forcedir", f"--dir={folder}", "-q"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{finished.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def stage(folder, name):
    record = json.loads((folder / "run.json").read_text())
    return next(s for s in record["stages"] if s["name"] == name)


def compare(data, *words):
    finished = subprocess.run(
        [sys.executable, "compare.py", *map(str, words)], cwd=data, capture_output=True, text=True
    )
    print("  " + (finished.stdout + finished.stderr).strip().replace("\n", "\n  "))
    return finished.returncode == 0


def statistics(args, case, tmp):
    words = case_command(case)
    folders = [tmp / f"{case.name}_{i}" for i in range(args.runs)]
    seconds = [
        run(args.fimbria, [*words, f"--rseed={1 + i}"], folder, args.data)
        for i, folder in enumerate(folders)
    ]
    tracked = [stage(folder, "track") for folder in folders]
    points = sum(s["counts"]["points"] for s in tracked)
    samples = sum(s["counts"]["samples"] for s in tracked)
    # The bytes of inputs are read in every run: the stage's own time is what tracking takes.
    wall = sum(s["seconds"] for s in tracked)
    print(
        f"{case.name}: {sum(seconds) / args.runs:.2f} s user per run; "
        f"{points / samples:.1f} points per sample, {points / wall / 1e6:.1f} M points/s tracking"
    )
    good = True
    for mean in sorted(case.glob("*_mean*")):
        name = mean.name.split("_mean")[0]
        matrix = name in MATRICES
        suffix = "" if matrix else ".nii.gz"
        files = [folder / f"{name}{suffix}" for folder in folders]
        good &= compare(args.data, "matrix" if matrix else "map", case, name, *files)
    if "--simple" not in words:
        good &= compare(args.data, "way", case, *(folder / "waytotal" for folder in folders))
    return good


def paths_as_reference(saved, seeds, out):
    """saved_paths.txt has three entries per sample: the first half, and twice both."""
    entries, current = [], None
    for line in saved.read_text().splitlines():
        if line.startswith("#"):
            current = []
            entries.append(current)
        else:
            current.append(line)
    with open(out, "w") as file:
        for i, seed in enumerate(seeds):
            first, both = entries[3 * i], entries[3 * i + 1]
            file.write(f"# {i} {seed} {len(first)} {len(both)}\n")
            file.writelines(line + "\n" for line in both)


def deterministic(args, tmp):
    good = True
    for reference in sorted((args.data / "cases/deterministic").glob("*.txt.gz")):
        name = reference.name.removesuffix(".txt.gz")
        folder = next(f for f in ("phantom_detneg", "phantom_detpos", "phantom_aniso", "realbpx")
                      if name.startswith(f))
        generator, mode = name.removeprefix(folder + "_").split("_", 1)
        rng = "lcg:12345" if generator == "SEQ" else f"constant:{int(generator[1:]) / 100}"
        inputs = f"inputs/{folder}"
        words = shlex.split(
            f"-x {inputs}/simple200.txt -s {inputs}/merged -m {inputs}/nodif_brain_mask --simple "
            f"--opd --savepaths -P 1 {MODES[mode]} --rng {rng}"
        )
        out = tmp / name
        run(args.fimbria, words, out, args.data)
        seeds = (args.data / inputs / "simple200.txt").read_text().split("\n")
        with gzip.open(reference, "rt") as file:
            n = sum(line.startswith("#") for line in file)
        paths_as_reference(out / "saved_paths.txt", seeds[:n], tmp / f"{name}.txt")
        print(name)
        good &= compare(args.data, "paths", reference, tmp / f"{name}.txt")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--device", default="cpu", help="where to track: cpu, gpu, opencl:0")
    parser.add_argument("data", type=Path)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    args.data = args.data.resolve()
    program = str(Path(args.fimbria).resolve()) if "/" in args.fimbria else args.fimbria
    args.fimbria = [program, "probtrackx2", "--device", args.device]
    if not (args.data / "cases").is_dir():
        print(f"skipped: {args.data} has no cases")
        return
    cases = [c for c in sorted((args.data / "cases").iterdir()) if (c / "info.txt").exists()]
    cases = [c for c in cases if "probtrackx2" in (c / "info.txt").read_text()]
    good = True
    with tempfile.TemporaryDirectory() as tmp:
        if not args.cases or "deterministic" in args.cases:
            good &= deterministic(args, Path(tmp))
        for case in cases:
            if not args.cases or case.name in args.cases:
                good &= statistics(args, case, Path(tmp))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
