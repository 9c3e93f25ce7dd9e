"""Fits MAP-MRI with DIPY: dipy_mapmri.py DWI BVAL BVEC OUT_FOLDER.

Orders 4 and 6 with the Laplacian at 0.2, and 6 with cross-validation; the tensor is of b up to 2000 (those below 2001). Pulses of
10.6 ms, 43.1 ms apart; "iso" is order 6 with one scale, of 0.7e-3 mm²/s. Writes ORDER_WEIGHT_INDEX.nii of the first 12 voxels in double precision.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.data import get_sphere
from dipy.reconst.mapmri import MapmriModel

dwi, bval, bvec, out = sys.argv[1:]
image = nib.load(dwi)
# Cross-validation takes a quarter of a second a voxel.
data = image.get_fdata()[:12]
table = gradient_table(
    np.loadtxt(bval), bvecs=np.loadtxt(bvec).T, b0_threshold=10, big_delta=0.0431, small_delta=0.0106
)
for order, weight, name in ((4, 0.2, "0.2"), (6, 0.2, "0.2"), (6, "GCV", "gcv"), (6, 0.2, "iso")):
    fit = MapmriModel(
        table, radial_order=order, laplacian_regularization=True, laplacian_weighting=weight, bval_threshold=2001,
        anisotropic_scaling=name != "iso", dti_scale_estimation=name != "iso", static_diffusivity=0.7e-3,
    ).fit(data)
    if name == "0.2" and order == 6:
        # What is displaced into the directions of a sphere.
        sphere = get_sphere(name="repulsion724")
        odf = np.asarray(fit.odf(sphere, s=0)).reshape(12, 1, 1, -1)
        nib.save(nib.Nifti1Image(sphere.vertices.reshape(-1, 1, 1, 3), image.affine), f"{out}/dirs.nii")
        nib.save(nib.Nifti1Image(odf, image.affine), f"{out}/odf.nii")
    if name == "iso":
        for index, values in {"RTOP": fit.rtop(), "MSD": fit.msd(), "lapnorm": fit.norm_of_laplacian_signal()}.items():
            nib.save(nib.Nifti1Image(np.asarray(values, np.float64), image.affine), f"{out}/iso_{index}.nii")
        continue
    maps = {
        "RTOP": fit.rtop(),
        "RTAP": fit.rtap(),
        "RTPP": fit.rtpp(),
        "MSD": fit.msd(),
        "NG": fit.ng(),
        "lapnorm": fit.norm_of_laplacian_signal(),
    }
    for index, values in maps.items():
        nib.save(nib.Nifti1Image(np.asarray(values, np.float64), image.affine), f"{out}/{order}_{name}_{index}.nii")
