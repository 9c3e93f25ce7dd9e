"""The Snakemake example, run on two subjects."""

import subprocess
import sys

from conftest import ROOT


def snakemake(folder, *words):
    line = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "snakemake" / "Snakefile"), "--cores", "2"]
    return subprocess.run([*line, *words], cwd=folder, capture_output=True, text=True)


def test_every_subject_is_run_and_the_group_after_them(qsiprep, tmp_path):
    config = ["--config", f"input={qsiprep}", "output=derivatives", "threads=1", "memory=2G"]
    done = snakemake(tmp_path, *config)
    assert done.returncode == 0, done.stderr
    derivatives = tmp_path / "derivatives"
    for subject in ("sub-01", "sub-02"):
        fa = f"{subject}/dwi/{subject}_space-ACPC_model-tensor_param-fa_dwimap.nii.gz"
        assert (derivatives / fa).exists()
    table = (derivatives / "group_dwi.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in table[1:]] == ["sub-01", "sub-02"]
    again = snakemake(tmp_path, *config)
    assert "Nothing to be done" in again.stderr + again.stdout
