#!/usr/bin/env python3
"""The maps of a study in one pass beside its models as single commands: minutes, processor time, memory, bytes.

    python3 benches/one_pass.py target/release/fimbria [--voxel 1.25] [--shells 1000:90,2000:90,3000:90] [--threads 2]

The head of `fimbria phantom head`; the models are those of `--preset hbcd` and NODDI. Both sides read the same .nii.gz
and its mask, and may take the memory of --memory. The table is Markdown.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

# Folders of the preset with the single commands that make the same maps.
MODELS = {
    "dti_b1200": ["dti", "--bmax", "1200"],
    "dti_b4000": ["dti", "--bmax", "4000"],
    "dki": ["dki"],
    "mapmri": ["mapmri", "--order", "4", "--axes-bmax", "1200"],
    "gqi": ["gqi"],
    "noddi": ["noddi"],
}


def measured(command: list[str]) -> tuple[float, float, float]:
    """Minutes, minutes of the processor and GB of a command."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} ended with {status}")
    return (time.monotonic() - start) / 60, (used.ru_utime + used.ru_stime) / 60, used.ru_maxrss * 1024 / 1e9


def images(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.nii")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fimbria")
    parser.add_argument("--voxel", type=float, default=1.25)
    parser.add_argument("--shells", default="1000:90,2000:90,3000:90")
    parser.add_argument("--b0s", type=int, default=18)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="8G")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder)
        head = [args.fimbria, "phantom", "head", "--voxel", args.voxel, "--b0s", args.b0s, "--shells", args.shells]
        subprocess.run([str(word) for word in [*head, "-o", to / "head", "--quiet"]], check=True)
        dwi = to / "head/dwi.nii.gz"
        usual = ["--mask", to / "head/mask.nii.gz", "--threads", args.threads, "--memory", args.memory, "--device", "cpu"]
        usual += ["--format", "nii", "--quiet", "--force"]
        print("| | minutes | of the processor | GB |\n|---|---|---|---|", flush=True)
        one = measured([args.fimbria, "maps", dwi, "--preset", "hbcd", "--models", "noddi", "-o", to / "all", *usual])
        print("| one pass | {:.1f} | {:.1f} | {:.1f} |".format(*one), flush=True)
        single = []
        for name, model in MODELS.items():
            out = to / "single"
            single.append(measured([args.fimbria, "fit", model[0], dwi, *model[1:], "-o", out, *usual]))
            same = images(out) == images(to / "all" / name)
            print("| `fit {}` | {:.1f} | {:.1f} | {:.1f} |".format(" ".join(model), *single[-1]), end="", flush=True)
            print("" if same else " other bytes", flush=True)
            subprocess.run(["rm", "-r", str(out)], check=True)
        minutes, processor, memory = zip(*single, strict=True)
        print(f"| six commands | {sum(minutes):.1f} | {sum(processor):.1f} | {max(memory):.1f} |")


if __name__ == "__main__":
    main()
