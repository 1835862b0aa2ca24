"""Writes what C, C++ and Python have of the enumerations of the dialect and of the
members of a request.

    make_sources.py RECORDS FOLDER   RECORDS: what `llvm-tblgen --dump-json LogitileAttrs.td` prints

Into the folder go

* Enums.h.inc: each `Logitile_Enum` and its words as plain C++, for dialect/types/Enums.h; where
  LOGITILE_ENUM_TEXT is defined, instead of them the functions that MLIR's generated code calls.
* Request.h.inc: a row for each member of a request, for compiler/Request.def; where
  LOGITILE_REQUEST_PARAMETERS is defined, instead of them the parameters of RequestAttr.
* logitile_request.h: lt_request and each `Logitile_CEnum`, for runtime/logitile.h.
* _request.pyi: the arguments of `_native.Program`, for type checkers.
"""
from __future__ import annotations

import json
import pathlib
import re
import sys
import zlib
from typing import Any

ORIGIN = "Written by dialect/types/make_sources.py from LogitileAttrs.td and Request.td."
Record = dict[str, Any]


def records(found: Record, references: list[Record]) -> list[Record]:
    return [found[reference["def"]] for reference in references]


def instances(found: Record, base: str) -> list[Record]:
    return [found[name] for name in found["!instanceof"][base]]


# ---- enumerations


def cases_of(found: Record, enum: Record) -> list[Record]:
    cases = records(found, enum["enumerants"])
    if [case["value"] for case in cases] != list(range(len(cases))):
        sys.exit(f"{enum['!name']}: values must count from 0; words are found by them")
    return cases


def plain_enum(name: str, summary: str, cases: list[Record]) -> str:
    """The enumeration and its words."""
    values = "".join(f"  {case['symbol']}, // {case['meaning']}\n" for case in cases)
    words = ", ".join(f'"{case["str"]}"' for case in cases)
    return (
        f"/// {summary}\n"
        f"enum class {name} : uint8_t {{\n{values}}};\n"
        f"inline constexpr std::array<std::string_view, {len(cases)}> k{name}Words = {{{words}}};\n"
        f"constexpr const auto &wordsOf({name}) {{ return k{name}Words; }}\n"
    )


def enum_text(name: str) -> str:
    """What MLIR's generated code calls."""
    return (
        f"inline llvm::StringRef stringify{name}({name} value) {{ return wordOf(value); }}\n"
        f"inline std::optional<{name}> symbolize{name}(llvm::StringRef word) "
        f"{{ return fromWord<{name}>(word); }}\n"
    )


def enums(found: Record) -> str:
    all_enums = instances(found, "Logitile_Enum")
    plain = "".join(plain_enum(e["className"], e["summary"], cases_of(found, e)) for e in all_enums)
    text = "".join(enum_text(e["className"]) for e in all_enums)
    return f"// {ORIGIN}\n#ifndef LOGITILE_ENUM_TEXT\n{plain}#else\n{text}#endif\n"


def c_enum(enum: Record, cases: list[Record]) -> str:
    name = "lt" + re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), enum["className"])
    prefix = enum["cPrefix"]
    values = "".join(f"  {prefix}{c['str'].upper()} = {c['value']}, /* {c['meaning']} */\n" for c in cases)
    return f"/* {enum['summary']} */\ntypedef enum {name} {{\n{values}}} {name};\n"


# ---- requests


def members(found: Record) -> list[Record]:
    """Each with its type in the place of the type's name."""
    listed = records(found, found["Logitile_Request"]["members"])
    return [{**member, "type": found[member["type"]["def"]]} for member in listed]


def is_list(member: Record) -> bool:
    return "Logitile_ListType" in member["type"]["!superclasses"]


def count_name(member: Record) -> str:
    """The member of lt_request that has the length of a list."""
    return member["name"].removesuffix("s") + "_count"


def row(member: Record) -> str:
    """Of compiler/Request.def."""
    name, kind = member["name"], "LIST" if is_list(member) else member["kind"]
    in_cpp = re.sub("_(.)", lambda letter: letter[1].upper(), name)
    fields = [member["type"]["cpp"], in_cpp, name, *([count_name(member)] if is_list(member) else [])]
    return f"LOGITILE_REQUEST{'_' + kind if kind else ''}({', '.join(fields)}) // {member['meaning']}\n"


def rows(found: Record) -> str:
    parameters = "".join(
        f", {found[member['type']['parameter']['def']]['cppAccessorType']} {member['name']}\n"
        for member in members(found)
        if member["isInAttribute"]
    )
    made = "".join(map(row, members(found)))
    return f"// {ORIGIN}\n#ifndef LOGITILE_REQUEST_PARAMETERS\n{made}#else\n{parameters}#endif\n"


def c_member(member: Record) -> str:
    type, name = member["type"]["c"], member["name"]
    comment = f"/* {member['meaning']} */".replace("`", "'")
    count = f"  size_t {count_name(member)};\n" if is_list(member) else ""
    return f"  {type}{'' if type.endswith('*') else ' '}{name}; {comment}\n{count}"


def c_header(found: Record) -> str:
    all_enums = "".join(c_enum(e, cases_of(found, e)) for e in instances(found, "Logitile_CEnum"))
    body = "".join(c_member(member) for member in members(found) if member["kind"] != "CALL")
    code = f"{all_enums}typedef struct lt_request {{\n{body}}} lt_request;\n"
    digest = zlib.crc32(re.sub(r"/\*.*?\*/", "", code).encode()) % 100_000
    return (
        f"/* logitile_request.h - what a program is made for: a part of logitile.h.\n * {ORIGIN} */\n"
        "#ifndef LOGITILE_REQUEST_H\n#define LOGITILE_REQUEST_H\n#include <stddef.h>\n#include <stdint.h>\n\n"
        f"{code}/* Of all this without its comments. */\n#define LT_REQUEST_DIGEST {digest}\n#endif\n"
    )


def stub(found: Record) -> str:
    body = ""
    for member in members(found):
        type = member["type"]["python"]
        if member["kind"] != "CALL":
            type = type if member["isRequired"] else f"NotRequired[{type}]"
            body += f'    {member["name"]}: {type}\n    """{member["meaning"]}"""\n'
    return (
        f'"""The arguments of `_native.Program`, for type checkers alone.\n\n{ORIGIN}\n"""\n\n'
        "from collections.abc import Sequence\n\nfrom typing_extensions import NotRequired, TypedDict\n\n"
        f"from . import _native\n\nclass Request(TypedDict):\n{body}"
    )


def main(given: str, folder: str) -> None:
    found = json.loads(pathlib.Path(given).read_text())
    made = {
        "Enums.h.inc": enums, "Request.h.inc": rows, "logitile_request.h": c_header, "_request.pyi": stub,
    }  # fmt: skip
    for name, write in made.items():
        file, text = pathlib.Path(folder) / name, write(found)
        # else all that includes it is compiled again
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
