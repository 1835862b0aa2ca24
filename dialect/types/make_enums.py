"""Writes the enumerations of the dialect as plain C++, so that the runtime and the IR have the same types.

    make_enums.py RECORDS OUTPUT     RECORDS: what `llvm-tblgen --dump-json` makes of LogitileAttrs.td

For each `Logitile_Enum` the output has the enumeration and its words, for dialect/types/Enums.h, and where
LOGITILE_ENUM_TEXT is defined, instead of them the functions that MLIR's generated code calls.
"""
from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

HEADER = "// Written by dialect/types/make_enums.py from dialect/types/LogitileAttrs.td.\n"


def plain(name: str, summary: str, cases: list[dict[str, Any]]) -> str:
    """The enumeration and its words."""
    values = "".join(f"  {case['symbol']}, // {case['meaning']}\n" for case in cases)
    words = ", ".join(f'"{case["str"]}"' for case in cases)
    return (
        f"/// {summary}\n"
        f"enum class {name} : uint8_t {{\n{values}}};\n"
        f"inline constexpr std::array<std::string_view, {len(cases)}> k{name}Words = {{{words}}};\n"
        f"constexpr const auto &wordsOf({name}) {{ return k{name}Words; }}\n"
    )


def text(name: str) -> str:
    """What MLIR's generated code calls."""
    return (
        f"inline llvm::StringRef stringify{name}({name} value) {{ return wordOf(value); }}\n"
        f"inline std::optional<{name}> symbolize{name}(llvm::StringRef word) "
        f"{{ return fromWord<{name}>(word); }}\n"
    )


def main(records: str, output: str) -> None:
    found = json.loads(pathlib.Path(records).read_text())
    first, second = HEADER + "#ifndef LOGITILE_ENUM_TEXT\n", "#else\n"
    for record in map(found.get, found["!instanceof"]["Logitile_Enum"]):
        cases = [found[case["def"]] for case in record["enumerants"]]
        if [case["value"] for case in cases] != list(range(len(cases))):
            sys.exit(f"{record['!name']}: values must count from 0; words are found by them")
        first += plain(record["className"], record["summary"], cases)
        second += text(record["className"])
    made, file = first + second + "#endif\n", pathlib.Path(output)
    if not file.exists() or file.read_text() != made:  # else nothing that includes it is compiled again
        file.write_text(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
