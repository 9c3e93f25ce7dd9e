"""Prints DIPY's descoteaux07 basis: dipy_sh.py DIRECTIONS LMAX LEGACY(0|1).

DIRECTIONS is a text file of unit vectors x y z. One line of values per direction.
"""

import sys

import numpy as np
from dipy.reconst.shm import real_sh_descoteaux

x, y, z = np.loadtxt(sys.argv[1]).T
values = real_sh_descoteaux(int(sys.argv[2]), np.arccos(z), np.arctan2(y, x),
                            legacy=bool(int(sys.argv[3])))[0]
np.savetxt(sys.stdout, values, fmt="%.17g")
