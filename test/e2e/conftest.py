"""Makes the built package and the helpers of test/python importable."""

import os
import pathlib
import sys

# The arrays of these tests are small: more threads of torch and NumPy only wait for each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("LOGITILE_BUILD", HERE.parents[1] / "build"))
for folder in (BUILD / "python", HERE.parent / "python", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
