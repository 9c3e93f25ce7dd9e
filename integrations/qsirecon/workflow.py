"""The workflow of the node `software: fimbria`, `action: fit`: for qsirecon/workflows/recon/.

Never run: QSIRecon is not on PyPI. The interface that it wraps is tested.
"""

import nipype.pipeline.engine as pe
from nipype.interfaces import utility as niu
from nipype.interfaces.base import File
from niworkflows.engine.workflows import LiterateWorkflow as Workflow
from qsirecon import config
from qsirecon.interfaces.interchange import recon_workflow_input_fields
from qsirecon.interfaces.recon_scalars import ReconScalars, ReconScalarsDataSink, ReconScalarsInputSpec

from .interface import SCALARS, FimbriaFit


class _FimbriaReconScalarsInputSpec(ReconScalarsInputSpec):
    pass


for _label in SCALARS:
    _FimbriaReconScalarsInputSpec.add_class_trait(_label, File(exists=True))


class FimbriaReconScalars(ReconScalars):
    input_spec = _FimbriaReconScalarsInputSpec
    scalar_metadata = SCALARS


def init_fimbria_fit_wf(available_anatomical_data, name="fimbria_fit", qsirecon_suffix="", params={}):
    """Fit models with fimbria, and hand their scalar maps on."""
    threads = config.nipype.omp_nthreads
    inputnode = pe.Node(niu.IdentityInterface(fields=recon_workflow_input_fields), name="inputnode")
    outputnode = pe.Node(niu.IdentityInterface(fields=["recon_scalars"]), name="outputnode")
    parameters = {key: value for key, value in params.items() if key in ("models", "memory")}
    fit = pe.Node(FimbriaFit(num_threads=threads, **parameters), name="fit", n_procs=threads)
    scalars = pe.Node(FimbriaReconScalars(qsirecon_suffix=qsirecon_suffix), name="recon_scalars",
                      run_without_submitting=True)
    workflow = Workflow(name=name)
    workflow.connect([
        (inputnode, fit, [
            ("dwi_file", "dwi_file"),
            ("bval_file", "bval_file"),
            ("bvec_file", "bvec_file"),
            ("dwi_mask", "mask_file")]),
        (fit, scalars, [(label, label) for label in SCALARS]),
        (scalars, outputnode, [("scalar_info", "recon_scalars")]),
    ])  # fmt:skip
    if qsirecon_suffix:
        sink = pe.Node(ReconScalarsDataSink(dismiss_entities=["desc"]), name="ds_recon_scalars",
                       run_without_submitting=True)
        workflow.connect(scalars, "scalar_info", sink, "recon_scalars")
    workflow.__desc__ = (
        "Fimbria reconstruction\n\n: Models of diffusion were fitted by fimbria: "
        + ", ".join(parameters.get("models", ["dti"])) + ". "
    )
    return workflow
