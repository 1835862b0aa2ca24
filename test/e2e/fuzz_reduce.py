"""Cuts a case down while it stays wrong: first how it is called, then the text of its loss."""

from __future__ import annotations

import ast
import copy
import dataclasses
import warnings
from collections.abc import Iterator

import fuzz_verdict
import logitile as lt
import numpy as np
import wild_specs
from fuzz_verdict import HIDDENS, TOKENS, VOCABS, Case


def reduced(case: Case) -> Case:
    """The smallest case that was found to fail in the same way,
    or the case itself if it does not fail.
    """
    wanted = symptom(case)
    if wanted is None:
        return case
    reducer = Reducer(wanted)
    for candidates in (simpler_calls, inlined, shorter_texts, simpler_calls, inlined, shorter_texts):
        case = reducer.exhausted(case, candidates)
    return case


def symptom(case: Case) -> str | None:
    """How a case fails."""
    try:
        verdict = fuzz_verdict.verdict(case)
    except Exception as error:
        # of the compiler or of torch: a text that no longer fits together, mostly
        return type(error).__name__
    if verdict.kind == "wrong":
        return "wrong" if np.isfinite([error for error, _ in verdict.errors.values()]).all() else "not finite"
    return "failed" if verdict.kind == "failed" else None


@dataclasses.dataclass
class Reducer:
    """Takes a candidate in place of a case if it fails with the same symptom."""

    wanted: str
    tried: set[str] = dataclasses.field(default_factory=set)

    def exhausted(self, case, candidates):
        """The case after every cut that it stands."""
        found = case
        while found is not None:
            case = found
            found = next((cut for cut in candidates(case) if self._fails(cut)), None)
        return case

    def _fails(self, case):
        what = f"{case}{case.loss.source}"
        if what in self.tried:
            return False
        self.tried.add(what)
        return symptom(case) == self.wanted


# ---- calls ---------------------------------------------------------------------------------------


def simpler_calls(case: Case) -> Iterator[Case]:
    for name in case.options.keys() - {"reduction"}:
        yield dataclasses.replace(case, options={k: v for k, v in case.options.items() if k != name})
    if case.options["reduction"] != "none":
        yield dataclasses.replace(case, options=case.options | {"reduction": "none"})
    if case.dtype != "float32":
        yield dataclasses.replace(case, dtype="float32")
    for field, sizes in (("tokens", TOKENS), ("vocab", VOCABS)):
        for size in sizes:
            if size < getattr(case, field):
                yield dataclasses.replace(case, **{field: size})
    for size in HIDDENS:
        if size < max(case.hidden):
            yield dataclasses.replace(case, hidden=(size, size))
    if case.loss.bias != 1:
        yield dataclasses.replace(case, loss=dataclasses.replace(case.loss, bias=1.0))
    for scale in (1.0, 1e2, 1e3, 1e4, 1e6):
        if scale < case.loss.scale:
            yield dataclasses.replace(case, loss=dataclasses.replace(case.loss, scale=scale))


# ---- texts ---------------------------------------------------------------------------------------


def with_body(case, body):
    """The case with other statements; None where they are no loss."""
    lines = [f"    {ast.unparse(statement)}" for statement in body]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of 1.0[y], which is no loss
            source, used, loss = wild_specs.defined(case.loss.seed, lines)
    except (SyntaxError, TypeError, lt.LogitileError):
        return None
    if len(source) >= len(case.loss.source):
        return None
    shorter = dataclasses.replace(case.loss, source=source, inputs=used, loss=loss)
    return dataclasses.replace(case, loss=shorter)


def body_of(case):
    return ast.parse(case.loss.source).body[0].body


class _Inliner(ast.NodeTransformer):
    def __init__(self, name, value):
        self.name, self.value = name, value

    def visit_Name(self, node):
        return copy.deepcopy(self.value) if node.id == self.name else node


def inlined(case: Case) -> Iterator[Case]:
    """With a variable less, where only one place reads it."""
    for position, statement in enumerate(body_of(case)[:-1]):
        body = body_of(case)
        name = statement.targets[0].id
        reads = [node for other in body for node in ast.walk(other) if isinstance(node, ast.Name)]
        if sum(node.id == name and isinstance(node.ctx, ast.Load) for node in reads) == 1:
            rest = [_Inliner(name, statement.value).visit(other) for other in body[position + 1 :]]
            cut = with_body(case, body[:position] + rest)
            if cut is not None:
                yield cut


def shorter_texts(case: Case) -> Iterator[Case]:
    """With a part of an expression in place of the whole, the largest expressions first."""
    places = [(len(ast.unparse(node)), position) for position, node in enumerate(_expressions(body_of(case)))]
    for _, position in sorted(places, reverse=True):
        for choice in range(8):
            body = body_of(case)
            node = _expressions(body)[position]
            parts = _parts(node)
            if choice >= len(parts):
                break
            cut = with_body(case, [_Replacer(node, parts[choice]).visit(statement) for statement in body])
            if cut is not None:
                yield cut


def _expressions(body):
    nodes = [node for statement in body for node in ast.walk(statement)]
    shortest = (ast.Name, ast.Constant, ast.Attribute)
    return [node for node in nodes if isinstance(node, ast.expr) and not isinstance(node, shortest)]


def _parts(node):
    """What an expression may shrink to."""
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        shorter = [node.keywords[:i] + node.keywords[i + 1 :] for i in range(len(node.keywords))]
        parts += [ast.Call(node.func, node.args, keywords) for keywords in shorter if keywords]
    return parts + [ast.Name("z"), ast.Name("y"), ast.Constant(1.0)]


class _Replacer(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else super().visit(node)
