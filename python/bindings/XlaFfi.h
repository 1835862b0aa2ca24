// XlaFfi.h - declares the part of XLA's foreign function interface (xla/ffi/api/c_api.h) that
// handlers use. So the build needs no header of XLA, and one library serves every jaxlib whose
// interface has this layout. test/python/frameworks/test_xla_interface.py compares the declarations
// with the header in jaxlib.
#pragma once
#include <cstddef>
#include <cstdint>

namespace logitile::python::xla {
/// Any object of the interface may be followed by extensions.
struct Extension {
  size_t size;
  int type;
  Extension *next;
};
struct Version {
  size_t size;
  Extension *extensions;
  int major, minor;
};
/// What XLA asks of a handler before it calls it for the first time: an extension of a call without
/// arguments.
struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
  int64_t stateType;
};
struct MetadataQuery {
  Extension base;
  Metadata *metadata;
};

struct Buffer {
  size_t size;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *shape; // contiguous, the last axis fastest
};
struct Text {
  const char *data;
  size_t size;
};
struct Scalar {
  int type;
  void *value;
};
/// Arguments or results.
struct Buffers {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *kinds;
  void **items;
};
/// Constants of the call in the program's text.
struct Attributes {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *kinds;
  Text **names;
  void **values;
};

struct ErrorArguments {
  size_t size;
  Extension *extensions;
  const char *message;
  int code;
};
struct StreamArguments {
  size_t size;
  Extension *extensions;
  void *context;
  void *stream; // out
};
struct OrdinalArguments {
  size_t size;
  Extension *extensions;
  void *context;
  int32_t ordinal; // out
};
/// Functions that a handler may call. Those that return a pointer return an error, or null.
struct Api {
  size_t size;
  Extension *extensions;
  Version version;
  const void *internal;
  void *(*createError)(ErrorArguments *);
  void *errorMessage, *destroyError, *registerHandler;
  void *(*getStream)(StreamArguments *);
  void *registerType, *executionContext, *setState, *getState, *allocate, *release, *schedule, *threads, *createFuture, *setFuture,
      *failFuture, *runId;
  void *(*getOrdinal)(OrdinalArguments *);
};
/// One call of a handler.
struct Frame {
  size_t size;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Buffers arguments, results;
  Attributes attributes;
};
using Handler = void *(*)(Frame *);

constexpr int kMetadataQuery = 1;            // of Extension::type
constexpr int kScalar = 3, kText = 4;        // of Attributes::kinds
constexpr uint32_t kMayBeCaptured = 1;       // a trait: calls can be recorded into a CUDA graph
constexpr int kMajor = 0, kMinor = 2;        // the oldest version with this layout that is tested
enum ErrorCode : int { kInvalidArgument = 3, kFailedPrecondition = 9, kOutOfRange = 11, kInternal = 13 };
enum Type : int { kBool = 1, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64, kFloat16, kFloat32, kFloat64, kBfloat16 = 16 };
} // namespace logitile::python::xla
