"""Checks the recipes that no tool of their own checks here, and that all name the same version and archives.

    python packaging/recipes.py PLAN.json      # what `dist plan --output-format=json` says
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parents[1]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def conda() -> None:
    """The recipe is read and rendered by rattler-build for every system."""
    path = ROOT / "packaging" / "conda" / "recipe.yaml"
    compilers = {"c_stdlib": ["sysroot"], "c_compiler": ["gcc"], "rust_compiler": ["rust"]}
    for platform in ("linux-64", "linux-aarch64", "osx-arm64", "win-64"):
        values = {**compilers, "target_platform": [platform], "build_platform": [platform]}
        rendered = Stage0Recipe.from_file(path).render(VariantConfig(values))
        assert len(rendered) == 1, platform
    assert yaml.safe_load(path.read_text())["context"]["version"] == VERSION


def neurodesk() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "neurodesk" / "build.yaml").read_text())
    assert set(recipe) == {"name", "version", "copyright", "architectures", "categories", "readme", "build"}
    assert recipe["version"] == VERSION
    assert recipe["build"]["kind"] == "neurodocker" and recipe["build"]["pkg-manager"] == "apt"
    known = {"install", "run", "environment", "deploy", "test"}
    assert {key for directive in recipe["build"]["directives"] for key in directive} == known
    commands = next(each["run"] for each in recipe["build"]["directives"] if "run" in each)
    is_shell("\n".join(commands).replace("{{ context.version }}", VERSION))


def apptainer() -> None:
    """Both stages take the images of the Dockerfile, and their scripts are the shell's."""
    text = (ROOT / "apptainer.def").read_text()
    images = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert re.findall(r"^From: (\S+)", text, re.MULTILINE) == images
    known = {"files", "post", "runscript", "test", "labels", "help"}
    sections = re.findall(r"^%(\w+)[^\n]*\n(.*?)(?=^%|^Bootstrap|\Z)", text, re.MULTILINE | re.DOTALL)
    assert {name for name, _ in sections} == known
    for name, body in sections:
        if name in ("post", "runscript", "test"):
            is_shell(body)
    # Both images install the same.
    docker = (ROOT / "Dockerfile").read_text()
    for line in ("python3-pip", "nvidia-cuda-nvrtc-cu12==12.9.86", "libgcc-s1 ocl-icd-libopencl1"):
        assert line in docker and line in text, line


def binstall(plan: dict) -> None:
    """What cargo binstall fetches is what dist names."""
    package = tomllib.loads((ROOT / "crates" / "fimbria" / "Cargo.toml").read_text())["package"]
    metadata = package["metadata"]["binstall"]
    archives = {name for name in plan["artifacts"] if name.endswith((".tar.xz", ".zip"))}
    assert len(archives) == 4, archives
    for archive in archives:
        target = re.fullmatch(r"fimbria-(.*?)\.(tar\.xz|zip)", archive)[1]
        kind = {**metadata, **metadata["overrides"].get(target, {})}
        suffix = {"txz": ".tar.xz", "zip": ".zip"}[kind["pkg-fmt"]]
        url = metadata["pkg-url"].replace("{ target }", target).replace("{ archive-suffix }", suffix)
        assert url.endswith("/" + archive), (url, archive)
    # The workflow builds all that the plan names.
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    built = {each["target"] for each in workflow["jobs"]["build"]["strategy"]["matrix"]["include"]}
    assert {f"fimbria-{target}" for target in built} == {re.sub(r"\.(tar\.xz|zip)$", "", name) for name in archives}


def is_shell(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


conda()
neurodesk()
apptainer()
binstall(json.loads(Path(sys.argv[1]).read_text()))
