#!/usr/bin/env python3
"""Wheels for every CPython from 3.10 to 3.14 that is here with headers.

    build_wheels.py [--build BUILD] [--out FOLDER]

The core, the runtime and the emulator are those of a built tree (./setup.sh). For each Python only
the binding is compiled. auditwheel then says which systems a wheel runs on; one that needs a later
system than its tag says is refused.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_28_x86_64"
OLDEST, NEWEST = (3, 10), (3, 14)
# Systems are older than the compiler: its C++ library goes into the module,
# and glibc is that of 2018.
LINKED = (
    "-static-libstdc++ -shared-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections {old_glibc} "
    "-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2"
)
PROBE = """
import json, os, sys, sysconfig
print(json.dumps([sys.implementation.name, sys.version_info[:2], sysconfig.get_config_var("Py_GIL_DISABLED"),
                  os.path.exists(sysconfig.get_path("include") + "/Python.h")]))
"""


def find_pythons() -> dict[tuple[int, int], str]:
    """Interpreters on PATH and of pyenv, one of each version."""
    folders = os.environ["PATH"].split(os.pathsep)
    folders += glob.glob(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")) + "/versions/*/bin")
    found: dict[tuple[int, int], str] = {}
    for path in [sys.executable, *(path for each in folders for path in glob.glob(each + "/python3*[0-9]"))]:
        done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True)
        if done.returncode != 0:
            continue
        name, version, is_free_threaded, has_headers = json.loads(done.stdout)
        if name == "cpython" and OLDEST <= tuple(version) <= NEWEST and has_headers and not is_free_threaded:
            found.setdefault(tuple(version), path)
    return dict(sorted(found.items()))


def stage(build: pathlib.Path, folder: pathlib.Path) -> None:
    """What all wheels have: sources, libraries, headers, CMake package and metadata."""
    import scikit_build_core.build

    subprocess.run(["ninja", "-C", build, "python_package"], check=True, stdout=subprocess.DEVNULL)
    install = ["cmake", "--install", build, "--component", "python", "--strip", "--prefix", folder]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    for module in (folder / "logitile").glob("_native.*"):
        module.unlink()  # of the Python of the build
    left_out = shutil.ignore_patterns("__pycache__", "*.so", "logitile-stage")
    shutil.copytree(ROOT / "python" / "logitile", folder / "logitile", dirs_exist_ok=True, ignore=left_out)
    os.chdir(ROOT)  # whose pyproject.toml is read
    scikit_build_core.build.prepare_metadata_for_build_wheel(str(folder))


def cached(build: pathlib.Path, name: str) -> str:
    """A variable of CMake."""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.partition("=")[2]
    raise SystemExit(f"build_wheels: {build} has no {name}; make a build first (./setup.sh)")


def compile_binding(build: pathlib.Path, folder: pathlib.Path, python: str) -> None:
    import pybind11

    old_glibc = folder.with_suffix(".OldGlibc.o")
    source = ROOT / "runtime" / "support" / "OldGlibc.c"
    options = ["-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-c", source, "-o", old_glibc]
    subprocess.run([cached(build, "CMAKE_C_COMPILER"), *options], check=True)
    include = f"{pybind11.get_include()}:{build}:{build / 'dialect'}"
    env = dict(os.environ, CXX=cached(build, "CMAKE_CXX_COMPILER"), CPATH=include,
               LDFLAGS=LINKED.format(old_glibc=old_glibc))  # fmt: skip
    command = [ROOT / "python" / "build_binding.sh", python, folder / "logitile"]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)


def pack(folder: pathlib.Path, version: tuple[int, int], out: pathlib.Path) -> pathlib.Path:
    """Writes the tag into the metadata, and the wheel."""
    python = f"cp{version[0]}{version[1]}"
    (info,) = folder.glob("*.dist-info")
    tag = f"{python}-{python}-{PLATFORM}"
    lines = ["Wheel-Version: 1.0", "Generator: logitile", "Root-Is-Purelib: false", f"Tag: {tag}", ""]
    (info / "WHEEL").write_text("\n".join(lines))
    command = [sys.executable, "-m", "wheel", "pack", folder, "-d", out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = out.glob(f"*-{tag}.whl")
    return wheel


def audit(wheel: pathlib.Path) -> None:
    """Ends the command where auditwheel finds that the wheel needs a later system
    than its tag says.
    """
    tool = os.path.join(sysconfig.get_path("scripts"), "auditwheel")
    done = subprocess.run([tool, "show", "--json", wheel], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"build_wheels: auditwheel show {wheel} failed: {done.stderr}")
    needed = json.loads(done.stdout)["overall_tag"]
    if not needed.startswith("manylinux") or older(PLATFORM, needed):
        raise SystemExit(
            f"build_wheels: {wheel.name} is consistent with {needed}, not with its tag; "
            f"'auditwheel show {wheel}' lists the symbols"
        )


def older(one: str, other: str) -> bool:
    """Of two names such as manylinux_2_28_x86_64."""
    return [int(word) for word in one.split("_")[1:3]] < [int(word) for word in other.split("_")[1:3]]


def make(
    build: pathlib.Path, folder: pathlib.Path, out: pathlib.Path, version: tuple[int, int], python: str
) -> pathlib.Path:
    """The wheel of one Python, in a folder of its own."""
    own = folder / f"{version[0]}.{version[1]}"
    shutil.copytree(folder / "stage", own)
    compile_binding(build, own, python)
    wheel = pack(own, version, out)
    audit(wheel)
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a built tree (build)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "wheels", help="(build/wheels)")
    arguments = parser.parse_args()
    build, out = arguments.build.resolve(), arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        stage(build, folder / "stage")
        made = {
            pool.submit(make, build, folder, out, version, python): version
            for version, python in find_pythons().items()
        }
        for future in made:
            wheel = future.result()
            print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
