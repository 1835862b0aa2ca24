#!/usr/bin/env python3
"""Starts a pass: its definition in Passes.td, its .cpp,
its line in CMakeLists.txt and its first lit test.

    python compiler/tools/new_pass.py FormSweeps --on module

gives the pass `logitile-form-sweeps` in compiler/Transforms/FormSweeps.cpp. It builds, and refuses
to do anything; its test says so. Then write, in this order: the contract in Passes.td, a test, the
pass.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPERATIONS = {"module": "mlir::ModuleOp", "loss": "logitile::LossOp", "program": "logitile::ProgramOp",
              "kernel": "logitile::KernelOp"}

DEFINITION = """
def {name}Pass : Pass<"{flag}", "{operation}"> {{
  let summary = "does nothing yet";
  let description = [{{
    Before: what it takes. After: what it leaves.
    Refuses: everything.
  }}];
}}
"""

SOURCE = """// {name}.cpp - what this pass does, in a line. What it leaves to others.
#include "compiler/Passes.h"
using namespace mlir;

namespace logitile {{
#define GEN_PASS_DEF_{upper}PASS
#include "compiler/Passes.h.inc"

namespace {{
struct {name}Pass : impl::{name}PassBase<{name}Pass> {{
  void runOnOperation() override {{
    getOperation().emitOpError() << "is not taken by {flag}, which does nothing yet";
    signalPassFailure();
  }}
}};
}} // namespace
}} // namespace logitile
"""

EXAMPLES = {
    "module": ("builtin.module", "module @start {\n}\n"),
    "loss": ("logitile.loss", "logitile.loss @start vocab 5 outputs [] {\n  logitile.yield\n}\n"),
    "program": ("logitile.program",
                "logitile.program @start vocab 5 outputs [] indices [] checked [] {\n}\n"),
    "kernel": ("logitile.kernel", 'logitile.kernel @start(%count: index from tokens) {\n}\n'),
}

TEST = """// RUN: logitile-opt --{flag} --verify-diagnostics %s

// expected-error @+1 {{{{'{op}' op is not taken by {flag}, which does nothing yet}}}}
{example}"""


def flag_of(name: str) -> str:
    """FormSweeps -> logitile-form-sweeps; several capitals in a row are one word."""
    return "logitile-" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def with_definition(text: str, definition: str) -> str:
    """Passes.td with one more pass, after the others."""
    head, end, tail = text.rpartition("#endif")
    if not end:
        sys.exit("new_pass: Passes.td does not end in #endif")
    return head.rstrip("\n") + "\n" + definition + end + tail


def with_source(text: str, source: str) -> str:
    """CMakeLists.txt with one more source, after the last one of Transforms/."""
    places = list(re.finditer(r"Transforms/[\w/]+\.cpp", text))
    if not places:
        sys.exit("new_pass: CMakeLists.txt has no source in Transforms/ to stand after")
    end = places[-1].end()
    return f"{text[:end]}\n  {source}{text[end:]}"


def start_pass(root: pathlib.Path, name: str, on: str) -> list[pathlib.Path]:
    """Writes the four files and returns their paths.
    Ends the command where the name is taken or no name.
    """
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) or name.endswith("Pass"):
        sys.exit(f"new_pass: '{name}' is no name of a pass; expected CamelCase without 'Pass'")
    compiler, flag = root / "compiler", flag_of(name)
    passes, lists = compiler / "Passes.td", compiler / "CMakeLists.txt"
    source = compiler / "Transforms" / f"{name}.cpp"
    test = root / "test" / "transforms" / flag / "start.mlir"
    if f"def {name}Pass " in passes.read_text() or source.exists() or test.exists():
        sys.exit(f"new_pass: pass {name} exists")
    op, example = EXAMPLES[on]
    definition = DEFINITION.format(name=name, flag=flag, operation=OPERATIONS[on])
    passes.write_text(with_definition(passes.read_text(), definition))
    lists.write_text(with_source(lists.read_text(), f"Transforms/{name}.cpp"))
    source.write_text(SOURCE.format(name=name, upper=name.upper(), flag=flag))
    test.parent.mkdir(parents=True)
    test.write_text(TEST.format(flag=flag, op=op, example=example))
    return [passes, lists, source, test]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="in CamelCase, without 'Pass'")
    parser.add_argument("--on", choices=OPERATIONS, default="module", help="the op that it runs on (module)")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the source tree")
    arguments = parser.parse_args()
    for file in start_pass(arguments.root.resolve(), arguments.name, arguments.on):
        print(file.relative_to(arguments.root.resolve()))


if __name__ == "__main__":
    main()
