"""The emulator's library: opened by the first call that needs it,
and what is said where it is missing.
"""

import os
import pathlib
import subprocess
import sys

import pytest
from logitile import _native

BUILT = pathlib.Path(_native.__file__).resolve().parents[1]
LIBRARY = "liblogitile_emulator.so"
START = """
import numpy as np
import logitile as lt

rng = np.random.default_rng(0)
arrays = [rng.standard_normal(shape, np.float32) for shape in ((3, 8), (20, 8))]

def loss(backend):
    return lt.jit(lt.losses.cross_entropy, backend=backend)(*arrays, target=np.arange(3))

def refusal(backend):
    try:
        loss(backend)
    except lt.errors.TargetError as error:
        return str(error)

def is_open():
    with open("/proc/self/maps") as maps:
        return "liblogitile_emulator" in maps.read()

"""


def run(package: pathlib.Path, code: str) -> str:
    """What a new process prints whose package is in that folder."""
    environment = dict(os.environ, PYTHONPATH=str(package))
    done = subprocess.run([sys.executable, "-c", START + code], env=environment, capture_output=True,
                          text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with the package, but without the emulator's library."""
    (tmp_path / "logitile").mkdir()
    for file in (BUILT / "logitile").iterdir():
        if file.name not in (LIBRARY, "__pycache__"):
            (tmp_path / "logitile" / file.name).symlink_to(file)
    return tmp_path


def test_it_is_opened_when_a_call_first_needs_it():
    code = "loss('cpu'); before = is_open(); loss('emu:sm_80'); print(before, is_open())"
    assert run(BUILT, code) == "False True"


def test_texts_of_stages_do_not_need_it(package):
    code = (
        "head = lt.jit(lt.losses.cross_entropy, backend='emu:sm_80')\n"
        "print('ptx_kernel' in head.ir('llvm', *arrays, target=np.arange(3)))"
    )
    assert run(package, code) == "True"


def test_a_call_without_it_says_what_is_missing(package):
    path = package / "logitile" / LIBRARY
    found = run(package, "print(refusal('emu:sm_80')); loss('cpu')")
    assert found == (
        f"the emulator of GPUs cannot be used: its library '{path}' cannot be opened ({path}: cannot open "
        "shared object file: No such file or directory); put the file there, or choose another backend"
    )


def test_the_library_of_another_version_is_refused(package):
    path = package / "logitile" / LIBRARY
    path.symlink_to(BUILT / "logitile" / "liblogitile_core.so")
    assert run(package, "print(refusal('emu:sm_80'))") == (
        f"the emulator of GPUs cannot be used: '{path}' is of another version of logitile; take it from the "
        "build that this library is from"
    )


def test_a_call_looks_again_for_a_library_that_was_missing(package):
    path, source = package / "logitile" / LIBRARY, BUILT / "logitile" / LIBRARY
    code = (
        "import os\n"
        f"first = refusal('emu:sm_80'); os.symlink({str(source)!r}, {str(path)!r})\n"
        "print(first is None, float(loss('emu:sm_80')) > 0)"
    )
    assert run(package, code) == "False True"
