"""Fits tensors with DIPY: dipy_dti.py DWI BVAL BVEC MASK METHOD OUT_FOLDER.

Directions stay in the axes of the bvecs file. Writes FA MD L1 L2 L3 V1 V2 V3 as .nii.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.io.gradients import read_bvals_bvecs
from dipy.reconst.dti import TensorModel

dwi, bval, bvec, mask, method, out = sys.argv[1:]
image = nib.load(dwi)
bvals, bvecs = read_bvals_bvecs(bval, bvec)
gradients = gradient_table(bvals, bvecs=bvecs)
inside = nib.load(mask).get_fdata().reshape(image.shape[:3]) > 0
fit = TensorModel(gradients, fit_method=method).fit(image.get_fdata(), mask=inside)


def save(name, data):
    nib.save(nib.Nifti1Image(np.asarray(data, np.float32), image.affine), f"{out}/{name}.nii")


save("FA", fit.fa)
save("MD", fit.md)
for i in range(3):
    save(f"L{i + 1}", fit.evals[..., i])
    save(f"V{i + 1}", fit.evecs[..., i])
