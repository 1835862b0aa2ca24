"""What differs between kinds of devices is asked of a registry.

Nothing outside of their folders has their names in its code.
"""
from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import tree

NAME = re.compile(r"(cpu|cuda|emu)(:.*)?")
# Folders that are of one kind of device.
FOLDERS = ("runtime/cpu/", "runtime/cuda/", "runtime/emulator/")
# Frameworks have names of their own for memory.
FRAMEWORKS = ("python/logitile/frameworks/", "python/bindings/Xla")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)


def names_in_cpp(root: pathlib.Path) -> Iterator[str]:
    """String literals that are the name of a kind of device, or of one of its targets."""
    for under in ("runtime", "python"):
        for file in tree.files(root, *tree.CPP, under=under):
            path = file.relative_to(root).as_posix()
            if path.startswith((*FOLDERS, *FRAMEWORKS)):
                continue
            text = "\n".join(line.split("//")[0] for line in file.read_text().splitlines())
            for literal in LITERAL.findall(COMMENT.sub("", text)):
                if NAME.fullmatch(literal):
                    yield f'{path} has "{literal}"; ask runtime/device/Platform.h'


def names_in_python(root: pathlib.Path) -> Iterator[str]:
    """Texts that are the name of a kind of device, of a target or of a device,
    or begin an f-string so.
    """
    for file in tree.files(root, ".py", under="python/logitile"):
        path = file.relative_to(root).as_posix()
        if path.startswith(FRAMEWORKS):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                yield f"{path} line {node.lineno} has '{node.value}'; ask logitile.runtime.platforms"


def test_the_runtime_asks_its_registry():
    assert list(names_in_cpp(tree.ROOT)) == []


def test_the_package_asks_the_registry():
    assert list(names_in_python(tree.ROOT)) == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_name_in_the_runtime_is_found(tmp_path):
    text = ('// "cuda"\nbool f(Text t) { return t == "cuda" || t.starts_with("emu:sm_"); } // "cpu"\n'
            'auto u = "cpus";\n')
    tree.write(tmp_path, "runtime/call/Call.cpp", text)
    tree.write(tmp_path, "runtime/cuda/Device.cpp", text)
    assert list(names_in_cpp(tmp_path)) == [
        'runtime/call/Call.cpp has "cuda"; ask runtime/device/Platform.h',
        'runtime/call/Call.cpp has "emu:sm_"; ask runtime/device/Platform.h']


def test_a_name_in_the_package_is_found(tmp_path):
    text = ("a = x == 'cuda'\nb = x.startswith('cpu:')\nc = {'emu': 1}[x]\nd = x in ('auto', 'cpu')\n"
            "e = 'cuda:0'\nf(backend='cpu')\ng = f'the backend cpu is {x}'\nh = f'cuda:{x}'\n'cpu or cuda'\n")
    tree.write(tmp_path, "python/logitile/calls/a.py", text)
    tree.write(tmp_path, "python/logitile/frameworks/b.py", text)
    found = [line.split(" has")[0] for line in names_in_python(tmp_path)]
    assert sorted(found) == [f"python/logitile/calls/a.py line {line}" for line in (1, 2, 3, 4, 5, 6, 8)]
