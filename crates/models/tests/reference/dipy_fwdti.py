"""Fits the tensor beside free water with DIPY: dipy_fwdti.py DWI BVAL BVEC OUT_FOLDER.

Non-linear least squares from its weighted start, b and directions as they stand. Writes FWF and the root mean
square residual as .nii in double precision.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.reconst.fwdti import FreeWaterTensorModel

dwi, bval, bvec, out = sys.argv[1:]
image = nib.load(dwi)
data = image.get_fdata()
table = gradient_table(np.loadtxt(bval), bvecs=np.loadtxt(bvec).T, b0_threshold=10)
fit = FreeWaterTensorModel(table, fit_method="NLS").fit(data)
f = np.asarray(fit.f)
# DIPY predicts with the S0 it is given: the best one, as in its cost.
shape = fit.predict(table, S0=1.0)
s0 = (shape * data).sum(-1) / (shape**2).sum(-1)
residual = np.sqrt(((s0[..., None] * shape - data) ** 2).mean(-1))
for name, values in {"FWF": f, "residual": residual}.items():
    nib.save(nib.Nifti1Image(np.asarray(values, np.float64), image.affine), f"{out}/{name}.nii")
