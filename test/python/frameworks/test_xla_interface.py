"""The interface to XLA: its declarations here are those of jaxlib's header;
handlers say what they are.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from logitile.runtime.engine import native

jax = pytest.importorskip("jax")

ROOT = pathlib.Path(__file__).resolve().parents[3]
ALIKE = {
    ("Extension", "XLA_FFI_Extension_Base"): {"type": "type", "next": "next"},
    ("Version", "XLA_FFI_Api_Version"): {"major": "major_version", "minor": "minor_version"},
    ("Metadata", "XLA_FFI_Metadata"): {"version": "api_version", "traits": "traits"},
    ("MetadataQuery", "XLA_FFI_Metadata_Extension"): {"base": "extension_base", "metadata": "metadata"},
    ("Buffer", "XLA_FFI_Buffer"): {"type": "dtype", "data": "data", "rank": "rank", "shape": "dims"},
    ("Text", "XLA_FFI_ByteSpan"): {"data": "ptr", "size": "len"},
    ("Scalar", "XLA_FFI_Scalar"): {"type": "dtype", "value": "value"},
    ("Buffers", "XLA_FFI_Args"): {"count": "size", "kinds": "types", "items": "args"},
    ("Buffers", "XLA_FFI_Rets"): {"count": "size", "kinds": "types", "items": "rets"},
    ("Attributes", "XLA_FFI_Attrs"): {"count": "size", "kinds": "types", "names": "names", "values": "attrs"},
    ("ErrorArguments", "XLA_FFI_Error_Create_Args"): {"message": "message", "code": "errc"},
    ("StreamArguments", "XLA_FFI_Stream_Get_Args"): {"context": "ctx", "stream": "stream"},
    ("OrdinalArguments", "XLA_FFI_DeviceOrdinal_Get_Args"): {"context": "ctx", "ordinal": "device_ordinal"},
    ("Api", "XLA_FFI_Api"): {
        "version": "api_version", "createError": "XLA_FFI_Error_Create", "getStream": "XLA_FFI_Stream_Get",
        "getOrdinal": "XLA_FFI_DeviceOrdinal_Get",
    },
    ("Frame", "XLA_FFI_CallFrame"): {
        "extensions": "extension_start", "api": "api", "context": "ctx", "stage": "stage",
        "arguments": "args", "results": "rets", "attributes": "attrs",
    },
}  # fmt: skip
EQUAL = {
    "kMetadataQuery": "XLA_FFI_Extension_Metadata",
    "kScalar": "XLA_FFI_AttrType_SCALAR",
    "kText": "XLA_FFI_AttrType_STRING",
    "kMayBeCaptured": "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE",
    "kMajor": "XLA_FFI_API_MAJOR",
    "kInvalidArgument": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "kFailedPrecondition": "XLA_FFI_Error_Code_FAILED_PRECONDITION",
    "kOutOfRange": "XLA_FFI_Error_Code_OUT_OF_RANGE",
    "kInternal": "XLA_FFI_Error_Code_INTERNAL",
    "kBool": "XLA_FFI_DataType_PRED",
    "kInt8": "XLA_FFI_DataType_S8",
    "kInt64": "XLA_FFI_DataType_S64",
    "kUint8": "XLA_FFI_DataType_U8",
    "kUint64": "XLA_FFI_DataType_U64",
    "kFloat16": "XLA_FFI_DataType_F16",
    "kFloat32": "XLA_FFI_DataType_F32",
    "kFloat64": "XLA_FFI_DataType_F64",
    "kBfloat16": "XLA_FFI_DataType_BF16",
}


@pytest.mark.contract("6 interface")
def test_declarations_are_those_of_the_header(tmp_path):
    compiler = next(filter(None, map(shutil.which, ("clang++-22", "clang++", "g++"))), None)
    if compiler is None:
        pytest.skip("there is no compiler of C++")
    lines = [
        '#include "xla/ffi/api/c_api.h"',
        '#include "python/bindings/XlaFfi.h"',
        "namespace xla = logitile::python::xla;",
    ]
    for (ours, theirs), members in ALIKE.items():
        for mine, other in members.items():
            lines.append(f"static_assert(offsetof(xla::{ours}, {mine}) == offsetof({theirs}, {other}));")
            lines.append(f"static_assert(sizeof(xla::{ours}::{mine}) == sizeof({theirs}::{other}));")
    lines += [f"static_assert(int(xla::{ours}) == int({theirs}));" for ours, theirs in EQUAL.items()]
    lines.append("static_assert(xla::kMinor <= XLA_FFI_API_MINOR);")
    source = tmp_path / "check.cpp"
    source.write_text("\n".join(lines) + "\n")
    include = jax.ffi.include_dir()
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{include}", f"-I{ROOT}", str(source)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr


class Extension(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)]


class Version(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("numbers", ctypes.c_int * 2)]


class Metadata(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("version", Version),
        ("traits", ctypes.c_uint32),
        ("state", ctypes.c_int64),
    ]


class Query(ctypes.Structure):
    _fields_ = [("base", Extension), ("metadata", ctypes.POINTER(Metadata))]


class Frame(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extensions", ctypes.POINTER(Query)),
        ("rest", ctypes.c_char * 512),
    ]


@pytest.mark.contract("6 interface")
@pytest.mark.parametrize(("platform", "traits"), [("cpu", 0), ("CUDA", 1)])
def test_handlers_say_what_they_are(platform, traits):
    """Calls on a GPU may be recorded into a CUDA graph."""
    capsule = native().xla_handler(platform)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(pointer(capsule, b"xla._CUSTOM_CALL_TARGET"))
    metadata = Metadata(traits=77)
    frame = Frame(extensions=ctypes.pointer(Query(Extension(type=1), ctypes.pointer(metadata))))
    assert handler(ctypes.addressof(frame)) is None
    assert list(metadata.version.numbers) == [0, 2] and metadata.traits == traits


def test_handlers_of_both_platforms_are_registered():
    """Also where JAX has no GPU: it keeps the names for later."""
    code = """
import jax
names = []
jax.ffi.register_ffi_target = lambda name, handler, platform: names.append((name, platform))
import logitile.jax
assert names == [(logitile.jax.TARGET, "cpu"), (logitile.jax.TARGET, "CUDA")], names
"""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), JAX_PLATFORMS="cpu")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=env)
