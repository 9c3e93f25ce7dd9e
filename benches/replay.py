#!/usr/bin/env python3
"""What the host does for LiFE and susceptibility on a card, launch by launch, where there is no card.

    python3 benches/replay.py --fimbria target/release/fimbria --folder work [--size 48,58,45]
        [--streamlines 50000] [--iterations 20] [--threads 2] [--only life,dtv]

Solvers go on from what they read, so that a card whose kernels do nothing ends them at once. Each job is run on an
OpenCL device first, PoCL as a rule, and what is read back is kept (crates/compute/tests/stand_in/failing_opencl.c).
Then it is run on cards that do nothing and give back the same (null_gpu.c beside it). A job is only shown where
both wrote the same bytes, which they do only if the second took the same course.

Columns, from the first launch to the last download: launches; how often the host waited; milliseconds, which are the
host's; microseconds of these a launch, and a launch's without memory, uploads and downloads; megabytes up and down,
what was sent before the first launch among them.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

from null_gpu import nvrtc, ran

STAND_IN = Path(__file__).resolve().parent.parent / "crates/compute/tests/stand_in"


def jobs(data, iterations):
    """Name: the command, and what it writes that is compared."""
    field = f"qsm {data}/gre/truth/local_field.nii.gz --mask {data}/gre/mask.nii.gz"
    guides = f"--v1 {data}/dti/V1.nii.gz --fa {data}/dti/FA.nii.gz"
    return {
        "life": (f"life {data}/tracks/tracks.trx --dwi {data}/crossing/dwi.nii.gz --max-iterations {iterations}", "weights.txt"),
        "dtv": (f"{field} {guides} --method dtv --iterations {iterations}", "chi.nii.gz"),
        "tv": (f"{field} --method tv --iterations {iterations}", "chi.nii.gz"),
        "tgv": (f"{field} --method tgv --iterations {iterations}", "chi.nii.gz"),
        "medi": (f"{field} --method medi --magnitude {data}/gre/magnitude.nii.gz --iterations {iterations}", "chi.nii.gz"),
        "ndi": (f"{field} --method ndi --te 20 --b0 3 --iterations {iterations}", "chi.nii.gz"),
        "rts": (f"{field} --method rts", "chi.nii.gz"),
        "ilsqr": (f"{field} --method ilsqr --iterations {iterations}", "chi.nii.gz"),
        "tensor": (f"{field} {guides} --method tensor --iterations {iterations}", "chi.nii.gz"),
        "dqsm": (f"{field} {guides} --method dqsm --iterations {iterations}", "chi.nii.gz"),
    }


def made(fimbria, data, args):
    """The data, what is there already kept."""
    size = f"--size {args.size} --voxel {135 / int(args.size.split(',')[2]):.3f}"
    commands = {
        "crossing": f"phantom crossing {size} --shells 1000:32,2000:32",
        "gre": f"phantom gre {size}",
        "dti": f"fit dti {data}/crossing/dwi.nii.gz --mask {data}/crossing/mask.nii.gz --device cpu",
        "fod": f"fit fod {data}/crossing/dwi.nii.gz --mask {data}/crossing/mask.nii.gz --device cpu",
        "tracks": f"track {data}/fod/fod.nii.gz --mask {data}/crossing/mask.nii.gz --seeds {data}/crossing/mask.nii.gz "
                  f"--select {args.streamlines} --device cpu",
    }
    for name, line in commands.items():
        if not (data / name / "run.json").exists():
            subprocess.run([fimbria, *line.split(), "-q", "-o", data / name], check=True)


def told(log):
    """Of the calls from the first launch to the last download: launches, waits, seconds, those of memory and copies,
    and the megabytes up and down of the whole command."""
    calls = [line.split() for line in log.read_text().splitlines()]
    begun = next(float(at) for at, _, what, *_ in calls if what == "launch")
    # A download is waited for by the synchronization that follows it.
    last = max(i for i, (_, _, what, *_) in enumerate(calls) if what == "download")
    ended = next(float(at) + float(took) for at, _, what, _, took, _ in calls[last:] if what == "synchronize")
    within = [(what, float(took)) for at, _, what, _, took, _ in calls if begun <= float(at) <= ended]
    launches = sum(what == "launch" for what, _ in within)
    waits = sum(what == "synchronize" for what, _ in within)
    copies = sum(took for what, took in within if what != "launch")
    moved = [sum(int(size) for _, _, what, size, *_ in calls if what == way) / 1e6 for way in ("upload", "download")]
    return launches, waits, ended - begun, copies, moved


def measured(name, line, compared, args, data):
    words = [*line.split(), "--threads", str(args.threads)]
    reads, calls = data / "reads", data / "calls"
    libraries = os.environ.get("LD_LIBRARY_PATH", "")
    reads.unlink(missing_ok=True)
    ran(args.fimbria, [*words, "--device", "opencl:0"], data / "kept",
        dict(os.environ, LD_LIBRARY_PATH=f"{data / 'opencl'}:{libraries}", FAILING_OPENCL_READS=str(reads)))
    best = None
    for _ in range(args.times + 1):
        shutil.rmtree(calls, ignore_errors=True)
        calls.mkdir()
        ran(args.fimbria, [*words, "--device", "gpu:0"], data / "again",
            dict(os.environ, LD_LIBRARY_PATH=f"{data / 'driver'}:{nvrtc()}:{libraries}", NULL_GPU_LOG=str(calls),
                 NULL_GPU_READS=str(reads), XDG_CACHE_HOME=str(data / "kernels")))
        if not filecmp.cmp(data / "kept" / compared, data / "again" / compared, shallow=False):
            sys.exit(f"{name}: {compared} differs between the devices: another course was taken")
        found = told(next(calls.glob("*.calls")))
        if best is None or found[2] < best[2]:
            best = found
    launches, waits, seconds, copies, (up, down) = best
    print(f"{name:8}{launches:10}{waits:8}{1e3 * seconds:10.2f}{1e6 * seconds / launches:11.1f}"
          f"{1e6 * (seconds - copies) / launches:11.1f}{up:9.2f}{down:9.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--folder", type=Path, required=True, help="data, kernels and the drivers; kept")
    parser.add_argument("--size", default="48,58,45", help="voxels of the phantom")
    parser.add_argument("--streamlines", type=int, default=50000)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=2, help="runs on the card that does nothing, of which the least counts")
    parser.add_argument("--only", help="names of jobs")
    args = parser.parse_args()
    data = args.folder.resolve()
    for folder, library, source in (("driver", "libcuda.so.1", "null_gpu.c"), ("opencl", "libOpenCL.so.1", "failing_opencl.c")):
        (data / folder).mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", data / folder / library, STAND_IN / source, "-ldl"], check=True)
    made(args.fimbria, data, args)
    print(f"{'job':8}{'launches':>10}{'waits':>8}{'ms':>10}{'us/launch':>11}{'no copies':>11}{'MB up':>9}{'MB down':>9}")
    for name, (line, compared) in jobs(data, args.iterations).items():
        if args.only is None or name in args.only.split(","):
            measured(name, line, compared, args, data)


if __name__ == "__main__":
    main()
