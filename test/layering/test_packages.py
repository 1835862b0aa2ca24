"""Modules of the Python package import each other in no circle, and its packages in one direction.

Every import counts, wherever it stands: at the top, in a function, or under `if TYPE_CHECKING`.
"""
from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import tree

PACKAGE = "python/logitile"
# Packages and modules of logitile, the lowest first: each may use itself and those before it.
ORDER = (
    "_native", "errors", "messages", "runtime", "frameworks", "spec", "language", "losses", "arguments",
    "calls", "slices", "parallel", "reference", "inspection", "view", "tuned", "routes", "heads", "head",
    "jit", "tuning", "testing", "torch", "nn", "jax", "integrations", "command", "__main__", "__init__",
)  # fmt: skip


def modules(root: pathlib.Path) -> dict[str, pathlib.Path]:
    """Files by the name of their module below logitile. A package is its `__init__`;
    the compiled module has a .pyi alone.
    """
    folder = root / PACKAGE
    return {".".join(file.relative_to(folder).with_suffix("").parts): file
            for file in tree.files(root, ".py", ".pyi", under=PACKAGE)}


def imports(module: str, file: pathlib.Path, known: set[str]) -> Iterator[str]:
    """The modules that a module imports anywhere in its text; the compiled one imports none."""
    if file.suffix == ".pyi":
        return
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "logitile":
                    yield from found(alias.name.split(".")[1:], None, known)
        elif isinstance(node, ast.ImportFrom):
            start = origin(module, node)
            for alias in node.names if start is not None else ():
                yield from found(start, alias.name, known)


def origin(module: str, node: ast.ImportFrom) -> list[str] | None:
    """What `from ... import` names, below logitile; None for other packages."""
    named = node.module.split(".") if node.module else []
    if node.level:
        return [*module.split(".")[: -node.level], *named]
    return named[1:] if named and named[0] == "logitile" else None


def found(path: list[str], name: str | None, known: set[str]) -> Iterator[str]:
    """The module of a name that is imported: the name itself where it is a module,
    else where it is from.
    """
    candidates = [[*path, name], [*path, name, "__init__"]] if name else []
    for candidate in [*candidates, path, [*path, "__init__"]]:
        if ".".join(candidate) in known:
            yield ".".join(candidate)
            return


def graph(root: pathlib.Path) -> dict[str, list[str]]:
    """For each module those that it imports, sorted."""
    files = modules(root)
    return {name: sorted(set(imports(name, file, set(files))) - {name}) for name, file in files.items()}


def circle(arrows: dict[str, list[str]]) -> list[str]:
    """Modules that import each other in a circle, ending with the first one again;
    empty without one.
    """
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name):], name]
        if name in done:
            return []
        for other in arrows[name]:
            if around := walk(other, [*path, name]):
                return around
        done.add(name)
        return []

    return next((around for name in arrows if (around := walk(name, []))), [])


def wrong_directions(root: pathlib.Path) -> list[str]:
    """Imports of a package that comes later, and packages that have no place in the order."""
    arrows = graph(root)
    tops = {name: name.split(".")[0] for name in arrows}
    strangers = sorted(set(tops.values()) - set(ORDER))
    if strangers:
        return [f"'{name}' has no place in ORDER of test/layering/test_packages.py" for name in strangers]
    return [f"{name} imports {other}: '{tops[name]}' may not use '{tops[other]}'"
            for name, others in arrows.items() for other in others
            if ORDER.index(tops[other]) > ORDER.index(tops[name])]


def test_modules_import_each_other_in_no_circle():
    assert " imports ".join(circle(graph(tree.ROOT))) == ""


def test_packages_use_only_those_before_them():
    assert wrong_directions(tree.ROOT) == []


# ---- that the rules find what they are for -------------------------------------------------------


def made(root: pathlib.Path, **texts: str) -> pathlib.Path:
    """A package of modules, `__` standing for a folder's slash."""
    for name, text in texts.items():
        tree.write(root, f"{PACKAGE}/{name.replace('__', '/')}.py", text)
    return root


def test_a_circle_of_imports_at_the_top_is_named(tmp_path):
    made(tmp_path, spec__a="from .b import f\n", spec__b="from ..calls import c\n",
         calls__c="import logitile.spec.a\n", calls__d="from .c import g\n")
    assert circle(graph(tmp_path)) == ["calls.c", "spec.a", "spec.b", "calls.c"]


def test_a_circle_through_a_function_or_for_types_alone_is_named(tmp_path):
    made(tmp_path, spec__a="def f():\n    from . import b\n",
         spec__b="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from logitile.spec.a import f\n")
    assert circle(graph(tmp_path)) == ["spec.a", "spec.b", "spec.a"]


def test_a_circle_through_a_package_is_named(tmp_path):
    tree.write(tmp_path, f"{PACKAGE}/losses/__init__.py", "from .a import one\n")
    made(tmp_path, losses__a="from .. import losses\n")
    assert circle(graph(tmp_path)) == ["losses.__init__", "losses.a", "losses.__init__"]


def test_two_ways_to_one_module_are_no_circle(tmp_path):
    both = "from .d import f\nimport torch\n"
    made(tmp_path, a="from . import b, c\n", b=both, c=both, d="")
    assert circle(graph(tmp_path)) == []
    assert graph(tmp_path) == {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}


def test_a_use_of_a_later_package_is_found(tmp_path):
    made(tmp_path, spec__a="def f():\n    from ..calls.b import g\n", calls__b="from ..errors import E\n")
    made(tmp_path, errors="")
    assert wrong_directions(tmp_path) == ["spec.a imports calls.b: 'spec' may not use 'calls'"]


def test_a_package_without_a_place_is_found(tmp_path):
    made(tmp_path, helpers__a="")
    assert wrong_directions(tmp_path) == ["'helpers' has no place in ORDER of test/layering/test_packages.py"]
