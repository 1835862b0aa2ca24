"""Makes the built package, the examples and the helpers of test/python importable."""

import os
import pathlib
import sys

# The arrays of these tests are small: more threads of torch and NumPy only wait for each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("LOGITILE_BUILD", HERE.parents[1] / "build"))
HELPERS = (HERE.parent / "python", HERE)
for folder in (*sorted(HERE.glob("*/")), BUILD / "python", HERE.parents[1] / "examples", *HELPERS):
    # before what PYTHONPATH names, even where it names this one too
    sys.path.insert(0, str(folder))

import backends  # noqa: E402
import pytest  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "emulated(full): runs on the emulator too; 'full': with --full only")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("emulated")
    if marker:
        slow = [pytest.mark.full] if "full" in marker.args else []
        values = [backends.CPU, pytest.param(backends.EMULATOR, marks=slow)]
        metafunc.parametrize("backend", values, indirect=True)


@pytest.fixture(autouse=True)
def backend(request, monkeypatch):
    """The backend of the test's heads; that of a marked test is one of its parameters.

    GPUs tell of wrong indices in the call itself, as the others do.
    """
    monkeypatch.setattr(backends, "current", getattr(request, "param", backends.CPU))
    if backends.is_on_gpu(backends.current):
        monkeypatch.setenv("LOGITILE_CHECK", "1")
    return backends.current
