"""Fits white-matter tract integrity with DIPY: dipy_dkimicro.py DWI BVAL BVEC OUT_FOLDER.

Weighted least squares of its kurtosis model, b and directions as they stand. Writes AWF, axonalD, ADE, RDE and
tortuosity as .nii in double precision.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.reconst.dki_micro import KurtosisMicrostructureModel

dwi, bval, bvec, out = sys.argv[1:]
image = nib.load(dwi)
table = gradient_table(np.loadtxt(bval), bvecs=np.loadtxt(bvec).T, b0_threshold=10)
fit = KurtosisMicrostructureModel(table).fit(image.get_fdata())
maps = {
    "AWF": fit.awf,
    "axonalD": fit.axonal_diffusivity,
    "ADE": fit.hindered_ad,
    "RDE": fit.hindered_rd,
    "tortuosity": fit.tortuosity,
}
for name, values in maps.items():
    nib.save(nib.Nifti1Image(np.asarray(values, np.float64), image.affine), f"{out}/{name}.nii")
