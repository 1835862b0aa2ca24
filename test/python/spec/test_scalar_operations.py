"""The table of scalar operations: each has a meaning wherever operations have one."""

import plan_interpreter
import pytest
import torch_reference
from logitile.reference.operations import OPERATIONS
from logitile.spec.operations import scalar_operations

ROWS = sorted(scalar_operations().values(), key=lambda row: (row.name, row.operands))
COMPARISONS = ("arith.cmpf", "arith.cmpi")  # by their predicates
CONVERSIONS = ("arith.sitofp", "arith.uitofp")
LETTERS = {"f32": "f", "i32": "i", "i1": "b"}


def named(row):
    return f"{row.name} {''.join(LETTERS[type] for type in row.operands)}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in COMPARISONS], ids=named)
def test_the_reference_knows_it_and_what_flows_back(row):
    operation = OPERATIONS[row.name]
    assert callable(operation.value)
    if row.flows:
        assert len(operation.flows) == len(row.operands)


def test_the_reference_knows_no_other():
    assert set(OPERATIONS) == {row.name for row in ROWS} - set(COMPARISONS)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_gradient_flows_between_floats_alone(row):
    assert all(row.operands[position] == "f32" for position in row.flows)
    assert not row.flows or row.result == "f32"


def test_torch_and_the_interpreter_of_plans_know_all():
    by_predicate = {*COMPARISONS, *CONVERSIONS}
    names = {row.name for row in ROWS} - by_predicate
    assert names - {"math.absi"} <= set(torch_reference.ELEMENTWISE)
    rewritten = {"math.exp2", "math.log2", "math.rsqrt"}  # no plan has them
    own_cases = {"arith.select", "math.clampf", "logitile.stop_gradient", "logitile.uniform"}
    assert names - rewritten - own_cases <= {*plan_interpreter._UNARY, *plan_interpreter._BINARY}


TEXT = """
logitile.loss @each vocab 8 outputs ["loss"] gradient of ["loss"] wrt ["z"] {{
  %z = logitile.input logits "z" : f32
  %f = logitile.input token "f" : f32
  %i = logitile.input token "i" : i32
  %b = arith.cmpi sgt, %i, %i : i32
  %r = {operation}
  %total = logitile.reduce sum %z : f32 -> f32
  {used}
  %loss = arith.addf %total, %x : f32
  logitile.yield %loss : f32
}}
"""
PREDICATES = {"arith.cmpf": "olt, ", "arith.cmpi": "eq, "}
USES = {
    "f32": "%x = arith.mulf %r, %f : f32",
    "i32": "%x = arith.sitofp %r : i32 to f32",
    "i1": "%x = arith.uitofp %r : i1 to f32",
}


def operation_text(row):
    """The operation on %f, %i and %b, in the syntax of MLIR."""
    operands = [f"%{LETTERS[type]}" for type in row.operands]
    if row.name == "math.clampf":
        return f"math.clampf {operands[0]} to [{operands[1]}, {operands[2]}] : f32"
    if row.name in CONVERSIONS:
        return f"{row.name} {operands[0]} : {row.operands[0]} to {row.result}"
    type = row.result if row.name in ("arith.select", "logitile.uniform") else row.operands[0]
    return f"{row.name} {PREDICATES.get(row.name, '')}{', '.join(operands)} : {type}"


def test_the_compiler_takes_each_by_its_type_rule(logitile_opt):
    texts = [TEXT.format(operation=operation_text(row), used=USES[row.result]) for row in ROWS]
    passes = ("--logitile-canonicalise-loss", "--logitile-differentiate", "--logitile-form-sweeps")
    logitile_opt("\n// -----\n".join(texts), "--split-input-file", *passes)
