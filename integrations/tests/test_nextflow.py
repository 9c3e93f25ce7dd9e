"""What is for Nextflow, without Nextflow: parsed as Groovy, held to its description, its scripts run by bash."""

import re
import subprocess
import textwrap

import pytest
import yaml
from conftest import ROOT

MODULE = ROOT / "nf-neuro" / "modules" / "nf-neuro" / "reconst" / "fimbria"
EXAMPLE = ROOT / "nextflow" / "main.nf"


def script_of(path, process, part, values):
    """A script block as Nextflow writes it: variables in their place, `\\$` a dollar, `\\\\` a backslash."""
    text = path.read_text().split(f"process {process} ", 1)[1].split(f"{part}:", 1)[1]
    body = textwrap.dedent(re.search(r'"""\n(.*?)\n\s*"""', text, re.DOTALL)[1])

    def value(found):
        return values[(found[1] or found[2]).strip()]

    body = re.sub(r"(?<!\\)\$(?:\{([^}]+)\}|([a-z][\w.]*))", value, body)
    assert not re.search(r"(?<!\\)\$\{?[a-z]", body)
    return body.replace("\\\\", "\\").replace("\\$", "$")


def of_bash(script, folder):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("path", [EXAMPLE, MODULE / "main.nf"], ids=["example", "module"])
def test_files_are_groovy(path):
    from groovy_parser.parser import parse_groovy_content

    parse_groovy_content(path.read_text())


def module_values(phantom, mask):
    return {
        "model": "dti",
        "dwi": str(phantom / "dwi.nii.gz"),
        "bval": str(phantom / "dwi.bval"),
        "bvec": str(phantom / "dwi.bvec"),
        "within": mask,
        "task.cpus": "1",
        "memory": "--memory 2048M",
        "args": "--maps FA,MD",
        "prefix": "sub-01",
        "task.process": "RECONST_FIMBRIA",
    }


@pytest.mark.parametrize("with_mask", [True, False])
def test_the_script_of_the_module_writes_what_it_emits(phantom, tmp_path, with_mask):
    mask = f"--mask {phantom / 'mask.nii.gz'}" if with_mask else ""
    done = of_bash(script_of(MODULE / "main.nf", "RECONST_FIMBRIA", "script", module_values(phantom, mask)), tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("fa.nii.gz", "md.nii.gz", "status.nii.gz", "run.json"):
        assert (tmp_path / f"sub-01__{name}").exists()
    versions = yaml.safe_load((tmp_path / "versions.yml").read_text())
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions["RECONST_FIMBRIA"]["fimbria"])


def test_the_stub_of_the_module_makes_what_is_not_optional(phantom, tmp_path):
    done = of_bash(script_of(MODULE / "main.nf", "RECONST_FIMBRIA", "stub", module_values(phantom, "")), tmp_path)
    assert done.returncode == 0, done.stderr
    for line in (MODULE / "main.nf").read_text().splitlines():
        pattern = re.search(r'path\("([^"]+)"\).*emit: \w+$', line)
        if pattern:
            assert list(tmp_path.glob(pattern[1])), pattern[1]


def test_the_description_of_the_module_is_that_of_its_process():
    meta = yaml.safe_load((MODULE / "meta.yml").read_text())
    text = (MODULE / "main.nf").read_text()
    assert f"process {meta['name'].upper()} " in text
    given = re.search(r"input:\n\s*tuple (.*)", text)[1]
    assert [re.sub(r"\w+\((\w+)\)", r"\1", each.strip()) for each in given.split(",")] == [
        next(iter(each)) for each in meta["input"][0]
    ]
    emitted = dict(re.findall(r'path[ (]"([^"]+)"\)?\s*, emit: (\w+)', text))
    described = {
        next(iter(channel[-1])): name for output in meta["output"] for name, channel in output.items()
    }
    assert emitted == described
    assert {"name", "description", "keywords", "authors", "output", "tools"} <= set(meta)


def test_the_scripts_of_the_example_run_subjects_and_group(qsiprep, tmp_path):
    output = tmp_path / "it has spaces"
    values = {
        "input": str(qsiprep),
        "output": str(output),
        "preset": "maps",
        "task.cpus": "1",
        "task.memory.toMega()": "2048",
    }
    for label in ("01", "02"):
        done = of_bash(script_of(EXAMPLE, "PARTICIPANT", "script", {**values, "label": label}), tmp_path)
        assert done.returncode == 0, done.stderr
    done = of_bash(script_of(EXAMPLE, "GROUP", "script", values), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (output / "group_dwi.html").exists()
