"""Calls that a type checker must let pass: `basedpyright` finds no error in them. They are not run."""

from pathlib import Path

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table

import fimbria

data = np.zeros((4, 4, 4, 61), np.float32)
inside = np.ones((4, 4, 4), bool)
b, n = np.full(61, 1000.0), np.zeros((61, 3))
table = fimbria.Gradients(b, n, frame="voxel")
image = fimbria.load("dwi.nii.gz", bvec_frame="fsl")
of_nibabel = nib.Nifti1Image(data, np.eye(4))
of_dipy = gradient_table(b, bvecs=n)

# The file of a model.
fimbria.fit(Path("model.toml"), data, table, bmax=1000).maps["D"]

# Tables: ours, DIPY's, a pair, rows x y z b.
fimbria.TensorModel(table)
fimbria.TensorModel(of_dipy)
fimbria.TensorModel((b, n))
fimbria.TensorModel(np.zeros((61, 4)))
fimbria.TensorModel(table, "WLS")
fimbria.TensorModel(table, fit_method="restore", sigma=10.0, maps=["FA", "MD"])
fimbria.KurtosisModel(table, fit_method="WLS", clip=(0, 3))
fimbria.KurtosisModel(table, clip="0,3", shells=[1000, 2000])
fimbria.FibreOrientationModel(table, order=8)
fimbria.FibreOrientationModel(table, order="8", response="response.txt")
fimbria.ExpressionModel(table, "S0*exp(-b*D)", param={"S0": 1.0, "D": (0.5, 0, None)})

# Data and masks: arrays, images, paths.
tensor = fimbria.TensorModel(table).fit(data, inside)
fimbria.TensorModel(table).fit(of_nibabel, mask=of_nibabel, threads=2, progress=False)
fimbria.TensorModel(table).fit(image, mask=Path("mask.nii.gz"))
fimbria.TensorModel(table).fit("dwi.nii.gz", mask="mask.nii.gz", affine=np.eye(4))

# Fits know their maps, in capitals and in small letters.
fa: np.ndarray = tensor.fa
tensor.FA, tensor.evals, tensor.evecs, tensor.color_fa, tensor.status, tensor.maps["FA"], tensor.counts
tensor.predict(of_dipy, S0=100.0)
tensor[0, 0, 0].md
kurtosis = fimbria.KurtosisModel(table).fit(data)
kurtosis.mk(0, 3), kurtosis.kfa, kurtosis.linearity, kurtosis.mode, kurtosis.fa
fimbria.NeuriteModel(table).fit(data).icvf
fimbria.MeanSignalKurtosisModel(table).fit(data).msk
fimbria.ExpressionModel(table, "S0*exp(-b*D)", param=["S0=1", "D=1"]).fit(data).D

# By name, with the options of each.
fimbria.fit("dti", data, table).fa
fimbria.fit("dki", image, mask="mask.nii.gz", bmax=2500, threads=1).mk(0, 3)
fimbria.fit("dti", data, (b, n), inside, method="ols", affine=np.eye(4)).evals
fimbria.fit("expr", data, table, model="S0*exp(-b*D)", param={"S0": 1.0, "D": 1.0})
name: fimbria.FitName = "ivim"
fimbria.fit(name, data, table).status

densities = fimbria.FibreOrientationModel(table).fit(data)
peaks = fimbria.peaks(densities, threads=1)
peaks.peak_dirs, peaks.peak_values
lines = fimbria.track(densities, inside, select=1000)
fimbria.eigenpairs(np.eye(3))[0].value
fimbria.eigenpairs(np.zeros((2, 3, 3)), batch=True)[0][0].vector
