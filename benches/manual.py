#!/usr/bin/env python3
"""The numbers of the manual's pages "coming from FSL, MRtrix3, DIPY": each pair of commands run, and compared.

    python3 benches/manual.py --fimbria target/release/fimbria --refdata ../shared/refdata

Needs nibabel, numpy, MRtrix3 and DIPY (each part is left out without). Real data are two slices of a person
(b = 0, 1000, 2000; refdata/dwi_real/human_b1k_b2k) and FSL's own answers (refdata/fsl); the head is `fimbria phantom
head --voxel 5`.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def load(path):
    path = Path(path)
    if path.suffix == ".mif":
        run("mrconvert", "-quiet", "-force", path, path.with_suffix(".nii"))
        path = path.with_suffix(".nii")
    # Programs store voxels from left to right or from right to left: here all from left to right.
    return np.asarray(nib.as_closest_canonical(nib.load(path)).dataobj, dtype=np.float64)


def degrees(a, b):
    """Angles between axes, whatever their length and sign."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.degrees(np.arccos(np.clip(np.abs(np.sum(a * b, axis=-1)) / lengths, 0, 1)))


def say(what, differences, unit=""):
    there = differences[np.isfinite(differences)]
    median, most, largest = np.percentile(there, [50, 99, 100])
    print(f"  {what:58s} {there.size:6d}   {median:9.2g} {most:9.2g} {largest:9.2g} {unit}", flush=True)


def head(title):
    print(f"\n{title}\n  {'':58s} {'number':>6s}   {'median':>9s} {'99 %':>9s} {'largest':>9s}")


def fsl(args, tmp):
    """dtifit's own maps, read in its own frame."""
    head("FSL 6.0.0, dtifit on 36 x 56 x 6 voxels of a person")
    folder = args.refdata / "fsl"
    data, theirs = folder / "inputs/dwi_real", folder / "cases/dtifit_real_ols"
    files = {"".join(path.name.split(".")[0].split("_")[-1:]): path for path in theirs.glob("*.nii.gz")}
    run(args.fimbria, "fit", "dti", "-k", data / "data.nii.gz", "-m", data / "nodif_brain_mask.nii.gz", "-r",
        data / "bvecs", "-b", data / "bvals", "--compat", "fsl", "--layout", "fsl", "-o", tmp / "fsl")
    mask = load(data / "nodif_brain_mask.nii.gz") > 0
    ours = {name: load(tmp / f"fsl/dti_{name}.nii.gz") for name in ("FA", "MD", "V1", "L1", "L2")}
    good = mask & (load(files["FA"]) > 0)
    for name in ("FA", "MD"):
        say(f"--compat fsl --layout fsl: {name}", np.abs(ours[name] - load(files[name]))[good])
    sharp = good & (ours["L1"] - ours["L2"] > 1e-4)
    say("V1, where L1 and L2 differ by 1e-4 mm2/s", degrees(ours["V1"], load(files["V1"]))[sharp], "degrees")
    run(args.fimbria, "fit", "dti", data / "data.nii.gz", "--mask", data / "nodif_brain_mask.nii.gz", "-o",
        tmp / "fsl_default")
    say("defaults (wls): FA", np.abs(load(tmp / "fsl_default/FA.nii.gz") - load(files["FA"]))[good])


def mrtrix(args, tmp, real, subject):
    head(f"MRtrix3 {run('mrinfo', '-version').split()[2]}, two slices of a person")
    dwi, mask = real / "dwi.nii.gz", real / "mask.nii.gz"
    table = ["-fslgrad", real / "dwi.bvec", real / "dwi.bval"]
    inside = load(mask) > 0

    run("dwi2tensor", "-quiet", *table, "-mask", mask, dwi, tmp / "dt.mif")
    run("tensor2metric", "-quiet", "-fa", tmp / "fa.mif", "-adc", tmp / "adc.mif", "-vector", tmp / "v1.mif",
        "-num", 1, "-modulate", "none", tmp / "dt.mif")
    run(args.fimbria, "fit", "dti", dwi, "--mask", mask, "--compat", "mrtrix", "--layout", "mrtrix", "-o", tmp / "m")
    run(args.fimbria, "fit", "dti", dwi, "--mask", mask, "-o", tmp / "m_default")
    good = inside & (load(tmp / "adc.mif") > 0) & (load(tmp / "m/status.mif") == 1)
    say("fit dti --compat mrtrix: FA", np.abs(load(tmp / "m/fa.mif") - load(tmp / "fa.mif"))[good])
    say("MD, mm2/s", np.abs(load(tmp / "m/adc.mif") - load(tmp / "adc.mif"))[good])
    say("V1 (scanner axes in both)", degrees(load(tmp / "m/vector1.mif"), load(tmp / "v1.mif"))[good], "degrees")
    say("defaults of both: FA", np.abs(load(tmp / "m_default/FA.nii.gz") - load(tmp / "fa.mif"))[good])
    medians = [np.median(maps[good]) for maps in (load(tmp / "m_default/MD.nii.gz"), load(tmp / "adc.mif"))]
    print(f"  median MD with the defaults of both, 1e-3 mm2/s: ours {medians[0] * 1e3:.3f} (b up to 1500), "
          f"theirs {medians[1] * 1e3:.3f} (all volumes)")

    run("dwi2tensor", "-quiet", "-force", *table, "-mask", mask, "-dkt", tmp / "dkt.mif", dwi, tmp / "dt2.mif")
    run(args.fimbria, "fit", "dki", dwi, "--mask", mask, "--compat", "mrtrix", "--layout", "mrtrix", "-o", tmp / "k")
    kurtosis = load(tmp / "k" / next(p.name for p in (tmp / "k").iterdir() if p.name in ("dkt.mif", "kurtosis.mif")))
    good = inside & (load(tmp / "k/status.mif") == 1)
    say("fit dki --compat mrtrix: W (15 entries)", np.abs(kurtosis - load(tmp / "dkt.mif"))[good].ravel())

    run(args.fimbria, "convert", dwi, *table, "-o", tmp / "ours.mif")
    run("mrconvert", "-quiet", *table, dwi, tmp / "theirs.mif")
    say("convert: samples", np.abs(load(tmp / "ours.mif") - load(tmp / "theirs.mif")).ravel())
    tables = [np.loadtxt(run("mrinfo", "-quiet", "-dwgrad", tmp / name).splitlines()) for name in ("ours.mif", "theirs.mif")]
    say("gradient table in its header, scanner axes", np.abs(tables[0] - tables[1])[:, :3].ravel())

    head("MRtrix3, the head (5 mm)")
    dwi, mask = subject / "dwi.nii.gz", subject / "mask.nii.gz"
    inside = load(mask) > 0
    table = ["-fslgrad", subject / "dwi.bvec", subject / "dwi.bval"]
    for tissue in ("wm", "gm", "csf"):
        (tmp / f"{tissue}.txt").unlink(missing_ok=True)
    run("dwi2response", "dhollander", "-quiet", *table, "-mask", mask, "-scratch", tmp, dwi, tmp / "wm.txt",
        tmp / "gm.txt", tmp / "csf.txt")
    run("dwi2fod", "msmt_csd", "-quiet", *table, "-mask", mask, dwi, tmp / "wm.txt", tmp / "wmfod.mif", tmp / "gm.txt",
        tmp / "gm.mif", tmp / "csf.txt", tmp / "csf.mif")
    run("sh2peaks", "-quiet", "-num", 3, "-mask", mask, tmp / "wmfod.mif", tmp / "peaks.mif")
    run(args.fimbria, "fit", "fod", dwi, "--mask", mask, "-o", tmp / "fod")
    run(args.fimbria, "fit", "fod", dwi, "--mask", mask, "--response", tmp / "wm.txt", "--response-gm", tmp / "gm.txt",
        "--response-csf", tmp / "csf.txt", "-o", tmp / "fod_their_responses")
    run(args.fimbria, "peaks", tmp / "fod/fod.nii.gz", "--mask", mask, "-o", tmp / "p")
    run(args.fimbria, "peaks", tmp / "fod_their_responses/fod.nii.gz", "--mask", mask, "-o", tmp / "p_their_responses")
    run(args.fimbria, "peaks", tmp / "wmfod.mif", "--mask", mask, "-o", tmp / "p_theirs")
    truth, parts = load(subject / "truth/dirs.nii.gz"), load(subject / "truth/fractions.nii.gz")
    theirs, ours = load(tmp / "peaks.mif")[..., :3], load(tmp / "p/peaks.nii.gz")[..., :3]
    white = inside & (np.linalg.norm(truth[..., :3], axis=-1) > 0) & (load(tmp / "fod/tissues.nii.gz")[..., 0] > 0.5)
    say("largest peak, fit fod + peaks beside dwi2fod + sh2peaks", degrees(ours, theirs)[white], "degrees")
    say("ours beside the largest true fibre", degrees(ours, truth[..., :3])[white], "degrees")
    say("ours with their responses",
        degrees(load(tmp / "p_their_responses/peaks.nii.gz")[..., :3], truth[..., :3])[white], "degrees")
    say("theirs beside the largest true fibre", degrees(theirs, truth[..., :3])[white], "degrees")
    say("the same densities (theirs): peaks beside sh2peaks",
        degrees(load(tmp / "p_theirs/peaks.nii.gz")[..., :3], theirs)[white], "degrees")
    run("dwi2response", "tournier", "-quiet", *table, "-mask", mask, "-shells", 2000, "-scratch", tmp, dwi, tmp / "one.txt")
    run("dwi2fod", "csd", "-quiet", *table, "-mask", mask, "-shells", 2000, dwi, tmp / "one.txt", tmp / "csd.mif")
    run("sh2peaks", "-quiet", "-num", 1, "-mask", mask, tmp / "csd.mif", tmp / "csd_peaks.mif")
    run(args.fimbria, "fit", "fod", dwi, "--mask", mask, "--tissues", "white", "--shells", 2000, "-o", tmp / "csd")
    run(args.fimbria, "peaks", tmp / "csd/fod.nii.gz", "--mask", mask, "-o", tmp / "p_csd")
    theirs, ours = load(tmp / "csd_peaks.mif"), load(tmp / "p_csd/peaks.nii.gz")[..., :3]
    say("one shell: --tissues white beside tournier and csd", degrees(ours, theirs)[white], "degrees")
    say("ours beside the largest true fibre", degrees(ours, truth[..., :3])[white], "degrees")
    say("theirs beside it", degrees(theirs, truth[..., :3])[white], "degrees")
    amounts = load(tmp / "fod_their_responses/tissues.nii.gz")[white][:, 0], load(tmp / "wmfod.mif")[white][:, 0] * np.sqrt(4 * np.pi)
    print(f"  amount of fibres with their responses, correlation: {np.corrcoef(*amounts)[0, 1]:.4f}, "
          f"ratio of medians {np.median(amounts[0]) / np.median(amounts[1]):.4f}")

    tissues = subject / "5tt.nii.gz"
    run("tckgen", "-quiet", "-seed_image", mask, "-act", tissues, "-backtrack", "-select", 2000, "-minlength", 10,
        "-maxlength", 250, tmp / "wmfod.mif", tmp / "theirs.tck")
    run(args.fimbria, "track", tmp / "wmfod.mif", "--seeds", mask, "--act", tissues, "--backtrack", "--select", 2000,
        "--tracks", "tck", "-o", tmp / "t")
    run("tckgen", "-quiet", "-algorithm", "SD_STREAM", "-seed_image", mask, "-select", 2000, "-minlength", 10,
        "-maxlength", 250, tmp / "wmfod.mif", tmp / "sd.tck")
    run(args.fimbria, "track", tmp / "wmfod.mif", "--seeds", mask, "--algorithm", "deterministic", "--select", 2000,
        "--tracks", "tck", "-o", tmp / "sd")
    for who, path in (("tckgen -algorithm SD_STREAM", tmp / "sd.tck"),
                      ("track --algorithm deterministic", tmp / "sd/tracks.tck"), ("tckgen -act -backtrack", tmp / "theirs.tck"), ("track --act --backtrack", tmp / "t/tracks.tck")):
        lengths = run("tckstats", "-quiet", "-output", "median", "-output", "mean", path).split()
        print(f"  {who}: median length {float(lengths[0]):.1f} mm, mean {float(lengths[1]):.1f} mm")
    run("tck2connectome", "-quiet", "-symmetric", tmp / "theirs.tck", subject / "labels.nii.gz", tmp / "matrix.csv")
    run(args.fimbria, "connectome", tmp / "theirs.tck", subject / "labels.nii.gz", "-o", tmp / "net")
    rows = np.loadtxt(tmp / "net/labels.txt", dtype=int, usecols=0) - 1
    matrix = np.loadtxt(tmp / "matrix.csv", delimiter=",")[np.ix_(rows, rows)]
    ours = np.loadtxt(tmp / "net/weights.csv", delimiter=",")
    say("connectome beside tck2connectome -symmetric, streamlines", np.abs(ours - matrix).ravel())
    run(args.fimbria, "convert", tmp / "theirs.tck", "--reference", subject / "dwi.nii.gz", "-o", tmp / "theirs.trk")
    bvec = np.loadtxt(subject / "dwi.bvec")
    bvec[0] *= -1
    np.savetxt(tmp / "flipped.bvec", bvec)
    flipped = [tmp / "flipped.bvec", subject / "dwi.bval"]
    run("dwigradcheck", "-quiet", "-fslgrad", *flipped, "-mask", mask, "-number", 2000, "-scratch", tmp,
        "-export_grad_fsl", tmp / "mended.bvec", tmp / "mended.bval", dwi)
    mended = np.abs(np.loadtxt(tmp / "mended.bvec") + bvec * [[1], [-1], [-1]]).max()
    said = run(args.fimbria, "info", "--check-gradients", dwi, "-fslgrad", *flipped, "--mask", mask)
    print(f"  x of the table flipped: dwigradcheck {'mends it' if mended < 1e-3 else 'does not mend it'}; ours: "
          f"{said.split('checked')[1].strip()}")
    there, back = (nib.streamlines.load(tmp / f"theirs.{kind}").streamlines.get_data() for kind in ("tck", "trk"))
    say("convert .tck to .trk: points, mm", np.abs(there - back).ravel())


def dipy(args, tmp, real):
    import dipy as package
    from dipy.core.gradients import gradient_table
    from dipy.data import default_sphere
    from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel, auto_response_ssst
    from dipy.reconst.dki import DiffusionKurtosisModel
    from dipy.reconst.dti import TensorModel
    from dipy.reconst.msdki import MeanDiffusionKurtosisModel

    head(f"DIPY {package.__version__}, two slices of a person")
    image, mask = nib.load(real / "dwi.nii.gz"), load(real / "mask.nii.gz") > 0
    bvecs = np.loadtxt(real / "dwi.bvec")
    if np.linalg.det(image.affine[:3, :3]) > 0:
        bvecs[0] *= -1
    table = gradient_table(np.loadtxt(real / "dwi.bval"), bvecs=bvecs.T)
    data = load(real / "dwi.nii.gz")
    turn = image.affine[:3, :3] / np.linalg.norm(image.affine[:3, :3], axis=0)

    def ours(model, name, *more):
        run(args.fimbria, "fit", model, real / "dwi.nii.gz", "--mask", real / "mask.nii.gz", *more, "-o", tmp / name)
        return {path.name[:-7]: load(path) for path in (tmp / name).glob("*.nii.gz")}

    theirs = TensorModel(table).fit(data, mask=mask)
    maps = ours("dti", "d", "--compat", "dipy")
    good = mask & (maps["status"] == 1)
    say("fit dti --compat dipy: FA", np.abs(maps["FA"] - theirs.fa)[good])
    say("MD, mm2/s", np.abs(maps["MD"] - theirs.md)[good])
    turned = theirs.evecs[..., 0] @ turn.T
    say("V1, theirs turned from voxel to scanner axes", degrees(maps["V1"], turned)[good], "degrees")
    say("defaults of both: FA", np.abs(ours("dti", "d_default")["FA"] - theirs.fa)[good])

    theirs = DiffusionKurtosisModel(table).fit(data, mask=mask)
    maps = ours("dki", "dk", "--compat", "dipy")
    good = mask & (maps["status"] == 1)
    limits = {"min_kurtosis": -3 / 7, "max_kurtosis": 10}
    mk = theirs.mk(**limits)
    for name, values in (("MK", mk), ("AK", theirs.ak(**limits)), ("RK", theirs.rk(**limits))):
        say(f"fit dki --compat dipy: {name}", np.abs(maps[name] - values)[good])
    # DIPY's KFA is 0 where the mean of the kurtosis tensor is negative.
    say("KFA, where MKT is above 0", np.abs(maps["KFA"] - theirs.kfa)[good & (maps["MKT"] > 0)])
    default = ours("dki", "dk_default")
    say("defaults of both: MK", np.abs(default["MK"] - mk)[good])
    print(f"  voxels of {good.sum()} with MK below 0: ours by default {(default['MK'][good] < 0).sum()}, "
          f"theirs {(mk[good] < 0).sum()}")

    response, _ = auto_response_ssst(table, data, roi_radii=(20, 20, 1), fa_thr=0.7)
    densities = ConstrainedSphericalDeconvModel(table, response, sh_order_max=8).fit(data, mask=mask)
    # Stored as the series is, since the coefficients are in its voxel axes.
    stored = densities.shm_coeff[::-1] if image.affine[0, 0] < 0 else densities.shm_coeff
    nib.save(nib.Nifti1Image(stored.astype(np.float32), image.affine), tmp / "sh.nii")
    sphere = default_sphere.subdivide(n=2)
    values = densities.odf(sphere)
    best = sphere.vertices[np.argmax(values, axis=-1)] @ turn.T
    run(args.fimbria, "peaks", tmp / "sh.nii", "--sh-basis", "dipy-legacy", "-o", tmp / "dp")
    good = mask & (values.max(axis=-1) > 0.2)
    ours_of_theirs = load(tmp / "dp/peaks.nii.gz")[..., :3]
    say(f"peaks --sh-basis dipy-legacy beside {len(sphere.vertices)} directions", degrees(ours_of_theirs, best)[good], "degrees")

    theirs = MeanDiffusionKurtosisModel(table).fit(data, mask=mask)
    maps = ours("msdki", "ms")
    good = mask & (maps["status"] == 1)
    say("fit msdki: MSD, mm2/s", np.abs(maps["MSD"] - theirs.msd)[good])
    say("MSK", np.abs(maps["MSK"] - theirs.msk)[good])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fimbria", default="target/release/fimbria", type=lambda p: shutil.which(p) or p)
    parser.add_argument("--refdata", default=Path("../shared/refdata"), type=Path)
    parser.add_argument("--head", type=Path, help="a head that is there already")
    args = parser.parse_args()
    print(run(args.fimbria, "--version").strip())
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        real = args.refdata / "dwi_real/human_b1k_b2k"
        fsl(args, tmp)
        dipy(args, tmp, real)
        if shutil.which("tckgen"):
            subject = args.head or tmp / "head"
            if not args.head:
                run(args.fimbria, "phantom", "head", "--voxel", 5, "-o", subject)
            mrtrix(args, tmp, real, subject)


main()
