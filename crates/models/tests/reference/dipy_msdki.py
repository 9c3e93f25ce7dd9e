"""Fits mean-signal kurtosis with DIPY: dipy_msdki.py DWI BVAL OUT_FOLDER.

All voxels, b as it stands. Writes MSD MSK AWF DI MFA S0 as .nii in double precision.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.reconst.msdki import MeanDiffusionKurtosisModel

dwi, bval, out = sys.argv[1:]
image = nib.load(dwi)
bvals = np.loadtxt(bval)
# Directions do not enter, but there must be some.
bvecs = np.tile([1.0, 0.0, 0.0], (len(bvals), 1))
bvecs[bvals == 0] = 0
model = MeanDiffusionKurtosisModel(gradient_table(bvals, bvecs=bvecs), bmag=1, return_S0_hat=True)
fit = model.fit(image.get_fdata())
maps = {"MSD": fit.msd, "MSK": fit.msk, "AWF": fit.smt2f, "DI": fit.smt2di, "MFA": fit.smt2uFA, "S0": fit.S0_hat}
for name, data in maps.items():
    nib.save(nib.Nifti1Image(np.asarray(data, np.float64), image.affine), f"{out}/{name}.nii")
