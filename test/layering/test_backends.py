"""A backend is one folder: compiler and runtime ask through compiler/Target and name none."""
from __future__ import annotations

import pathlib
import re

import tree
from test_includes import includes

BACKENDS = "compiler/Backends/"
# Who may use the folder of a backend: the list of backends, and the devices that run its code.
USERS = {
    "CPU": ("compiler/Backends/BuiltIn.cpp", "runtime/cpu/"),
    "NVPTX": ("compiler/Backends/BuiltIn.cpp", "runtime/cuda/"),
}
# Folders of the runtime that belong to one kind of device.
DEVICES = ("runtime/cpu/", "runtime/cuda/", "runtime/gpu/", "runtime/emulator/")
COMMENT = re.compile(r"//.*")
NAMES = r'"(?:cpu|cuda|emu)(?::|")'
# What one kind of target has: its algorithms of products (all have loops), its instructions in LLVM
# IR, its dialects of MLIR.
OWN = (r"\b(?:hasAmxTiles|hasTensorCores|multipliesInWarpgroups)\b|\bAlgorithm::(?!Loops\b)\w+"
       r"|\bllvm\.(?:x86|nvvm)\b|\b(?:NVVM|NVGPU|AMX|X86Vector)(?:::|Dialect)")
QUESTION = re.compile(rf"{OWN}|\b(?:DeviceKind|packsPanels|is(?:For|On)?(?:Cpu|CPU|Gpu|GPU|Cuda|CUDA))\b"
                      rf"|[=!]=\s*{NAMES}|starts_with\({NAMES}|\btileTable\(\)\."
                      r"|\bprefix\(\)\s*[=!]=|\b(?:CPU|GPU)Target::from\b|\b(?:dynamic_)?cast<[^<>]*Target\b")


def uses_of_backends(root: pathlib.Path) -> list[str]:
    """Includes of a file in the folder of a backend from elsewhere."""
    found = []
    for name in tree.LAYERS:
        for file in tree.files(root, *tree.CPP, under=name):
            where = str(file.relative_to(root))
            for included in includes(file):
                if not included.startswith(BACKENDS):
                    continue
                backend = included.removeprefix(BACKENDS).split("/")[0]
                own = f"{BACKENDS}{backend}/"
                if not where.startswith((own, *USERS.get(backend, ()))):
                    found.append(f"{where} includes {included}; only {own} and its devices may")
    return found


def questions_of_kind(root: pathlib.Path) -> list[str]:
    """Code beside the backends and devices that asks for the backend of a target,
    or knows what one has.
    """
    found = []
    for name in ("compiler", "runtime"):
        for file in tree.files(root, *tree.CPP, under=name):
            where = str(file.relative_to(root))
            if where.startswith((BACKENDS, *DEVICES)):
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if match := QUESTION.search(COMMENT.sub("", line)):
                    found.append(f"{where}:{number} asks {match[0]}; ask the target instead")
    return found


def test_only_its_devices_see_into_a_backend():
    assert uses_of_backends(tree.ROOT) == []


def test_nobody_asks_for_the_kind_of_a_target():
    assert questions_of_kind(tree.ROOT) == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_use_of_a_backend_is_found(tmp_path):
    use = '#include "compiler/Target/Target.h"\n#include "compiler/Backends/CPU/Tier.h"\n'
    for file in ("compiler/A", "compiler/Backends/NVPTX/B", "compiler/Backends/CPU/C", "runtime/cpu/D"):
        tree.write(tmp_path, f"{file}.cpp", use)
    assert [line.split()[0] for line in uses_of_backends(tmp_path)] == [
        "compiler/A.cpp", "compiler/Backends/NVPTX/B.cpp"]


def test_a_question_of_kind_is_found(tmp_path):
    lines = ["bool isForGpu = false;", 'if (prefix == "cpu")', 'name.starts_with("cuda:")',
             "// isForGpu", 'error = "cpu";', "if (target.backend.prefix() == kPrefix)",
             "cpu::CPUTarget::from(target)", "dynamic_cast<const cuda::GPUTarget *>(&target)",
             "facts.hasAmxTiles = true;", "return Algorithm::Wgmma;", "return Algorithm::Loops;",
             'b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512")', "bool isForCpu = true;",
             "op.getAlgorithm() == Algorithm::WgmmaPairs", "isa<NVVM::MmaOp>(op)",
             '#include "mlir/Dialect/LLVMIR/NVVMDialect.h"', "a.tileTable().file != b.tileTable().file"]
    tree.write(tmp_path, "compiler/A.cpp", "\n".join(lines))
    tree.write(tmp_path, "compiler/Backends/CPU/B.cpp", "bool isForGpu;")
    assert [line.split()[0] for line in questions_of_kind(tmp_path)] == [
        "compiler/A.cpp:1", "compiler/A.cpp:2", "compiler/A.cpp:3", "compiler/A.cpp:6", "compiler/A.cpp:7",
        "compiler/A.cpp:8", "compiler/A.cpp:9", "compiler/A.cpp:10",
        *[f"compiler/A.cpp:{line}" for line in range(12, 18)]]
