"""Checks every skeleton of templates/: valid IR that survives a round trip, one template of the
file's own name (launches are resolved by nothing else), and a test of its kernel in this folder.

Run as: check_skeletons.py LOGITILE_OPT.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKELETONS = HERE.parent.parent / "templates"


def problems(tool: str, skeleton: pathlib.Path) -> list[str]:
    """What is wrong with one skeleton."""
    found = []
    for flag in ("--verify-roundtrip", "--mlir-print-op-generic"):
        done = subprocess.run([tool, flag, str(skeleton)], capture_output=True, text=True)
        again = subprocess.run([tool], input=done.stdout, capture_output=True, text=True)
        if done.returncode or again.returncode:
            found.append(f"is refused with {flag}:\n{done.stderr}{again.stderr}")
    names = re.findall(r"^\s*logitile\.template @(\w+)", skeleton.read_text(), re.MULTILINE)
    if names != [skeleton.stem]:
        found.append(f"holds the templates {names}, expected one @{skeleton.stem}")
    test = HERE / skeleton.name
    if not test.is_file() or f"from @{skeleton.stem}<" not in test.read_text():
        found.append(f"has no test in test/templates/{skeleton.name}")
    return found


def main() -> int:
    skeletons = sorted(SKELETONS.glob("*.mlir"))
    complaints = [f"templates/{skeleton.name} {problem}"
                  for skeleton in skeletons for problem in problems(sys.argv[1], skeleton)]
    print("\n".join(complaints) or f"{len(skeletons)} skeletons are valid")
    return 1 if complaints or not skeletons else 0


if __name__ == "__main__":
    sys.exit(main())
