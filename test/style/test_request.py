"""A member of a request has one definition, compiler/Request.def.

What cannot be made from it agrees with it.
"""
from __future__ import annotations

import ast
import re

import ods
import tree

ROW = re.compile(r"^LOGITILE_REQUEST(?:_(\w+))?\((.*)\)\s*(?://.*)?$", re.MULTILINE)


def rows() -> list[tuple[str, list[str]]]:
    """Kind ("", "LIST", ...) and names of each row: that of C, IR and Python, and of lists their length's."""
    text = (tree.ROOT / "compiler/Request.def").read_text()
    table = text[text.rindex("#endif") : text.index("#undef")]
    found = [(kind, re.split(r",\s*(?![^<]*>)", fields)) for kind, fields in ROW.findall(table)]
    return [(kind, fields[2:]) for kind, fields in found]


def members_of_c() -> list[str]:
    """Of lt_request, in order."""
    header = (tree.ROOT / "runtime/logitile.h").read_text()
    body = re.sub(r"/\*.*?\*/", "", header[: header.index("} lt_request;")].rpartition("typedef struct")[2])
    return re.findall(r"(\w+);", body)


def program() -> ast.ClassDef:
    text = (tree.ROOT / "python/logitile/_native.pyi").read_text()
    stub = ast.parse(re.sub(r"^type ", "", text, flags=re.MULTILINE))  # a statement of Python 3.12
    return next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Program")


def test_the_table_has_rows():
    assert ("LIST", ["projections", "projection_count"]) in rows() and ("", ["threads"]) in rows()


def test_the_c_struct_has_the_members_of_the_table():
    assert members_of_c() == [name for kind, names in rows() if kind != "CALL" for name in names]


def test_the_attribute_has_the_members_of_the_table():
    attributes = ods.records("dialect/operations/Logitile.td", "AttrDef")
    (request,) = [record for record in attributes if record["cppClassName"] == "RequestAttr"]
    names = [names[0] for kind, names in rows() if kind not in ("TEXT", "NOTE")]
    assert [name for _, name in request["parameters"]["args"]] == names
    assert [name for name in names if f"`{name}`:" not in request["description"]] == []


def test_the_python_class_has_the_members_of_the_table():
    names = [names[0] for kind, names in rows() if kind != "CALL"]
    functions = [node for node in program().body if isinstance(node, ast.FunctionDef)]
    made = next(node for node in functions if node.name == "__init__")
    assert [argument.arg for argument in made.args.kwonlyargs] == names
    told = ast.get_docstring(program()) or ""
    assert [name for name in names if not re.search(rf"^ *{name}:", told, re.MULTILINE)] == []
