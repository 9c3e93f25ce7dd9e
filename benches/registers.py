#!/usr/bin/env python3
"""Registers, spills and occupancy of the kernels that real jobs make, by NVIDIA's compiler alone: no card.

    python3 benches/registers.py --fimbria target/release/fimbria --folder work --nvrtc FOLDER
        [--only sticks,dti] [--architectures 75,90,100]

Commands run on a card that does nothing (crates/compute/tests/stand_in/null_gpu.c) with an NVRTC that only keeps the
texts (kernel_texts.c); then a real NVRTC, of the wheel nvidia-cuda-nvrtc 13 in FOLDER, compiles each text for each
architecture and says what ptxas made of it.

Columns: the job and its number of volumes, the kernel, items of a group; for each architecture registers, bytes
spilled (stores and loads), bytes of stack, and the share of the card's resident threads that registers, shared memory
and groups leave (occupancy). The stack holds spills and arrays that are indexed at run time.
"""

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAND_INS = HERE.parent / "crates/compute/tests/stand_in"
# Threads and groups resident at most, and shared memory, of a multiprocessor.
MULTIPROCESSORS = {75: (1024, 16, 64 << 10), 90: (2048, 32, 228 << 10), 100: (2048, 32, 228 << 10)}
REGISTERS = 65536
# Items of a group where the kernel does not say: what Launch::items takes.
USUAL_GROUP = 128
# What guides a method, of the phantom of gradient echoes.
GUIDED = {method: "--v1 {0}/gre/truth/fibre.nii" for method in ("dqsm", "tensor", "dtv")}
GUIDED["medi"] = "--magnitude {0}/gre/truth/local_field.nii"
GUIDED["ndi"] = "--te 20 --b0 3"
VOLUMES = (65, 97, 145, 193, 289, 513, 1001)


def series(data, volumes):
    """A few voxels of a series with so many volumes, of which one in sixteen is without weighting, the others in
    shells that every fit has enough of."""
    b0s = max(1, volumes // 16)
    few, rest = divmod(volumes - b0s, 5)
    shells = ",".join(f"{b}:{few + (rest if b == 3000 else 0)}" for b in (100, 400, 1000, 2000, 3000))
    return data / f"series-{volumes}", f"--b0s {b0s} --shells {shells}"


def jobs(data):
    """Name, volumes, the words of the command."""
    short = "--burn-in 1 --jumps 25"
    for volumes in VOLUMES:
        folder, _ = series(data, volumes)
        of = f"{folder}/dwi.nii --mask {folder}/mask.nii"
        yield "sticks, 3 fibres", volumes, f"sticks {of} --fibres 3 {short}"
        yield "sticks, 2, model 2", volumes, f"sticks {of} --fibres 2 --model 2 {short}"
        yield "sticks, 3, Rician", volumes, f"sticks {of} --fibres 3 --noise rician {short}"
        if volumes <= 289:
            yield "dti", volumes, f"fit dti {of}"
            yield "dti, iwls", volumes, f"fit dti {of} --method iwls"
            yield "hot 6", volumes, f"fit hot {of} --order 6"
            yield "dki", volumes, f"fit dki {of} --unconstrained"
            yield "ivim", volumes, f"fit ivim {of}"
            yield "mono", volumes, f"fit mono {of}"
            yield "stremi", volumes, f"fit stremi {of}"
            yield "fod 8", volumes, f"fit fod {of} --order 8"
            yield "life", volumes, f"life {data}/tracks/tracks.trx --dwi {folder}/dwi.nii --max-iterations 4"
    folder, _ = series(data, 65)
    mask, gre = f"{folder}/mask.nii", f"{data}/gre/truth/local_field.nii --mask {data}/gre/mask.nii"
    yield "peaks of fod 8", 0, f"peaks {data}/fod/fod.nii --mask {mask}"
    for order in (4, 6):
        yield f"eigen of order {order}", 0, f"eigen {data}/hot-{order}/hot.nii --mask {mask} --precision single"
    yield "track, peaks", 0, f"track {data}/peaks/peaks.nii --seeds {mask} -n 1"
    yield "track, fod", 0, f"track {data}/fod/fod.nii --seeds {mask} -n 1"
    yield "track, maxima", 0, f"track {data}/fod/fod.nii --seeds {mask} -n 1 --algorithm deterministic"
    yield "probtrackx2", 0, f"probtrackx2 -s {data}/sticks/merged -m {mask} -x {mask} -P 2"
    for method in ("dqsm", "tensor", "tv", "dtv", "tgv", "medi", "ndi", "ilsqr"):
        yield f"qsm {method}", 0, f"qsm {gre} --method {method} --iterations 2 {GUIDED.get(method, '').format(data)}"
    yield "qsm rts", 0, f"qsm {gre} --method rts"


def made(fimbria, data):
    for volumes in VOLUMES:
        folder, shells = series(data, volumes)
        if not (folder / "run.json").exists():
            line = f"phantom crossing --size 16,18,14 --voxel 10 {shells} --format nii -q"
            subprocess.run([fimbria, *line.split(), "-o", folder], check=True)
    folder, _ = series(data, 65)
    of = f"{folder}/dwi.nii --mask {folder}/mask.nii --device cpu"
    few = "--fibres 1 --burn-in 5 --jumps 10 --sample-every 5"
    # What the jobs begin with.
    for name, line in (
        ("fod", f"fit fod {of} --order 8 --format nii"),
        ("hot-4", f"fit hot {of} --order 4 --format nii"),
        ("hot-6", f"fit hot {of} --order 6 --format nii"),
        ("peaks", f"peaks {data}/fod/fod.nii --mask {folder}/mask.nii --device cpu --format nii"),
        ("tracks", f"track {data}/peaks/peaks.nii --seeds {folder}/mask.nii -n 1 --device cpu"),
        ("sticks", f"sticks {of} {few}"),
        ("gre", "phantom gre --size 12,14,11 --voxel 14 --format nii"),
    ):
        if not (data / name / "run.json").exists():
            subprocess.run([fimbria, *line.split(), "-q", "-o", data / name], check=True)


def texts(fimbria, words, data):
    """The texts of the kernels that a command asks for."""
    kept = data / "texts"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.rmtree(data / "out", ignore_errors=True)
    kept.mkdir()
    # No cache: what is compiled already would not be asked for.
    under = dict(os.environ, LD_LIBRARY_PATH=str(data / "driver"), XDG_CACHE_HOME=str(data / "no-cache"),
                 KERNEL_TEXTS=str(kept))
    shutil.rmtree(data / "no-cache", ignore_errors=True)
    to = {"probtrackx2": [f"--dir={data}/out"], "eigen": ["--force", "-o", data / "pairs.json"]}.get(words[0], ["-o", data / "out"])
    ran = subprocess.run([fimbria, *words, "--device", "gpu:0", "-q", *to], env=under,
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        print(f"{' '.join(map(str, words))}: {ran.stderr.strip()}", file=sys.stderr)
    return sorted({path.read_text() for path in kept.glob("*.cu")})


class Compiler:
    """NVRTC by its C interface."""

    def __init__(self, folder):
        for builtins in folder.glob("libnvrtc-builtins.so*"):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(next(folder.glob("libnvrtc.so*"))))

    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def log(self, text, architecture):
        """What ptxas says of a text."""
        program = ctypes.c_void_p()
        given = [f"--gpu-architecture=sm_{architecture}", "--fmad=false", "--std=c++17", "--ptxas-options=-v"]
        options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        create, compile_ = self.library.nvrtcCreateProgram, self.library.nvrtcCompileProgram
        if create(ctypes.byref(program), text.encode(), b"fimbria.cu", 0, None, None) != 0:
            sys.exit("NVRTC makes no program")
        failed = compile_(program, len(given), options)
        size = ctypes.c_size_t()
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            sys.exit(log.value.decode())
        return log.value.decode()


def kernels(log):
    """Name: registers, stores, loads, stack and shared memory in bytes."""
    found = {}
    for part in re.split(r"Compiling entry function '", log)[1:]:
        def number(pattern):
            match = re.search(pattern, part)
            return int(match.group(1)) if match else 0
        found[part[:part.index("'")]] = (
            number(r"Used (\d+) registers"), number(r"(\d+) bytes spill stores"), number(r"(\d+) bytes spill loads"),
            number(r"(\d+) bytes stack frame"), number(r"(\d+) bytes smem"))
    return found


def group_of(text, kernel):
    """Items of a group, of a kernel that says it."""
    match = re.search(r"GROUP_KERNEL\(" + kernel + r",\s*(\w+)\)", text)
    if not match:
        return USUAL_GROUP
    named = match.group(1)
    while not named.isdigit():
        named = re.search(rf"#define {named}\s+\(?(\d+|\w+)", text).group(1).rstrip("u")
    return int(named)


def occupancy(architecture, registers, shared, group):
    threads, most_groups, memory = MULTIPROCESSORS[architecture]
    warps = -(-group // 32)
    # Registers are given to warps 256 at a time; newer cards keep 1 KB of a group's memory to themselves.
    of_warp = -(-registers * 32 // 256) * 256
    by_registers = REGISTERS // of_warp // warps
    by_memory = memory // max(shared + (1024 if architecture >= 80 else 0), 1)
    return min(by_registers, by_memory, most_groups, threads // (32 * warps)) * warps * 32 / threads


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--folder", type=Path, required=True, help="data and the driver; kept")
    parser.add_argument("--nvrtc", type=Path, required=True, help="the folder of libnvrtc.so.13")
    parser.add_argument("--architectures", default="75,90,100")
    parser.add_argument("--only", help="words that names of jobs begin with")
    args = parser.parse_args()
    data = args.folder.resolve()
    (data / "driver").mkdir(parents=True, exist_ok=True)
    for source, library in (("null_gpu.c", "libcuda.so.1"), ("kernel_texts.c", "libnvrtc.so")):
        built = ["cc", "-O2", "-shared", "-fPIC", "-o", data / "driver" / library, STAND_INS / source]
        subprocess.run(built, check=True)
    made(args.fimbria, data)
    compiler = Compiler(args.nvrtc)
    architectures = [int(a) for a in args.architectures.split(",")]
    print(f"NVRTC and ptxas {compiler.version()}; registers, spilled stores/loads, stack, occupancy\n")
    print(f"{'job':20}{'volumes':>8}  {'kernel':20}{'group':>6}" + "".join(f"{f'sm_{a}':>30}" for a in architectures))
    for job, volumes, line in jobs(data):
        if args.only and not any(job.startswith(word) for word in args.only.split(",")):
            continue
        for text in texts(args.fimbria, line.split(), data):
            of = {a: kernels(compiler.log(text, a)) for a in architectures}
            for kernel in of[architectures[0]]:
                group = group_of(text, kernel)
                row = f"{job:20}{volumes:8}  {kernel:20}{group:6}"
                for a in architectures:
                    registers, stores, loads, stack, shared = of[a][kernel]
                    share = occupancy(a, registers, shared, group)
                    spilled = f"{stores}/{loads}"
                    row += f"{registers:10}{spilled:>10}{stack:5}{share:5.0%}"
                print(row, flush=True)


if __name__ == "__main__":
    main()
