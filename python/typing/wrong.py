"""Calls that a type checker must refuse: `basedpyright` fails where a line of these has no error of this kind. They
are not run."""
# pyright: reportUnnecessaryTypeIgnoreComment=true, reportUnusedExpression=false, reportIgnoreCommentWithoutRule=false

import numpy as np

import fimbria

data = np.zeros((4, 4, 4, 61), np.float32)
table = fimbria.Gradients(np.zeros(61), np.zeros((61, 3)))
b, n = np.full(61, 1000.0), np.zeros((61, 3))

# Models and methods that there are not.
fimbria.TensorModle(table)  # pyright: ignore[reportAttributeAccessIssue]
fimbria.fit("dit", data, table)  # pyright: ignore
fimbria.fit(3, data, table)  # pyright: ignore
fimbria.fit_names("dti")  # pyright: ignore[reportCallIssue]
fimbria.TensorModel(table, "wsl")  # pyright: ignore[reportArgumentType]
fimbria.TensorModel(b, n)  # pyright: ignore[reportArgumentType]
fimbria.TensorModel(table, fit_method=1)  # pyright: ignore[reportArgumentType]
fimbria.KurtosisModel(table, fit_method="huber")  # pyright: ignore[reportArgumentType]

# Options.
fimbria.TensorModel(table, methd="wls")  # pyright: ignore[reportCallIssue]
fimbria.fit("dti", data, table, methd="wls")  # pyright: ignore
fimbria.fit("dti", data, table, fit_method="wls")  # pyright: ignore
fimbria.fit("dti", data, table, method="wsl")  # pyright: ignore
fimbria.fit("dti", data, table, clip=(0, 3))  # pyright: ignore
fimbria.TensorModel(table, maps="FFA")  # pyright: ignore[reportArgumentType]
fimbria.TensorModel(table, maps=["FA", "MDD"])  # pyright: ignore[reportArgumentType]
fimbria.TensorModel(table, bmax="high")  # pyright: ignore[reportArgumentType]
fimbria.FibreOrientationModel(table, order=5)  # pyright: ignore[reportArgumentType]
fimbria.TensorModel(table, compat="fls")  # pyright: ignore[reportArgumentType]
fimbria.NeuriteModel(table, tissue="blue")  # pyright: ignore[reportArgumentType]
fimbria.ExpressionModel(table, "S0*exp(-b*D)")  # pyright: ignore[reportCallIssue]
fimbria.Gradients(b, n, frame="mrtrix")  # pyright: ignore[reportArgumentType]
fimbria.load("dwi.nii.gz", bvecs="x.bvec")  # pyright: ignore[reportCallIssue]

# Calls of a model.
model = fimbria.TensorModel(table)
model.fti(data)  # pyright: ignore[reportAttributeAccessIssue]
model.fit()  # pyright: ignore[reportCallIssue]
model.fit(data, masks=None)  # pyright: ignore[reportCallIssue]
model.fit(data, threads="all")  # pyright: ignore[reportArgumentType]
model.fit(data, device=0)  # pyright: ignore[reportArgumentType]
model.fit(7)  # pyright: ignore[reportArgumentType]
model.fit(data, mask=7)  # pyright: ignore[reportArgumentType]

# Maps that there are not.
fit = model.fit(data)
fit.ffa  # pyright: ignore[reportAttributeAccessIssue]
fit.mk  # pyright: ignore[reportAttributeAccessIssue]
fit.evalz  # pyright: ignore[reportAttributeAccessIssue]
fimbria.fit("dti", data, table).kfa  # pyright: ignore
fimbria.fit("noddi", data, table).ndi  # pyright: ignore
fimbria.KurtosisModel(table).fit(data).mk.mean()  # pyright: ignore[reportAttributeAccessIssue]
fimbria.IvimModel(table).fit(data).fa  # pyright: ignore[reportAttributeAccessIssue]

# Others.
fimbria.track(data)  # pyright: ignore[reportCallIssue]
fimbria.track(data, data, selects=10)  # pyright: ignore[reportCallIssue]
fimbria.peaks(data, sh_basis="mrtix")  # pyright: ignore[reportArgumentType]
fimbria.qsm(data, method="dvt")  # pyright: ignore[reportArgumentType]
fimbria.local_field(data, te="5")  # pyright: ignore[reportArgumentType]
fimbria.eigenpairs(np.eye(3))[0].lam  # pyright: ignore[reportAttributeAccessIssue]
