"""Runs the program on damaged files, hostile geometry and hostile options, at random.

    python3 fuzz/driver.py target/release/fimbria --runs 20000 [--seed 1] [--jobs 2]

Small valid inputs are made by the program itself. Each run takes a command, damages one of its inputs or
puts another value to one of its options, and must end with 0, 1 or 2 within ten seconds of work (two
minutes where it waits: the machine may be busy), or, where an option asks for more work, with 130 when it
is told to stop; without a panic, an abort or an escape sequence; with one error where it failed; and with
nothing left of a failed output. What does not is kept in fuzz/artifacts/ with its command line, and makes
the exit code 1. The same seed makes the same runs.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS_OF_WORK = 10
SECONDS = 120

# What makes the inputs, in order.
MAKE = [
    "phantom crossing --size 14,12,6 --voxel 12 --format nii -o head",
    "phantom gre --size 14,12,6 --voxel 12 --format nii -o gre",
    "phantom tensors --format nii -o sheet",
    "convert head/dwi.nii -o dwi.mif",
    "convert head/dwi.nii -o dwi.nii.gz",
    "fit dti head/dwi.nii --mask head/mask.nii -o dti --format nii",
    "fit hot head/dwi.nii --mask head/mask.nii -o hot --format nii",
    "fit fod head/dwi.nii --mask head/mask.nii --order 4 -o fod --format nii",
    "peaks hot/hot.nii --mask head/mask.nii -o peaks --format nii",
    "sticks head/dwi.nii --mask head/mask.nii --fibres 1 --burn-in 20 --jumps 50 -o bpx",
    "track peaks/peaks.nii --seeds head/mask.nii -o tracks",
    "convert tracks/tracks.trx -o tracks.tck",
    "convert tracks/tracks.trx -o tracks.trk",
    "field gre/phase.nii --magnitude gre/magnitude.nii --mask gre/mask.nii -o field --format nii",
    "phantom crossing --size 8,8,4 --voxel 20 --shells 60:6,120:6,500:6,1000:6,2000:6 --b0s 1 --format nii -o curves",
    "phantom head --voxel 12 --format nii --shells 1000:8 --b0s 1 --samples 2 --bids 1 -o study",
]

# Written before them: six directions that every shell has, a tensor, directions of streamlines.
DIRECTIONS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0.6, 0, 0.8), (0, 0.6, 0.8)]
TEXTS = {
    "curves.bvec": "\n".join(" ".join(["0", *[str(d[a]) for d in DIRECTIONS] * 5]) for a in range(3)),
    "tensors.json": '{"order": 4, "dimension": 3, "tensors": [[1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 3, 0, 1, 0, 2]]}',
    "directions.txt": "1 0 0\n0 1 0\n0 0 1\n0.6 0.8 0\n",
}
CURVES = "curves/dwi.nii --bval curves/dwi.bval --bvec curves.bvec --mask curves/mask.nii -o out"

# Command lines; words that are files may be damaged, values of options may be replaced.
COMMANDS = [
    "info head/dwi.nii",
    "info dwi.mif",
    "info tracks.tck",
    "info tracks.trk",
    "info tracks/tracks.trx",
    "fit dti head/dwi.nii --mask head/mask.nii --bval head/dwi.bval --bvec head/dwi.bvec --b0-threshold 50 -o out",
    "fit dti dwi.mif --method iwls -o out",
    "fit dti dwi.nii.gz --bval head/dwi.bval --bvec head/dwi.bvec --mask head/mask.nii --memory 200M -o out",
    "fit dki head/dwi.nii --mask head/mask.nii --bval head/dwi.bval --bvec head/dwi.bvec -o out",
    "fit hot head/dwi.nii --mask head/mask.nii --order 4 -o out",
    "fit fod head/dwi.nii --mask head/mask.nii --order 4 --regularisation 0.01 -o out",
    "fit mono head/dwi.nii --mask head/mask.nii -o out",
    "fit msdki head/dwi.nii --mask head/mask.nii -o out",
    "fit noddi head/dwi.nii --mask head/mask.nii -o out",
    "fit fwdti head/dwi.nii --mask head/mask.nii -o out",
    "fit axdki head/dwi.nii --mask head/mask.nii -o out",
    "fit smt head/dwi.nii --mask head/mask.nii --compartments two -o out",
    "fit gqi head/dwi.nii --mask head/mask.nii --weighting squared -o out",
    "fit mapmri head/dwi.nii --mask head/mask.nii --order 4 --positive --laplacian gcv -o out",
    "fit dkimicro head/dwi.nii --mask head/mask.nii -o out",
    "fit dti,mono head/dwi.nii --mask head/mask.nii -o out",
    "fit ivim curves/dwi.nii --mask curves/mask.nii -o out",
    "fit stremi curves/dwi.nii --mask curves/mask.nii --bmax 3000 -o out",
    f"fit dki1d {CURVES}",
    f"fit stremi1d {CURVES}",
    "fit expr head/dwi.nii --mask head/mask.nii --model S0*exp(-b*D) --param S0=1000 --param D=1,0,5 -o out",
    "eigen tensors.json -o out",
    "peaks hot/hot.nii --mask head/mask.nii --number 3 --threshold 0.1 --separation 25 -o out",
    "peaks fod/fod.nii --sh-basis mrtrix --mask head/mask.nii -o out",
    "sticks head/dwi.nii --mask head/mask.nii --fibres 1 --burn-in 10 --jumps 20 --sample-every 5 -o out",
    "track bpx --seeds head/mask.nii --samples 2 --step 3 --angle 60 --max-length 100 -o out",
    "track peaks/peaks.nii --seeds head/mask.nii --samples 1 --step 3 -o out",
    "track fod/fod.nii --sh-basis mrtrix --seeds head/mask.nii --samples 1 --step 3 --max-length 60 -o out",
    "probtrackx2 -s bpx/merged -m bpx/nodif_brain_mask -x head/mask.nii --opd -P 2 -S 20 --steplength=3 --dir=out",
    "connectome tracks.tck head/mask.nii --radius 4 -o out",
    "connectome tracks/tracks.trx head/mask.nii -o out",
    "life tracks.trk --dwi head/dwi.nii --mask head/mask.nii --max-iterations 5 -o out",
    "life tracks.tck --dwi head/dwi.nii --labels head/mask.nii --max-iterations 3 -o out",
    "life tracks.trk --dwi head/dwi.nii --mask head/mask.nii --directions directions.txt --max-iterations 2 -o out",
    "sift2 tracks.tck fod/fod.nii --iterations 3 -o out",
    "compare dti/FA.nii dti/MD.nii --threshold 0 -o out -- dti/AD.nii dti/RD.nii",
    "bids study out participant --device cpu --mem 4G",
    "field gre/phase.nii --magnitude gre/magnitude.nii --mask gre/mask.nii --radius 20 -o out",
    "field gre/phase.nii --mask gre/mask.nii --background pdf -o out",
    "qsm field/local_field.nii --mask gre/mask.nii --method tkd --strength 0.15 -o out",
    "qsm field/local_field.nii --mask gre/mask.nii --method tv --strength 0.001 -o out",
    "qsm field/local_field.nii --mask gre/mask.nii --dti dti --method dqsm --iterations 2 -o out",
    "qsm field/local_field.nii --mask field/mask.nii --weights field/weights.nii --dti dti --resample -o out",
    "convert head/dwi.nii -o out.mif",
    "convert dwi.mif -o out.nii.gz",
    "convert tracks.tck --reference head/dwi.nii -o out.trx",
    "convert tracks.trk -o out.tck",
    "convert tracks/tracks.trx -o out.trk",
    "phantom crossing --size 10,10,4 --voxel 12 --snr 30 -o out",
    "phantom tensors --size 8,8 -o out",
    "report dti -o out.html",
    "run head/dwi.nii --mask head/mask.nii --set run.fits=[] -o out",
]

WORDS = ["nan", "inf", "-1", "0", "1e308", "-1e308", "1e-308", "9e15", "1e5", "18446744073709551616", "65536",
         "", "x", "0.5", "1,2", "-0", "../x", "/dev/zero", "\x1b[31m", "é"]
NUMBERS = [float("nan"), float("inf"), 0.0, -1.0, 1e-30, 1e30, 1e-3, 1000.0, 3.4e38, -0.0]


def with_damage(whole: bytes, name: str, chance: random.Random) -> bytes:
    """The bytes of a file with one to three damages, some of them where they hurt."""
    bytes_ = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(max(1, min(len(bytes_), chance.choice([64, 400, 1 << 30]))))
        kind = chance.randrange(7)
        if name.endswith(".nii") and kind >= 5 and len(bytes_) > 352:
            if chance.random() < 0.6:  # geometry, scaling, offsets: the header's floats
                place = chance.choice([*range(76, 124, 4), *range(256, 328, 4)])
                struct.pack_into("<f", bytes_, place, chance.choice(NUMBERS))
            else:  # dimensions, type, codes
                place = chance.choice([*range(40, 56, 2), 70, 72, 252, 254])
                struct.pack_into("<h", bytes_, place, chance.choice([0, -1, 1, 2, 3, 16, 64, 512, 32767]))
        elif kind == 0:
            bytes_[at:at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            bytes_[at:at + chance.randint(1, 8)] = chance.choice(WORDS).encode()
        elif kind == 2:
            del bytes_[at:at + chance.randint(1, 32)]
        elif kind == 3:
            bytes_[at:at] = bytes_[at:at + 16]
        elif kind == 4:
            del bytes_[at:]
        else:
            bytes_[at:at + 4] = struct.pack("<f", chance.choice(NUMBERS))
    return bytes(bytes_)


def ended(child: subprocess.Popen, seconds_of_work: float) -> str:
    """The exit code, or "hang" where it works longer, or for minutes not at all."""
    begun = time.monotonic()
    while (code := child.poll()) is None:
        worked = 0.0
        try:
            fields = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
            worked = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has just ended, or the system has no such file
            pass
        if worked > seconds_of_work or time.monotonic() - begun > SECONDS:
            return "hang"
        time.sleep(0.005)
    return str(code)


def one_run(program: Path, inputs: Path, seed: int) -> tuple[str, str, str | None]:
    """Runs one command with one thing wrong; returns it, how it ended, and what was wrong with that."""
    chance = random.Random(seed)
    line = chance.choice(COMMANDS)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "in"
        shutil.copytree(inputs, folder, copy_function=os.link)  # nothing writes to inputs
        words = line.split()
        files = [w for w in words if (folder / w).exists()]
        values = [i for i, w in enumerate(words) if i and words[i - 1].startswith("--") and not (folder / w).exists()]
        option = None
        if values and (not files or chance.random() < 0.25):
            option = chance.choice(values)
            words[option] = chance.choice(WORDS)
        else:
            path = folder / chance.choice(files)
            if path.is_dir():
                path = chance.choice(sorted(p for p in path.rglob("*") if p.is_file()))
            damaged = with_damage(path.read_bytes(), path.name, chance)
            path.unlink()
            path.write_bytes(damaged)
        before = set(folder.rglob("*"))
        if words[0] not in ("info", "convert", "probtrackx2"):
            end = words.index("--") if "--" in words else len(words)
            words[end:end] = ["--threads", "2"]
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen([program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
            end = ended(child, SECONDS_OF_WORK)
            if end == "hang" and option is not None:
                # So much was asked for: it stops when it is told to.
                child.send_signal(signal.SIGINT)
                end = ended(child, 2 * SECONDS_OF_WORK)
            if end == "hang":
                child.kill()
                child.wait()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        left = sorted(str(p.relative_to(folder)) for p in set(folder.rglob("*")) - before)
        if words[0] == "bids":  # the data set stays, for the subjects that a next run can finish
            left = [name for name in left if ".unfinished" in name]
        wrong = None
        if end not in ("0", "1", "2") and not (end == "130" and option is not None):
            wrong = f"ended with {end}"
        elif "panicked" in said or "\x1b" in said:
            wrong = "panicked or commands the terminal"
        elif end == "1" and not said.strip():
            wrong = "failed without a word"
        elif end in ("1", "2") and left:
            wrong = f"left {left[:5]}"
        if wrong:
            kept = Path(__file__).parent / "artifacts" / f"driver-{seed}"
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            (kept / "command.txt").write_text(f"{' '.join(words)}\n{wrong}\n{said}")
        return words[0] if words[0] != "fit" else f"fit {words[1]}", end, wrong and f"seed {seed}: `{' '.join(words)}` {wrong}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    program = args.program.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch)
        for name, text in TEXTS.items():
            (inputs / name).write_text(text)
        for line in MAKE:
            made = subprocess.run([program, *line.split()], cwd=inputs, capture_output=True, text=True)
            if made.returncode != 0:
                sys.exit(f"`{line}`: {made.stderr}")
        for line in COMMANDS:  # each is right as it stands
            whole = inputs / "whole"
            shutil.copytree(inputs, whole, ignore=shutil.ignore_patterns("whole"))
            ran = subprocess.run([program, *line.split()], cwd=whole, capture_output=True, text=True)
            if ran.returncode != 0:
                sys.exit(f"undamaged, `{line}`: {ran.stderr}")
            shutil.rmtree(whole)
        ends, faults = collections.Counter(), []
        with ThreadPoolExecutor(args.jobs) as pool:
            seeds = (args.seed * 1_000_000 + n for n in range(args.runs))
            runs = pool.map(lambda seed: one_run(program, inputs, seed), seeds)
            for n, (command, end, wrong) in enumerate(runs, 1):
                ends[command, end] += 1
                if n % 1000 == 0:
                    print(f"{n} runs, {len(faults)} faults", file=sys.stderr, flush=True)
                if wrong:
                    faults.append(wrong)
                    print(wrong, flush=True)
        for (command, end), count in sorted(ends.items()):
            print(f"{command:14} {end:>5} {count:6}")
        print(f"{args.runs} runs, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
