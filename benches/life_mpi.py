#!/usr/bin/env python3
"""Memory of each process that `life` is shared by, and whether all of them together write what one does.

    python3 benches/life_mpi.py --fimbria target/release/fimbria --folder BIG [--processes 1,2,4]
        [--select 400000] [--voxel 2] [--options "--solver sbb --max-iterations 20"]

Of a program built with `--features mpi`, on streamlines tracked in a head of known truth; what is there already is
kept. Memory is the most that a process held of its own (RssAnon of /proc, looked at every 5 ms; Linux only), and its
largest resident set, pages of files included (VmHWM). Each process has one thread. The last column counts files that
differ from those of one process, run.json aside.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def status(pid):
    """Numbers of a process in KiB, none where it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return {name: int(lines[name].split()[0]) for name in ("RssAnon", "VmHWM")}
    except (OSError, KeyError, ValueError):
        return {}


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def ran(processes, command):
    """Seconds, and of each process the largest of both numbers."""
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(processes)]
    began = time.monotonic()
    child = subprocess.Popen([*mpirun, *map(str, command)], stderr=subprocess.PIPE)
    most = {}
    while child.poll() is None:
        for pid in children(child.pid):
            for name, value in status(pid).items():
                of_process = most.setdefault(pid, {})
                of_process[name] = max(of_process.get(name, 0), value)
        time.sleep(0.005)
    if child.returncode != 0:
        sys.exit(child.stderr.read().decode())
    return time.monotonic() - began, [most[pid] for pid in sorted(most)]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "run.json"}


def made(fimbria, folder, args):
    folder.mkdir(exist_ok=True)
    head = f"phantom head --voxel {args.voxel} --shells 2000:96 --format nii"
    densities = f"fit fod {folder}/head/dwi.nii --mask {folder}/head/mask.nii --format mif --device cpu"
    lines = (f"track {folder}/fod/fod.mif --seeds {folder}/head/mask.nii --act {folder}/head/5tt.nii "
             f"--select {args.select} --tracks tck --device cpu")
    for name, line in {"head": head, "fod": densities, "t": lines}.items():
        if not (folder / name).exists():
            subprocess.run([fimbria, *line.split(), "-q", "-o", folder / name], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--processes", default="1,2,4")
    parser.add_argument("--select", type=int, default=400_000)
    parser.add_argument("--voxel", type=float, default=2)
    parser.add_argument("--options", default="")
    args = parser.parse_args()
    folder = args.folder.resolve()
    fimbria = os.path.abspath(args.fimbria)
    made(fimbria, folder, args)
    print(f"life of {args.select} streamlines, voxels of {args.voxel:g} mm {args.options}")
    print(f"{'processes':>9}{'s':>7}{'foreseen':>10}{'own MiB: most':>15}{'of one':>8}{'first':>8}{'least':>8}{'RSS MiB':>9}{'differ':>8}")
    alone, expected = 0, {}
    for processes in map(int, args.processes.split(",")):
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        line = f"life {folder}/t/tracks.tck --dwi {folder}/head/dwi.nii --threads 1 --format nii --device cpu -q {args.options}"
        seconds, most = ran(processes, [fimbria, *line.split(), "-o", out])
        if len(most) != processes:
            sys.exit(f"{len(most)} processes were seen, not {processes}: is the program built with MPI?")
        own = [process["RssAnon"] / 1024 for process in most]
        alone = alone or max(own)
        record = json.loads((out / "run.json").read_text())
        counts = next(stage["counts"] for stage in record["stages"] if stage["name"] == "life")
        found = files(out)
        expected = expected or found
        differ = sum(found.get(name) != expected.get(name) for name in found.keys() | expected.keys())
        print(f"{processes:9}{seconds:7.0f}{counts['bytes_foreseen'] / 2**20:10.0f}{max(own):15.0f}{max(own) / alone:8.2f}"
              f"{own[0]:8.0f}{min(own):8.0f}{max(process['VmHWM'] for process in most) / 1024:9.0f}{differ:8}", flush=True)


if __name__ == "__main__":
    main()
