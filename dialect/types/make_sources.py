"""Writes what C, C++ and Python have of the enumerations of the dialect and of requests.

    make_sources.py RECORDS FOLDER   RECORDS: what `llvm-tblgen --dump-json LogitileAttrs.td` prints

Into the folder go

* Enums.h.inc: each `Logitile_Words` as plain C++. GPU code includes it, so it uses no header of the
  C++ library.
* EnumText.h.inc: of each `Logitile_Enum`, the functions that MLIR's generated code calls.
* Structs.h.inc: each `Logitile_Struct` that C++ has.
* Request.h.inc: a row for each struct and each member of a request, for compiler/Request.def; where
  LOGITILE_REQUEST_PARAMETERS is defined, instead of them the parameters of RequestAttr.
* logitile_request.h: lt_request, its structs and each `Logitile_InC`, for runtime/logitile.h.
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
INTEGER_TYPE = """\
/* Enumerations are ints, also in C++: a wrong number of a caller is refused, and C++ defines
 * what reading such a number does only for an enumeration that names its integer type. */
#ifdef __cplusplus
#define LT_INTEGER_TYPE : int
#else
#define LT_INTEGER_TYPE
#endif
"""
Record = dict[str, Any]


def records(found: Record, references: list[Record]) -> list[Record]:
    return [found[reference["def"]] for reference in references]


def instances(found: Record, base: str) -> list[Record]:
    return [found[name] for name in found["!instanceof"][base]]


def cpp_header(includes: str, body: str) -> str:
    return f"// {ORIGIN}\n#pragma once\n{includes}namespace logitile {{\n{body}}} // namespace logitile\n"


def c_comment(text: str) -> str:
    return f"/* {text} */\n".replace("`", "'")


# ---- enumerations


def cases_of(found: Record, enum: Record) -> list[Record]:
    cases = records(found, enum["words"])
    if [case["value"] for case in cases] != list(range(len(cases))):
        sys.exit(f"{enum['!name']}: values must count from 0; words are found by them")
    return cases


def plain_enum(enum: Record, cases: list[Record]) -> str:
    """The enumeration, its words, and the bytes of types."""
    name = enum["cpp"]
    values = "".join(f"  {case['symbol']}, // {case['meaning']}\n" for case in cases)
    words = ", ".join(f'"{case["str"]}"' for case in cases)
    bytes = ", ".join(str(case["bytes"]) for case in cases if "bytes" in case)
    return (
        f"/// {enum['meaning']}\n"
        f"enum class {name} : uint8_t {{\n{values}}};\n"
        f"inline constexpr const char *k{name}Words[] = {{{words}}};\n"
        f"constexpr const auto &wordsOf({name}) {{ return k{name}Words; }}\n"
    ) + (f"inline constexpr int64_t k{name}Bytes[] = {{{bytes}}};\n" if bytes else "")


def enums(found: Record) -> str:
    made = "".join(plain_enum(enum, cases_of(found, enum)) for enum in instances(found, "Logitile_Words"))
    return cpp_header("#include <stdint.h>\n", made)


def enum_text(found: Record) -> str:
    made = "".join(
        f"inline llvm::StringRef stringify{name}({name} value) {{ return wordOf(value); }}\n"
        f"inline std::optional<{name}> symbolize{name}(llvm::StringRef word) "
        f"{{ return fromWord<{name}>(word); }}\n"
        for name in (enum["cpp"] for enum in instances(found, "Logitile_Enum"))
    )
    return f"// {ORIGIN}\n{made}"


def c_enum(enum: Record, cases: list[Record]) -> str:
    prefix = enum["cPrefix"]
    values = "".join(f"  {prefix}{c['str'].upper()} = {c['value']}, {c_comment(c['meaning'])}" for c in cases)
    name = enum["c"]
    return c_comment(enum["meaning"]) + f"typedef enum {name} LT_INTEGER_TYPE {{\n{values}}} {name};\n"


# ---- structs


def members(found: Record, owner: str) -> list[Record]:
    """Those of a struct or of the request, each with its type in the place of the type's name."""
    listed = records(found, found[owner]["members"])
    return [{**member, "type": found[member["type"]["def"]]} for member in listed]


def structs_of(found: Record) -> list[tuple[Record, list[Record]]]:
    return [(struct, members(found, struct["!name"])) for struct in instances(found, "Logitile_Struct")]


def names(given: list[Record], name: str = "cpp", of: str = "") -> str:
    return ", ".join(of + member[name] for member in given)


def cpp_struct(struct: Record, given: list[Record]) -> str:
    body = "".join(f"  {m['type']['cpp']} {m['cpp']}{{}}; // {m['meaning']}\n" for m in given)
    in_key = sorted(given, key=lambda member: member["name"] != struct["firstInKey"])
    return (
        f"/// {struct['meaning']}\nstruct {struct['cpp']} {{\n{body}"
        f"  static auto members(auto &of) {{ return std::tie({names(given, of='of.')}); }}\n"
        f"  auto inKey() const {{ return std::tie({names(in_key)}); }}\n}};\n"
    )


def structs(found: Record) -> str:
    made = "".join(cpp_struct(*struct) for struct in structs_of(found) if struct[0]["cpp"])
    return cpp_header('#include "dialect/Enums.h.inc"\n#include <string>\n#include <tuple>\n', made)


def struct_row(struct: Record, given: list[Record]) -> str:
    """Of compiler/Request.def."""
    name = struct["c"].removeprefix("lt_")
    return f"LOGITILE_REQUEST_STRUCT({struct['c']}, {name}, {names(given, 'name', name + '.')})\n"


def c_struct(name: str, given: list[Record]) -> str:
    return f"typedef struct {name} {{\n{''.join(map(c_member, given))}}} {name};\n"


def tuple_type(struct: Record, given: list[Record]) -> str:
    """The type of Python."""
    values = "".join(f"    {m['type']['python']},  # {m['name']}: {m['meaning']}\n" for m in given)
    return f"type {struct['python']} = tuple[\n{values}]\n\"\"\"{struct['meaning']}\"\"\"\n"


# ---- requests


def is_list(member: Record) -> bool:
    return "Logitile_ListType" in member["type"]["!superclasses"]


def count_name(member: Record) -> str:
    """The member of lt_request that has the length of a list."""
    return member["name"].removesuffix("s") + "_count"


def row(member: Record) -> str:
    """Of compiler/Request.def."""
    name, kind = member["name"], "LIST" if is_list(member) else member["kind"]
    fields = [member["type"]["cpp"], member["cpp"], name, *([count_name(member)] if is_list(member) else [])]
    return f"LOGITILE_REQUEST{'_' + kind if kind else ''}({', '.join(fields)}) // {member['meaning']}\n"


def rows(found: Record) -> str:
    given = members(found, "Logitile_Request")
    parameters = "".join(
        f", {found[member['type']['parameter']['def']]['cppAccessorType']} {member['cpp']}\n"
        for member in given
        if member["isInAttribute"]
    )
    made = "".join(struct_row(*struct) for struct in structs_of(found)) + "".join(map(row, given))
    return f"// {ORIGIN}\n#ifndef LOGITILE_REQUEST_PARAMETERS\n{made}#else\n{parameters}#endif\n"


def c_member(member: Record) -> str:
    type, name = member["type"]["c"], member["name"]
    count = f"  size_t {count_name(member)};\n" if is_list(member) else ""
    return f"  {type}{'' if type.endswith('*') else ' '}{name}; {c_comment(member['meaning'])}{count}"


def c_header(found: Record) -> str:
    code = INTEGER_TYPE + "".join(c_enum(e, cases_of(found, e)) for e in instances(found, "Logitile_InC"))
    for struct, given in structs_of(found):
        code += c_comment(struct["meaning"]) + c_struct(struct["c"], given)
    asked = [member for member in members(found, "Logitile_Request") if member["kind"] != "CALL"]
    code += c_struct("lt_request", asked) + "#undef LT_INTEGER_TYPE\n"
    digest = zlib.crc32(re.sub(r"/\*.*?\*/", "", code).encode()) % 100_000
    return (
        f"/* logitile_request.h - what a program is made for: a part of logitile.h.\n * {ORIGIN} */\n"
        "#ifndef LOGITILE_REQUEST_H\n#define LOGITILE_REQUEST_H\n#include <stddef.h>\n#include <stdint.h>\n\n"
        f"{code}"
        f"/* Of all this without its comments. */\n#define LT_REQUEST_DIGEST {digest}\n#endif\n"
    )


def stub(found: Record) -> str:
    types = "".join(tuple_type(*struct) for struct in structs_of(found))
    body = ""
    for member in members(found, "Logitile_Request"):
        type = member["type"]["python"]
        if member["kind"] != "CALL":
            type = type if member["isRequired"] else f"NotRequired[{type}]"
            body += f'    {member["name"]}: {type}\n    """{member["meaning"]}"""\n'
    return (
        f'"""The arguments of `_native.Program`, for type checkers alone.\n\n{ORIGIN}\n"""\n\n'
        "from collections.abc import Sequence\nfrom typing import Literal\n\n"
        "from typing_extensions import NotRequired, TypedDict\n\n"
        f"{types}\nclass Request(TypedDict):\n{body}"
    )


def main(given: str, folder: str) -> None:
    found = json.loads(pathlib.Path(given).read_text())
    made = {
        "Enums.h.inc": enums, "EnumText.h.inc": enum_text, "Structs.h.inc": structs, "Request.h.inc": rows,
        "logitile_request.h": c_header, "_request.pyi": stub,
    }  # fmt: skip
    for name, write in made.items():
        file, text = pathlib.Path(folder) / name, write(found)
        # else all that includes it is compiled again
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
