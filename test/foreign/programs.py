"""Foreign CUDA programs: compiled for the device and the host,
and run in the emulator by foreign_driver.

What compiling made is kept in the build folder until a source, a package or the compiler changes.
Which kernels there are and what they must do is said elsewhere.
"""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess

import inline_ptx
import ml_dtypes
import numpy as np
import tree

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("LOGITILE_BUILD", tree.ROOT / "build"))
TOOLS = ("clang++-22", "ld.lld-22")
PACKAGES = ("nvidia-cutlass", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")
EXAMPLES = "examples/cute/tutorial"
TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
LIMIT_SECONDS = 600


def lacking() -> list[str]:
    """Tools and packages that are not there."""
    names = [tool for tool in TOOLS if not shutil.which(tool)]
    for package in PACKAGES:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            names.append(package)
    return names


def run(command: list[str]) -> str:
    """What a command prints; a RuntimeError with all of it where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        said = done.stdout + done.stderr
        raise RuntimeError(f"{' '.join(command)}\nended with status {done.returncode}:\n{said}")
    return done.stdout


# ---- compiling -----------------------------------------------------------------------------------


def folder_of(module: str) -> pathlib.Path:
    """Where a package lies, without importing it."""
    found = importlib.util.find_spec(module)
    assert found and found.submodule_search_locations, f"package '{module}' has no folder"
    return pathlib.Path(next(iter(found.submodule_search_locations)))


def clang(target: str, example: str) -> list[str]:
    """Compiles a CUDA file of this folder around one file of the package's examples.

    clang wants one folder with all of CUDA, which packages do not make,
    so its headers are named one by one.
    """
    cutlass = folder_of("cutlass_library") / "source"
    cuda = folder_of("nvidia") / "cu13" / "include"
    own = pathlib.Path(run(["clang++-22", "-print-resource-dir"]).strip(), "include")
    includes = [FOLDER / "stand_in", FOLDER, cutlass / "include", cutlass / "tools/util/include"]
    systems = [own / "cuda_wrappers", cuda, cuda / "cccl"]
    return [
        "clang++-22", "-x", "cuda", "-std=c++20", "-w", "-DNDEBUG", f"--cuda-gpu-arch={target}",
        "-nogpulib", "-nocudainc", "-include", "__clang_cuda_runtime_wrapper.h",
        "-Xclang", "-target-sdk-version=12.8",
        *(f"-I{folder}" for folder in includes),
        *(word for folder in systems for word in ("-isystem", str(folder))),
        # else CuTe leaves out what Hopper has
        "-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=8",
        "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL",
        f'-DFOREIGN_EXAMPLE="{cutlass / EXAMPLES / example}"',
    ]  # fmt: skip


def key_of(source: pathlib.Path, command: list[str]) -> str:
    """Changes with all that a compiled program depends on."""
    texts = [" ".join(command), run(["clang++-22", "--version"])]
    texts += [importlib.metadata.version(package) for package in PACKAGES]
    texts += [file.read_text() for file in [source, *sorted(FOLDER.rglob("*.h"))]]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Program:
    """The device's code, translated, and the host's as a shared library."""

    ir: str
    host: pathlib.Path


@functools.cache
def compile_program(name: str, target: str, example: str) -> Program:
    """Compiles <name>.cu of this folder, the two parts side by side."""
    source = FOLDER / f"{name}.cu"
    command = clang(target, example)
    folder = BUILD / "test" / "foreign" / f"{name}-{key_of(source, command)}"
    device, host, made = folder / "device.ll", folder / "host.so", folder / "host.o"
    if not host.exists():
        folder.mkdir(parents=True, exist_ok=True)
        parts = [
            [*command, "-O2", "--cuda-device-only", "-S", "-emit-llvm", str(source), "-o", str(device)],
            [*command, "-O0", "--cuda-host-only", "-c", "-fPIC", str(source), "-o", str(made)],
        ]
        running = [subprocess.Popen(part, stderr=subprocess.PIPE, text=True) for part in parts]
        for part, process in zip(parts, running, strict=True):
            _, said = process.communicate(timeout=LIMIT_SECONDS)
            assert process.returncode == 0, f"{' '.join(part)}\n{said}"
        linker = f"--ld-path={shutil.which('ld.lld-22')}"
        run(["clang++-22", "-shared", linker, str(made), "-o", str(host.with_suffix(".new"))])
        host.with_suffix(".new").rename(host)
    return Program(inline_ptx.translate(device.read_text()), host)


# ---- running -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Case:
    """One product C = A B^T of a program: the name of its function, its sizes,
    and what its operands are.
    """

    name: str
    type: str
    rows: int
    columns: int
    depth: int
    is_along_k: tuple[bool, bool]  # whether elements along K follow each other in A and in B


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Kinds of faults by seed, the largest error of a result, and what was said."""

    faults: dict[int, list[str]]
    error: float
    text: str


def operands(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A and B with the same numbers in each run."""
    random = np.random.default_rng(7)
    shapes = ((case.rows, case.depth), (case.columns, case.depth))
    a, b = (random.standard_normal(shape).astype(TYPES[case.type]) for shape in shapes)
    return a, b


Seeds = tuple[int, ...]


def run_case(program: Program, ir: str, case: Case, folder: pathlib.Path, seeds: Seeds) -> Outcome:
    """Runs a case with `ir` as the device's code: the program's own, or one with a bug put in."""
    a, b = operands(case)
    for file, values, is_along_k in zip("ab", (a, b), case.is_along_k, strict=True):
        np.ascontiguousarray(values if is_along_k else values.T).tofile(folder / file)
    device = folder / "device.ll"
    device.write_text(ir)
    command = [str(BUILD / "test" / "foreign_driver"), str(device), str(program.host), case.name]
    command += [str(size) for size in (case.rows, case.columns, case.depth)]
    command += [str(folder), *map(str, seeds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    faults: dict[int, list[str]] = {seed: [] for seed in seeds}
    for line in done.stdout.splitlines():
        _, seed, _, fault = line.split()
        faults[int(seed)].append(fault)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    results = [np.fromfile(folder / f"c{seed}", np.float32).reshape(exact.shape) for seed in seeds]
    error = max(float(np.nan_to_num(np.abs(result - exact), nan=np.inf).max()) for result in results)
    return Outcome(faults, error, done.stderr)
