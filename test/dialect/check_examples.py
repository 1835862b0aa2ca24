"""Parses every ```mlir block of the .td descriptions with logitile-opt: the reference
shows only valid IR.

An example names values that it does not define. Each gets a definition after the example, in a
module, where order does not matter; its type is the one that the parser names when it meets a
definition of the wrong type. Examples of parts (an adjoint, a sweep, ...) stand inside what they
need. Types and attributes stand one to a line.

Run as: check_examples.py LOGITILE_OPT.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
import ods  # noqa: E402

HERE = "<example>"
PROGRAM = f"""logitile.program @around vocab 32000 outputs [] indices [] checked [] {{
{HERE}
}}"""
SCHEDULE = PROGRAM.replace(HERE, f"""logitile.schedule tokens [0, 4096) vocab_split 2048 stored 0 {{
logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x1024xf32>
{HERE}
}}""")
RUN = SCHEDULE.replace(HERE, f"logitile.run forward {{\n{HERE}\n}}")
LOSS = f"""logitile.loss @around vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z", "temperature"] {{
%target = logitile.input token "target" : i32
%minus_one = logitile.input token "minus_one" : f32
%p = logitile.input logits "z" : f32
%d = logitile.input scalar "temperature" : f32
{HERE}
logitile.yield %d : f32
}}"""
OUTPUTS = f"""logitile.loss @around vocab 32000 outputs ["loss", "entropy"] {{
%loss = logitile.input token "loss" : f32
%entropy = logitile.input token "entropy" : f32
{HERE}
}}"""
SWEEP = """logitile.sweep @statistics forward state ["max" : f32, "sum" : f32] init {
%c = arith.constant 0.0 : f32
logitile.yield %c, %c : f32, f32
} candidate {
logitile.yield
} update {
^bb0(%a: f32, %b: f32):
logitile.yield %a, %b : f32, f32
} merge {
^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
logitile.yield %a, %b : f32, f32
}
"""
AFTER = PROGRAM.replace(HERE, f"""logitile.finish @after_statistics forward results ["lse" : f32] {{
%c = arith.constant 0.0 : f32
logitile.yield %c : f32
}}
logitile.finish @later forward results ["loss" : f32] {{
{HERE}
logitile.yield %lse : f32
}}""")
PICKS = SWEEP.replace("] init {", '] picks [#logitile.pick<"z" at "candidates" places 64>] init {')
PICKED = PROGRAM.replace(HERE, f"""{PICKS}
logitile.finish @later forward places 64 summed results ["sum" : f32] {{
{HERE}
logitile.yield %of_candidates : f32
}}""")
# What stands around the example of an op, by mnemonic.
AROUND = {
    "gradient": LOSS,
    "adjoint": LOSS.replace(HERE, f"logitile.gradient {{\n{HERE}\n}}"),
    "yield": OUTPUTS,
    "sweep": PROGRAM,
    "finish": PROGRAM.replace(HERE, SWEEP + HERE),
    "known": AFTER,
    "picked": PICKED,
    "schedule": PROGRAM,
    "buffer": SCHEDULE,
    "run": SCHEDULE,
    "loop": RUN,
    "launch": RUN,
}


def examples(record: dict) -> list[str]:
    """The ```mlir blocks of one record's description, each without its indentation."""
    blocks = re.findall(r"```mlir\n(.*?)```", record["description"] or "", re.DOTALL)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in blocks]


def parse(tool: str, text: str) -> str:
    """What the tool complains about; empty where it accepts the text."""
    done = subprocess.run([tool, "--allow-unregistered-dialect", "-o", "/dev/null"], input=text,
                          capture_output=True, text=True)
    return (done.stderr or f"exit status {done.returncode}") if done.returncode else ""


def parse_open(tool: str, text: str) -> str:
    """Parses a text whose undefined values get definitions,
    whose types are read off the parser's notes.
    """
    defined = set(re.findall(r"(%\w+)(?::\d+)? =", text)) | set(re.findall(r"[(,]\s*(%\w+):", text))
    types = dict.fromkeys(sorted(set(re.findall(r"%\w+", text)) - defined), "none")
    while True:
        ending = "".join(f'{name} = "example.value"() : () -> {type}\n' for name, type in types.items())
        complaint = parse(tool, text + "\n" + ending)
        wrong = re.search(r"definition of SSA value '(%\w+)#0' has type 'none'", complaint)
        wanted = re.search(r"note: previously used here with type '(.*)'", complaint)
        if not wrong or not wanted:
            return complaint
        types[wrong[1]] = wanted[1]


def check(tool: str, record: dict) -> list[str]:
    """The complaints about the examples of one op, type or attribute."""
    complaints = []
    for example in examples(record):
        if example.lstrip().startswith(("!", "#")):
            holders = [f'"example.of"() {{value = {line}}} : () -> ()' for line in example.splitlines()]
            complaints.append(parse(tool, "\n".join(holders)))
        elif record.get("opName") in AROUND:
            complaints.append(parse(tool, AROUND[record["opName"]].replace(HERE, example)))
        else:
            complaints.append(parse_open(tool, example))
    return [f"the example of {record['!name']} fails:\n{complaint}" for complaint in complaints if complaint]


def main() -> int:
    records = [record for base in ("Op", "TypeDef", "AttrDef", "Dialect")
               for record in ods.records("dialect/operations/Logitile.td", base)]
    complaints = [complaint for record in records for complaint in check(sys.argv[1], record)]
    print("\n".join(complaints) or f"{sum(len(examples(record)) for record in records)} examples are valid")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
