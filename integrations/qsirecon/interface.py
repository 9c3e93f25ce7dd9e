"""Fits of fimbria as one interface of nipype with the scalars that QSIRecon maps on: for qsirecon/interfaces/."""

import re
import subprocess
from pathlib import Path

import yaml
from nipype.interfaces.base import BaseInterfaceInputSpec, File, SimpleInterface, TraitedSpec, isdefined, traits

# The labels and descriptions of all maps, in the form of qsirecon/data/scalars/*.yaml.
SCALARS = yaml.safe_load(
    subprocess.run(["fimbria", "describe", "--format", "qsirecon"], check=True, capture_output=True).stdout
)
MODELS = ("dti", "dki", "msdki", "dki1d", "stremi", "stremi1d", "ivim", "mono", "noddi", "fwdti", "smt", "axdki", "dkimicro", "mapmri", "gqi")


class FimbriaFitInputSpec(BaseInterfaceInputSpec):
    dwi_file = File(exists=True, mandatory=True, desc="Series, as QSIPrep leaves it")
    bval_file = File(exists=True, mandatory=True)
    bvec_file = File(exists=True, mandatory=True)
    mask_file = File(exists=True, desc="Voxels to work on; without it one is made of the series")
    models = traits.List(traits.Enum(*MODELS), ["dti"], usedefault=True, desc="What is fitted")
    num_threads = traits.Int(1, usedefault=True, nohash=True)
    memory = traits.Str(desc="Memory that a fit may take, such as 8G")


class FimbriaFitOutputSpec(TraitedSpec):
    """A file for each label whose model was fitted."""


for _label, _scalar in SCALARS.items():
    FimbriaFitOutputSpec.add_class_trait(_label, File(desc=_scalar["metadata"]["Description"]))


class FimbriaFit(SimpleInterface):
    """Fits models and gives their scalar maps under QSIRecon's labels."""

    input_spec = FimbriaFitInputSpec
    output_spec = FimbriaFitOutputSpec

    def _run_interface(self, runtime):
        inputs = self.inputs
        folder = Path(runtime.cwd) / "maps"
        line = ["fimbria", "maps", inputs.dwi_file, "--bval", inputs.bval_file, "--bvec", inputs.bvec_file]
        line += ["--models", ",".join(inputs.models)]
        if isdefined(inputs.mask_file):
            line += ["--mask", inputs.mask_file]
        if isdefined(inputs.memory):
            line += ["--memory", inputs.memory]
        # What a run that was stopped left is made again.
        line += ["--layout", "bids", "--threads", str(inputs.num_threads), "--force", "--output", str(folder)]
        done = subprocess.run(line, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        for path in folder.glob("*/*_dwimap.nii.gz"):
            found = re.search(r"model-(\w+?)_param-(\w+?)_(?:desc-(\w+?)_)?dwimap", path.name)
            label = "_".join(filter(None, found.groups()))
            if label in SCALARS:
                self._results[label] = str(path)
        return runtime
