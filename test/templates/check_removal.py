"""Takes each skeleton of templates/ away in turn and checks that a schedule that uses it
fails and names it.

Skeletons are embedded in the tools as text, so a copy of logitile-opt in which a template's name is
overwritten is a tool that was built without it. The schedules are those of test/stages.

Run as: check_removal.py FOLDER, where the copy is made;
logitile-compile and logitile-opt are in the path.
"""
from __future__ import annotations

import itertools
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("cpu:avx2", "cuda:sm_80")


def make_plans() -> list[str]:
    """The plan stage of every loss of test/stages, for every target."""
    plans = []
    for file, target in itertools.product(sorted((ROOT / "test" / "stages").glob("*.mlir")), TARGETS):
        spec = file.read_text().replace("$TARGET", target)
        if "$CPU" in spec:
            if not target.startswith("cpu"):
                continue
            spec = spec.replace("$CPU", target)
        done = subprocess.run(["logitile-compile", "--to=plan"], input=spec, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{file.name} has no plan:\n{done.stderr}")
        plans.append(done.stdout)
    return plans


def specialise(tool: str, plan: str) -> str:
    """What the tool complains about when it instantiates the templates of a plan;
    empty where it does not.
    """
    command = [tool, "--logitile-specialise", "-o", "/dev/null"]
    done = subprocess.run(command, input=plan, capture_output=True, text=True)
    return (done.stderr or f"exit status {done.returncode}") if done.returncode else ""


def without(tool: bytes, name: str) -> bytes:
    """The tool with the name of one embedded template overwritten."""
    embedded = f"logitile.template @{name}<".encode()
    if tool.count(embedded) != 1:
        sys.exit(f"the tool holds {embedded!r} {tool.count(embedded)} times, expected once")
    return tool.replace(embedded, f"logitile.template @{'_' * len(name)}<".encode())


def problem(whole: bytes, folder: pathlib.Path, plans: list[str], name: str) -> str:
    """Why a skeleton is not missed; empty where it is."""
    users = [plan for plan in plans if f"from @{name}<" in plan]
    if not users:
        return "is used by no schedule of test/stages"
    tool = folder / "logitile-opt"
    tool.write_bytes(without(whole, name))
    tool.chmod(0o755)
    complaint = specialise(str(tool), users[0])
    missed = f"names template @{name}, which does not exist" in complaint
    return "" if missed else f"is not missed: {complaint!r}"


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    whole = pathlib.Path(shutil.which("logitile-opt")).read_bytes()
    plans = make_plans()
    complaints = [f"a plan of test/stages fails with all skeletons there: {complaint}"
                  for complaint in (specialise("logitile-opt", plan) for plan in plans) if complaint]
    names = sorted(file.stem for file in (ROOT / "templates").glob("*.mlir"))
    for name in names:
        if found := problem(whole, folder, plans, name):
            complaints.append(f"templates/{name}.mlir {found}")
    shutil.rmtree(folder)
    print("\n".join(complaints) or f"{len(names)} skeletons are missed when they are gone")
    return 1 if complaints or not names else 0


if __name__ == "__main__":
    sys.exit(main())
