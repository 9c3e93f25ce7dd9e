"""Fits kurtosis with DIPY: dipy_dki.py DWI BVAL BVEC MASK BMAX OUT_FOLDER.

WLS of the volumes with b up to BMAX. Directions and tensors stay in the axes of the bvecs file.
Writes FA MD MK AK RK, D (xx xy yy xz yz zz) and W (DIPY's order) as .nii, clipped as DIPY does.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.io.gradients import read_bvals_bvecs
from dipy.reconst.dki import DiffusionKurtosisModel
from dipy.reconst.dti import lower_triangular

dwi, bval, bvec, mask, bmax, out = sys.argv[1:]
image = nib.load(dwi)
bvals, bvecs = read_bvals_bvecs(bval, bvec)
used = bvals <= float(bmax)
gradients = gradient_table(bvals[used], bvecs=bvecs[used])
inside = nib.load(mask).get_fdata().reshape(image.shape[:3]) > 0
fit = DiffusionKurtosisModel(gradients, fit_method="WLS").fit(
    image.get_fdata()[..., used], mask=inside
)


def save(name, data):
    nib.save(nib.Nifti1Image(np.asarray(data, np.float32), image.affine), f"{out}/{name}.nii")


save("FA", fit.fa)
save("MD", fit.md)
save("MK", fit.mk())
save("AK", fit.ak())
save("RK", fit.rk())
save("D", lower_triangular(fit.quadratic_form))
save("W", fit.kt)
