"""Includes go one way: dialect <- templates <- compiler <- runtime <- python;
the runtime is free of MLIR.

The emulator checks what the compiler makes, so it shares nothing with it.
"""
from __future__ import annotations

import pathlib
import re

import tree

INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
LLVM = ("mlir/", "llvm/", "llvm-c/", "mlir-c/")
# All that the emulator's library shares with the runtime, which opens it.
EMULATOR_INTERFACE = {
    "runtime/emulator/Interface.h", "runtime/support/Interrupt.h", "runtime/device/KernelCounters.h",
}  # fmt: skip


def includes(file: pathlib.Path) -> list[str]:
    return INCLUDE.findall(file.read_text())


def layer(path: str) -> int | None:
    """Index of the layer that a path from the root, or an include, belongs to."""
    first = path.split("/")[0]
    return tree.LAYERS.index(first) if first in tree.LAYERS else None


def wrong_directions(root: pathlib.Path) -> list[str]:
    """Includes of a layer to the right."""
    found = []
    for name in tree.LAYERS:
        for file in tree.files(root, *tree.CPP, ".td", under=name):
            for included in includes(file):
                other = layer(included)
                if other is not None and other > tree.LAYERS.index(name):
                    where = file.relative_to(root)
                    found.append(f"{where} includes {included}: {name} may not use {tree.LAYERS[other]}")
    return found


def missing_files(root: pathlib.Path) -> list[str]:
    """Includes that escape the rule above: relative ones,
    and those of no file of the tree or the build.
    """
    generated = ("logitile_request.h", "Skeletons.inc", "tiles.json.inc", ".h.inc", ".cpp.inc")
    found = []
    for name in tree.LAYERS:
        for file in tree.files(root, *tree.CPP, under=name):
            for line in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE):
                outside = line.startswith(LLVM) or line.endswith(generated)
                if not outside and not (layer(line) is not None and (root / line).is_file()):
                    where = file.relative_to(root)
                    found.append(f'{where} includes "{line}"; write the path from the root of the tree')
    return found


def reached(root: pathlib.Path, file: pathlib.Path) -> set[str]:
    """Everything that `file` includes, directly or through headers of the tree."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        for included in includes(waiting.pop()):
            if included not in seen:
                seen.add(included)
                if layer(included) is not None and (root / included).is_file():
                    waiting.append(root / included)
    return seen


def compiler_in_runtime(root: pathlib.Path) -> list[str]:
    """Runtime headers that see MLIR or LLVM,
    and files beside Requests.cpp that see compiler/Compile.h.
    """
    found = []
    for file in tree.files(root, ".h", under="runtime"):
        seen = sorted(name for name in reached(root, file) if name.startswith(LLVM))
        if seen:
            where = file.relative_to(root)
            found.append(f"{where} reaches {seen[0]}; runtime headers are free of MLIR and LLVM")
    for file in tree.files(root, *tree.CPP, under="runtime"):
        if file.name != "Requests.cpp" and "compiler/Compile.h" in reached(root, file):
            where = file.relative_to(root)
            found.append(f"{where} reaches compiler/Compile.h; only runtime/engine/Requests.cpp may")
    return found


def emulator_ties(root: pathlib.Path) -> list[str]:
    """What the emulator shares with the rest of the tree beside its interface, both ways."""
    found = []
    for file in tree.files(root, *tree.CPP, under="emulator"):
        allowed = EMULATOR_INTERFACE | {name for name in reached(root, file) if name.startswith("emulator/")}
        found += [f"{file.relative_to(root)} reaches {name}; the emulator shares its interface alone"
                  for name in sorted(reached(root, file) - allowed) if layer(name) is not None]
    for name in tree.LAYERS:
        files = tree.files(root, *tree.CPP, under=name) if name != "emulator" else ()
        found += [f"{file.relative_to(root)} includes {included}; the runtime opens the emulator's library"
                  for file in files for included in includes(file) if included.startswith("emulator/")]
    return found


def test_layers_use_only_those_before_them():
    assert wrong_directions(tree.ROOT) == []


def test_includes_name_files_from_the_root():
    assert missing_files(tree.ROOT) == []


def test_runtime_is_free_of_the_compiler():
    assert compiler_in_runtime(tree.ROOT) == []


def test_the_emulator_shares_its_interface_alone():
    assert emulator_ties(tree.ROOT) == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_use_of_a_later_layer_is_found(tmp_path):
    tree.write(tmp_path, "dialect/A.cpp", '#include "dialect/A.h"\n#include "compiler/B.h"\n')
    tree.write(tmp_path, "compiler/B.h", '#include "dialect/A.h"\n')
    tree.write(tmp_path, "dialect/C.td", 'include "templates/C.td"\n')
    assert wrong_directions(tmp_path) == [
        "dialect/A.cpp includes compiler/B.h: dialect may not use compiler",
        "dialect/C.td includes templates/C.td: dialect may not use templates"]


def test_a_relative_include_is_found(tmp_path):
    includes = ['"A.h"', '"dialect/Gone.h"', '"mlir/IR/Builders.h"', "<vector>"]
    tree.write(tmp_path, "compiler/A.cpp", "".join(f"#include {name}\n" for name in includes))
    assert [line.split()[2] for line in missing_files(tmp_path)] == ['"A.h";', '"dialect/Gone.h";']


def test_mlir_behind_a_runtime_header_is_found(tmp_path):
    tree.write(tmp_path, "runtime/A.h", '#include "compiler/B.h"\n')
    tree.write(tmp_path, "compiler/B.h", '#include "mlir/IR/Builders.h"\n')
    tree.write(tmp_path, "runtime/engine/Requests.cpp", '#include "compiler/Compile.h"\n')
    tree.write(tmp_path, "runtime/Other.cpp", '#include "compiler/Compile.h"\n')
    assert compiler_in_runtime(tmp_path) == [
        "runtime/A.h reaches mlir/IR/Builders.h; runtime headers are free of MLIR and LLVM",
        "runtime/Other.cpp reaches compiler/Compile.h; only runtime/engine/Requests.cpp may"]


def test_a_tie_of_the_emulator_is_found(tmp_path):
    tree.write(tmp_path, "emulator/A.h", '#include "runtime/emulator/Interface.h"\n')
    tree.write(tmp_path, "emulator/Ptx.cpp", '#include "emulator/A.h"\n#include "compiler/Ptx.def"\n')
    tree.write(tmp_path, "runtime/emulator/Interface.h", '#include "runtime/support/Interrupt.h"\n')
    tree.write(tmp_path, "runtime/support/Interrupt.h", "")
    tree.write(tmp_path, "runtime/emulator/Device.cpp", '#include "emulator/A.h"\n')
    assert emulator_ties(tmp_path) == [
        "emulator/Ptx.cpp reaches compiler/Ptx.def; the emulator shares its interface alone",
        "runtime/emulator/Device.cpp includes emulator/A.h; the runtime opens the emulator's library"]
