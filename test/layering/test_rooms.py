"""Folders of one layer include each other in one direction.

What is in a folder can be read without those above it.
"""
from __future__ import annotations

import pathlib

import tree
from test_includes import includes
from test_packages import circle

LAYERS = ("dialect", "compiler", "runtime", "emulator")  # whose folders have an order
FILES = 15  # of different subjects in one folder; a header and its source are one


def folder_arrows(root: pathlib.Path, layer: str) -> dict[str, list[str]]:
    """For each folder of a layer those that its files include files of, sorted."""
    arrows: dict[str, set[str]] = {}
    for file in tree.files(root, *tree.CPP, ".c", ".td", under=layer):
        own = file.parent.relative_to(root).as_posix()
        inside = [included for included in includes(file) if included.startswith(f"{layer}/")]
        others = {included.rsplit("/", 1)[0] for included in inside}
        arrows.setdefault(own, set()).update(others - {own, layer})
    for others in list(arrows.values()):
        for other in others:
            arrows.setdefault(other, set())
    return {name: sorted(others) for name, others in arrows.items()}


def crowded(root: pathlib.Path, layer: str) -> list[str]:
    """Folders with too many subjects."""
    subjects: dict[str, set[str]] = {}
    for file in tree.files(root, *tree.CPP, ".c", ".td", under=layer):
        subjects.setdefault(file.parent.relative_to(root).as_posix(), set()).add(file.stem)
    return [f"{name} has {len(found)} subjects, more than {FILES}; give some of them a folder"
            for name, found in subjects.items() if len(found) > FILES]


def test_folders_include_each_other_in_no_circle():
    for layer in LAYERS:
        assert " includes ".join(circle(folder_arrows(tree.ROOT, layer))) == ""


def test_folders_have_few_subjects():
    for layer in LAYERS:
        assert crowded(tree.ROOT, layer) == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_circle_of_folders_is_named(tmp_path):
    call, plan = ("plan/Plan.h", "api.h"), ("call/Rules.h", "plan/Key.h")
    for name, included in {"call/Call.h": call, "plan/Plan.h": plan}.items():
        tree.write(tmp_path, f"runtime/{name}", "".join(f'#include "runtime/{one}"\n' for one in included))
    tree.write(tmp_path, "runtime/api.h", "")
    assert circle(folder_arrows(tmp_path, "runtime")) == ["runtime/call", "runtime/plan", "runtime/call"]


def test_a_crowded_folder_is_named(tmp_path):
    for number in range(FILES + 1):
        tree.write(tmp_path, f"runtime/call/A{number}.h", "")
        tree.write(tmp_path, f"runtime/call/A{number}.cpp", "")
    assert crowded(tmp_path, "runtime") == [
        "runtime/call has 16 subjects, more than 15; give some of them a folder"]
