#!/usr/bin/env python3
"""Millions of streamlines tracked, weighed by SIFT2's model and counted: time and memory of each command.

    python3 benches/many_streamlines.py --fimbria target/release/fimbria --folder big [--select 2000000]
        [--times 1] [--iterations 100] [--voxel 2.5] [--memory 8G] [--threads 2]

Of a head of known truth. --times 5 joins five tractograms of different seeds. Memory is the most that a command
held of its own (RssAnon of /proc, looked at every 20 ms; Linux only) and its largest resident set, pages of files
included. What is there already is not made again.
"""

import argparse
import os
import struct
import subprocess
import sys
import time
from pathlib import Path


def anonymous(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    except (OSError, StopIteration):
        return 0


def measured(name, *command):
    began = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE)
    most = 0
    while True:
        most = max(most, anonymous(child.pid))
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    said = child.stderr.read().decode()
    if status != 0:
        sys.exit(f"{name}: {said}")
    seconds = time.monotonic() - began
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{name:44}{seconds:9.0f}{cpu:9.0f}{most / 2**20:9.2f}{usage.ru_maxrss / 2**20:9.2f}", flush=True)


def joined(parts, to):
    """One .tck of several: the points of all behind one header."""
    count = sum(int(header(part)[1]["count"]) for part in parts)
    words = f"mrtrix tracks\ndatatype: Float32LE\ncount: {count}\nfile: . 128\nEND\n"
    with open(to, "wb") as out:
        out.write(words.encode().ljust(128, b"\0"))
        for part in parts:
            with open(part, "rb") as file:
                file.seek(header(part)[0])
                left = os.path.getsize(part) - file.tell() - 12
                while left > 0:
                    block = file.read(min(left, 1 << 24))
                    out.write(block)
                    left -= len(block)
        out.write(struct.pack("<3f", *[float("inf")] * 3))


def header(path):
    with open(path, "rb") as file:
        text = file.read(4096).split(b"\nEND")[0].decode(errors="replace")
    entries = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return int(entries["file"].split()[1]), entries


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--select", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=100, help="of sift2, at most")
    parser.add_argument("--voxel", type=float, default=2.5)
    parser.add_argument("--memory", default="8G")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    fimbria, tmp = args.fimbria, args.folder
    more = ["--threads", args.threads, "--memory", args.memory, "-q"]
    tmp.mkdir(exist_ok=True)
    print(f"{args.times * args.select} streamlines, voxels of {args.voxel:g} mm, --memory {args.memory}, {args.threads} threads")
    print(f"{'':44}{'s':>9}{'CPU s':>9}{'own GiB':>9}{'RSS GiB':>9}")
    if not (tmp / "head").exists():
        measured("phantom head", fimbria, "phantom", "head", "--voxel", args.voxel, "--format", "nii", "-o", tmp / "head", *more)
    if not (tmp / "fod").exists():
        measured("fit fod", fimbria, "fit", "fod", tmp / "head/dwi.nii", "--mask", tmp / "head/mask.nii", "--format", "mif",
                 "--device", "cpu", "-o", tmp / "fod", *more)
    parts = []
    for seed in range(1, args.times + 1):
        parts.append(tmp / f"t{seed}/tracks.tck")
        if not parts[-1].exists():
            measured(f"track --select {args.select} --rng-seed {seed}", fimbria, "track", tmp / "fod/fod.mif", "--seeds", tmp / "head/mask.nii",
                     "--act", tmp / "head/5tt.nii", "--select", args.select, "--rng-seed", seed, "--tracks", "tck",
                     "--device", "cpu", "-o", tmp / f"t{seed}", *more)
    lines = parts[0]
    if len(parts) > 1:
        lines = tmp / "all.tck"
        joined(parts, lines)
    print(f"{lines.name}: {os.path.getsize(lines) / 2**30:.2f} GiB", flush=True)
    measured(f"sift2 --iterations {args.iterations}", fimbria, "sift2", lines, tmp / "fod/fod.mif", "--act", tmp / "head/5tt.nii", "-o", tmp / "sift2",
             "--iterations", args.iterations, "--force", *more)
    measured("connectome --weights", fimbria, "connectome", lines, tmp / "head/labels.nii", "--weights", tmp / "sift2/weights.txt",
             "-o", tmp / "net", "--force", *more)


if __name__ == "__main__":
    main()
