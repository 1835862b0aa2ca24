"""The wheel that `pip install .` makes: what is in it, what it needs,
and that it works away from the tree.
"""
from __future__ import annotations

import pathlib
import sys
import zipfile

import pytest
import tree
from commands import run

SYSTEM_LIBRARIES = {
    "libc.so.6",
    "libgcc_s.so.1",  # one unwinder for all libraries of a process
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "ld-linux-x86-64.so.2",
}
PROGRAM = """
import importlib.metadata, pathlib, sys
import numpy as np
import logitile as lt

assert pathlib.Path(lt.__file__).is_relative_to(sys.argv[1]), lt.__file__
assert lt.__version__ == importlib.metadata.version("logitile")
rng = np.random.default_rng(0)
hidden, weight = rng.standard_normal((5, 8), np.float32), rng.standard_normal((30, 8), np.float32)
arguments = {"target": rng.integers(0, 30, 5)}
head = lt.jit(lt.losses.cross_entropy, label_smoothing=0.1)
value, gradients = head.value_and_grad(hidden, weight, **arguments)
wanted, wanted_gradients = head.reference_grad(hidden, weight, **arguments)
np.testing.assert_allclose(value, wanted, rtol=1e-5)
np.testing.assert_allclose(gradients["weight"], wanted_gradients["weight"], rtol=1e-4, atol=1e-6)
"""

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The wheel; objects are kept in build-wheel-..."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "wheel", ".", "--no-build-isolation", "--no-deps", "-w", str(folder)], limit=3000)
    (file,) = folder.glob("logitile-*.whl")
    return file


def test_it_holds_the_sources_and_what_is_built(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = tree.ROOT / "python"
    sources = {file.relative_to(package).as_posix() for file in tree.files(package, under="logitile")}
    built = {name for name in names if ".dist-info/" not in name} - sources
    assert {name.split(".")[0] for name in built} == {
        "logitile/_native",
        "logitile/_request",
        "logitile/liblogitile_core",
        "logitile/liblogitile_runtime",
        "logitile/liblogitile_emulator",
        "logitile/logitile-stage",
        "logitile/include/logitile",
        "logitile/include/logitile_request",
        "logitile/cmake/logitileConfig",
        "logitile/cmake/logitileConfigVersion",
    }
    assert len(built) == 10


def test_it_works_away_from_the_tree(wheel, tmp_path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "--no-index", "--no-deps", "--target", str(site), str(wheel)], limit=300)
    run([sys.executable, "-c", PROGRAM, str(site)], limit=300, folder=tmp_path, PYTHONPATH=str(site))
    core = site / "logitile" / "liblogitile_core.so"
    needed = run(["llvm-readelf-22", "--needed-libs", str(core)], limit=60).split()
    assert "libc.so.6" in needed and set(needed) <= {"NeededLibraries", "[", "]", *SYSTEM_LIBRARIES}
