"""What every command computes on the reference data, as a digest a file: for changes that must
change nothing.

    python3 benches/digests.py --fimbria target/release/fimbria REFDATA > before.txt
    ... change ...
    python3 benches/digests.py --fimbria target/release/fimbria REFDATA > after.txt
    diff before.txt after.txt

Maps, tables and tractograms count; records and pages, which hold times, do not. Compressed images
are inflated first, so that another compressor changes nothing. Commands that fail are listed with
the error, since that is what a user gets, too.
"""

import argparse
import gzip
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

HUMAN = "dwi_real/human_b1k_b2k"
B6K = "dwi_real/human_b6k"
SLICE = "dwi_real/kurtosis_slice"
SMALL = "dwi_real/dipy_small"

# Name of the output, command line; {r} is the reference data, other words are relative to the outputs.
COMMANDS = [
    ("info", "info {r}/brain/dwi.nii.gz"),
    ("dti", "fit dti {r}/brain/dwi.nii.gz --mask {r}/brain/mask.nii.gz -o dti"),
    ("dti-real", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --mask {{r}}/{HUMAN}/mask.nii.gz -o dti-real"),
    ("dti-detpos", f"fit dti {{r}}/{HUMAN}_detpos/dwi.nii.gz -o dti-detpos"),
    ("dti-fsl", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --compat fsl --layout fsl -o dti-fsl"),
    ("dti-mrtrix", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --compat mrtrix --layout mrtrix -o dti-mrtrix"),
    ("dti-dipy", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --compat dipy --layout bids -o dti-dipy"),
    ("dti-nlls", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --method nlls -o dti-nlls"),
    ("dti-restore", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --method restore -o dti-restore"),
    ("dti-double", f"fit dti {{r}}/{HUMAN}/dwi.nii.gz --precision double -o dti-double"),
    ("dki", "fit dki {r}/brain/dwi.nii.gz --mask {r}/brain/mask.nii.gz -o dki"),
    ("dki-real", f"fit dki {{r}}/{B6K}/dwi.nii.gz --mask {{r}}/{B6K}/mask.nii.gz -o dki-real"),
    ("dki1d", f"fit dki1d {{r}}/{SLICE}/dwi.nii.gz --mask {{r}}/{SLICE}/mask.nii.gz -o dki1d"),
    ("stremi1d", f"fit stremi1d {{r}}/{SLICE}/dwi.nii.gz --mask {{r}}/{SLICE}/mask.nii.gz -o stremi1d"),
    ("stremi", f"fit stremi {{r}}/{B6K}/dwi.nii.gz --mask {{r}}/{B6K}/mask.nii.gz -o stremi"),
    ("ivim", f"fit ivim {{r}}/{SLICE}/dwi.nii.gz --mask {{r}}/{SLICE}/mask.nii.gz -o ivim"),
    ("mono", f"fit mono {{r}}/{HUMAN}/dwi.nii.gz --mask {{r}}/{HUMAN}/mask.nii.gz -o mono"),
    ("expr", f"fit expr {{r}}/{HUMAN}/dwi.nii.gz --mask {{r}}/{HUMAN}/mask.nii.gz"
             " --model S0*exp(-b*D) --param S0=100,0,1e6 --param D=0.7,0,5 -o expr"),
    ("fod", "fit fod {r}/brain/dwi.nii.gz --mask {r}/brain/wm_mask.nii.gz -o fod"),
    ("hot", "fit hot {r}/brain/dwi.nii.gz --order 6 --mask {r}/brain/mask.nii.gz -o hot"),
    ("peaks", "peaks fod/fod.nii.gz --sh-basis mrtrix --mask {r}/brain/wm_mask.nii.gz -o peaks"),
    ("peaks-hot", "peaks hot/hot.nii.gz --mask {r}/brain/wm_mask.nii.gz -o peaks-hot"),
    ("tensors", "phantom tensors -o tensors"),
    ("sticks", f"sticks {{r}}/{HUMAN}/dwi.nii.gz --mask {{r}}/{HUMAN}/mask.nii.gz -o sticks"),
    ("track-sticks", "track sticks --seeds sticks/nodif_brain_mask.nii.gz -o track-sticks"),
    ("track", "track peaks/peaks.nii.gz --seeds {r}/brain/wm_mask.nii.gz -o track"),
    ("track-fod", "track fod/fod.nii.gz --sh-basis mrtrix --seeds {r}/brain/wm_mask.nii.gz"
                  " --samples 1 -o track-fod"),
    ("life", f"life {{r}}/{SMALL}/tracks300.trk --dwi {{r}}/{SMALL}/small_64D.nii -o life"),
    ("life-small", f"life {{r}}/{SMALL}/EuDX_small_25.trk --dwi {{r}}/{SMALL}/small_25.nii.gz"
                   " --bvec-frame voxel -o life-small"),
    ("connectome", "connectome track/tracks.trx {r}/brain/truth/nfibres.nii.gz -o connectome"),
    ("gre", "phantom gre -o gre"),
    ("field", "field gre/phase.nii.gz --magnitude gre/magnitude.nii.gz -o field"),
    ("qsm", "qsm {r}/brain/qsm/field_local_noisy_ppm.nii.gz --mask {r}/brain/qsm/mask.nii.gz -o qsm"),
    *[(f"qsm-{m}", "qsm {r}/brain/qsm/field_local_noisy_ppm.nii.gz --mask {r}/brain/qsm/mask.nii.gz"
       f" --method {m} -o qsm-{m}") for m in ("tkd", "tikhonov", "tv", "rts")],
    ("qsm-guided", "qsm {r}/brain/qsm/field_local_noisy_ppm.nii.gz --mask {r}/brain/qsm/mask.nii.gz"
                   " --dti dti --iterations 10 -o qsm-guided"),
    ("dqsm", "qsm {r}/dqsm/dx20/deltab.bin --dqsm-files --mask {r}/dqsm/dx20/mask.bin"
             " --v1 {r}/dqsm/dx20/models.bin --compat dqsm --iterations 10 -o dqsm"),
    ("convert-mif", "convert {r}/brain/dwi.nii.gz -o dwi.mif"),
    ("convert-tck", f"convert {{r}}/{SMALL}/tracks300.trk -o tracks.tck"),
    ("phantom", "phantom crossing -o phantom"),
    ("demo", "demo -o demo"),
    ("run", f"run {{r}}/{HUMAN}/dwi.nii.gz --mask {{r}}/{HUMAN}/mask.nii.gz -o run"),
    ("compare", "compare dti-real/FA.nii.gz dti-nlls/FA.nii.gz -o compare"
                " -- dti-restore/FA.nii.gz dti-double/FA.nii.gz"),
]

# Files that hold times or paths.
LEFT_OUT = (".json", ".html", ".log")


def digest(path: Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("refdata", type=Path)
    parser.add_argument("--fimbria", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="these outputs only")
    parser.add_argument("--threads", default="2")
    args = parser.parse_args()
    program, refdata = args.fimbria.resolve(), args.refdata.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for name, line in COMMANDS:
            if args.only and name not in args.only:
                continue
            words = [word.replace("{r}", str(refdata)) for word in line.split()]
            threads = [] if words[0] in ("info", "convert") else ["--threads", args.threads]
            ran = subprocess.run([program, *words, *threads, "-q"], cwd=folder, text=True, capture_output=True)
            print(f"{name}\texit {ran.returncode}", flush=True)
            if ran.returncode != 0:
                print("\n".join(f"{name}\t{said}" for said in ran.stderr.strip().splitlines()))
            if words[0] == "info":
                print(f"{name}\t{hashlib.sha256(ran.stdout.encode()).hexdigest()[:32]}")
                continue
            out = Path(folder) / words[words.index("-o") + 1]
            files = [out] if out.is_file() else sorted(p for p in out.rglob("*") if p.is_file())
            for path in files:
                if not path.name.endswith(LEFT_OUT):
                    print(f"{path.relative_to(folder)}\t{digest(path)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
