#!/usr/bin/env python3
"""The host's share of commands on a card that does nothing, beside the same stage on threads.

    python3 benches/null_gpu.py --fimbria target/release/fimbria --folder work [--size 72,84,62]
        [--protocol 48,56,40] [--few 18,20,16] [--threads 2] [--times 3] [--only dti,peaks]

A driver whose kernels do nothing (crates/compute/tests/stand_in/null_gpu.c) and a real NVRTC, of the system or of
the wheel nvidia-cuda-nvrtc: what is left of the stage's time is the host's, and no card can make it less. Both
are run in turn, after one run that compiles kernels, which are kept; the least of each is shown. Cores may be
shared: processor seconds of the whole command, reading and writing included, stand beside.

Columns: seconds of the stage on threads and under the null GPU, and their quotient, the host's share; processor
seconds of both commands; chunks; then what the card was asked: how often for memory, and the seconds of all uploads,
of all downloads, and of memory taken, given back, cleared and locked, which of the two chunks in hand may pass side by side.
A job is only shown where every chunk ran on the device, by its record, and kernels were launched, by the driver's log.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHELL, SHELLS, PROTOCOL, FEW = ("shell", "shells", "protocol", "few")


def jobs(data):
    """Name: the stage in the record, the command."""
    series = {name: f"{data}/{name}/dwi.nii --mask {data}/{name}/mask.nii" for name in (SHELL, SHELLS, PROTOCOL, FEW)}
    return {
        "dti": ("dti", f"fit dti {series[SHELL]}"),
        "hot": ("hot", f"fit hot {series[SHELL]}"),
        "mono": ("mono", f"fit mono {series[SHELL]}"),
        "dki": ("dki", f"fit dki {series[SHELLS]} --unconstrained"),
        "fod": ("fod", f"fit fod {series[SHELLS]} --response {data}/response/response.txt "
                f"--response-gm {data}/response/response_gm.txt --response-csf {data}/response/response_csf.txt"),
        "dki1d": ("dki1d", f"fit dki1d {series[PROTOCOL]}"),
        "stremi": ("stremi", f"fit stremi {series[PROTOCOL]}"),
        "ivim": ("ivim", f"fit ivim {series[PROTOCOL]}"),
        "peaks": ("peaks", f"peaks {data}/hot/hot.nii --mask {data}/shell/mask.nii"),
        "sticks": ("sticks", f"sticks {series[FEW]}"),
        "track": ("track", f"track {data}/peaks/peaks.nii --dispersion 10 --seeds {data}/shell/mask.nii -n 4 --tracks none"),
    }


def made(fimbria, data, args):
    """The data, what is there already kept."""
    phantoms = {
        SHELL: f"phantom crossing --size {args.size} --b0s 6 --shells 1000:64",
        SHELLS: f"phantom crossing --size {args.size} --b0s 6 --shells 1000:32,2000:32",
        PROTOCOL: f"phantom protocol --size {args.protocol}",
        FEW: f"phantom crossing --size {args.few} --b0s 6 --shells 1000:90",
        "hot": f"fit hot {data}/shell/dwi.nii --mask {data}/shell/mask.nii --device cpu",
        "peaks": f"peaks {data}/hot/hot.nii --mask {data}/shell/mask.nii --device cpu",
        "response": f"fit fod {data}/shells/dwi.nii --mask {data}/shells/mask.nii --device cpu",
    }
    for name, line in phantoms.items():
        if not (data / name / "run.json").exists():
            extent = {SHELL: args.size, SHELLS: args.size, PROTOCOL: args.protocol, FEW: args.few}.get(name)
            # A head of 188 mm, whatever its voxels.
            voxel = [] if extent is None else ["--voxel", f"{188 / int(extent.split(',')[1]):.3f}"]
            subprocess.run([fimbria, *line.split(), *voxel, "--format", "nii", "-q", "-o", data / name], check=True)


def nvrtc():
    """The folder of the wheel's NVRTC; none where there is no wheel."""
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            module = __import__(package, fromlist=["__path__"])
        except ImportError:
            continue
        return str(Path(next(iter(module.__path__))) / "lib")
    return ""


def ran(fimbria, words, out, environment):
    """The record of a command, and its processor seconds."""
    shutil.rmtree(out, ignore_errors=True)
    child = subprocess.Popen([fimbria, *words, "-q", "-o", out], env=environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, words))}: {said}")
    if any(text in said for text in ("Null GPU", "no kernel does this", "the threads do")):
        sys.exit(f"{' '.join(map(str, words))} left the device: {said}")
    return json.loads((out / "run.json").read_text()), usage.ru_utime + usage.ru_stime


def stage_of(record, name):
    return next(stage for stage in record["stages"] if stage["name"] == name)


def parts(log):
    """Seconds of the calls by kind, and how many allocations and launches there were."""
    seconds = dict.fromkeys(("upload", "download", "memory"), 0.0)
    kinds = {"upload": "upload", "download": "download",
             "allocate": "memory", "free": "memory", "set": "memory", "copy": "memory", "lock": "memory", "unlock": "memory"}
    counts = dict.fromkeys(("allocate", "launch"), 0)
    for line in log.read_text().splitlines():
        _, _, what, _, took, _ = line.split()
        if what in kinds:
            seconds[kinds[what]] += float(took)
        if what in counts:
            counts[what] += 1
    return seconds, counts["allocate"], counts["launch"]


def measured(name, stage, line, args, data):
    """The least of several runs of each."""
    # Samples and visits are compressed, whatever is asked for.
    style = [] if name in ("sticks", "track") else ["--format", "nii"]
    words = [*line.split(), *style, "--threads", str(args.threads)]
    plain = dict(os.environ)
    libraries = f"{data / 'driver'}:{nvrtc()}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    calls = data / "calls"
    under = dict(plain, LD_LIBRARY_PATH=libraries, XDG_CACHE_HOME=str(data / "kernels"), NULL_GPU_LOG=str(calls))
    best = {}
    for time in range(args.times + 1):
        record, cpu = ran(args.fimbria, [*words, "--device", "cpu"], data / "out", plain)
        shutil.rmtree(calls, ignore_errors=True)
        calls.mkdir()
        on_device, device_cpu = ran(args.fimbria, [*words, "--device", "gpu:0"], data / "out", under)
        found = stage_of(on_device, stage)
        counts = found["counts"]
        spent, allocations, launches = parts(next(calls.glob("*.calls")))
        # The record of tracking does not say who made a launch; each is counted by a second one.
        chunks = launches // 2 if name == "track" else counts.get("chunks_on_Null GPU", 0)
        if counts.get("chunks_on_cpu", 0) != 0 or chunks < 1:
            sys.exit(f"{name}: not all chunks ran on the device: {counts}")
        if launches < chunks:
            sys.exit(f"{name}: {launches} launches for {chunks} chunks")
        # The first compiles.
        if time == 0:
            continue
        seconds = stage_of(record, stage)["seconds"]
        if "cpu" not in best or seconds < best["cpu"][0]:
            best["cpu"] = (seconds, cpu)
        if "null" not in best or found["seconds"] < best["null"][0]:
            best["null"] = (found["seconds"], device_cpu, spent, allocations, chunks)
    n_voxels = next((s["counts"]["voxels"] for s in record["stages"] if "voxels" in s["counts"]), 0)
    (cpu, cpu_cpu), (null, null_cpu, spent, allocations, chunks) = best["cpu"], best["null"]
    told = [spent["upload"], spent["download"], spent["memory"]]
    print(f"{name:8}{n_voxels:9}{cpu:9.3f}{null:9.3f}{null / cpu:8.2f}{cpu_cpu:8.2f}{null_cpu:8.2f}{chunks:8}{allocations:8}"
          + "".join(f"{s:9.3f}" for s in told), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--folder", type=Path, required=True, help="data, kernels and the driver; kept")
    parser.add_argument("--size", default="72,84,62", help="voxels of the series with shells")
    parser.add_argument("--protocol", default="48,56,40", help="voxels of the series with many b")
    parser.add_argument("--few", default="18,20,16", help="voxels of the series for sticks")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="names of jobs")
    args = parser.parse_args()
    data = args.folder.resolve()
    (data / "driver").mkdir(parents=True, exist_ok=True)
    source = HERE.parent / "crates/compute/tests/stand_in/null_gpu.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", data / "driver/libcuda.so.1", source], check=True)
    made(args.fimbria, data, args)
    print(f"{'job':8}{'voxels':>9}{'stage s':>9}{'null s':>9}{'share':>8}{'CPU s':>8}{'null':>8}{'chunks':>8}{'allocs':>8}"
          + "".join(f"{name:>9}" for name in ("upload", "download", "memory")))
    for name, (stage, line) in jobs(data).items():
        if args.only is None or name in args.only.split(","):
            measured(name, stage, line, args, data)


if __name__ == "__main__":
    main()
