// CallKernels.h - arguments of the runtime's own GPU kernels: elementwise work around the kernels
// of a plan, for devices whose memory the host cannot read. Host and device compile this file.
#pragma once
#include "runtime/arrays/Floats.h"

namespace logitile::gpu {
constexpr int kMaxAxes = 8;   // of one array, neighbours merged
constexpr int kThreads = 256; // of a block

/// Facts of a call that the device computes and the host does not know: the buffer 'call.facts'.
struct CallFacts {
  int64_t counted;  // tokens that are not ignored
  double divisor;   // of the loss
  double factor;    // of gradients that were made before the divisor was known
};

/// Elements of a caller's array, numbered with the last axis fastest; or one number that the host
/// has read.
struct Elements {
  void *data; // null: the number
  ElementType type;
  int32_t axes;
  int64_t extents[kMaxAxes], strides[kMaxAxes]; // in elements
  double number;
  int64_t integer;
};

/// An index outside the vocabulary that a call has found. It is in memory that the host reads.
struct IndexFlag {
  int32_t isSet;
  int32_t input;  // as IndexReport numbers them; -1: an index that the loss computes
  int64_t token;
};

/// The type of values in the plan's memory.
enum class Kind : int32_t { F32, I32, Byte };

/// Runs as one block. Numbers the tokens that count: 'map' has the token of each counted token,
/// 'slots' has the counted token of each token, or -1 for ignored tokens. Sets facts.counted.
/// Clears 'wrong', which has one word for each token.
struct CompactTokens {
  CallFacts *facts;
  int32_t *map, *slots, *wrong;
  int64_t total;
  Elements ignore;
  int64_t entries, entryStride, value; // a token is ignored if all its entries are 'value'; -1 entries: no token is ignored
};

/// The row of every token that counts, in units after the first.
struct FillRows {
  const CallFacts *facts;
  const int32_t *map;
  int32_t *rows;
  Elements tokens;
  int64_t first, unit;
};

/// Copies one entry of a token input, or all 'entries' of a list, for the tokens that count.
/// Without 'map', it copies 'count' elements of another input, in one block. An integer that is not
/// allowed becomes -1, and its token is marked in 'wrong'; without 'map', the first token is
/// marked.
struct LoadInput {
  const CallFacts *facts;
  const int32_t *map;
  int64_t count;
  Elements source;
  Kind kind;
  void *out;
  int32_t *wrong;
  int32_t mark; // the word that marks a token: 1 + the number of the input in IndexReport
  bool isIndex, hasExempt;
  int64_t vocab, exempt;
  int64_t entries, entryStride, outStride; // strides in elements, of the source and of 'out'
};

/// Runs as one block. Sets facts.divisor. Sets facts.factor to the divisor's inverse if gradients
/// have been computed already ('isLate').
struct SetDivisor {
  enum class From : int32_t { One, Given, Tokens, Values } from;
  CallFacts *facts;
  Elements given;
  Kind kind; // of the values, one for each token that counts
  const void *values;
  bool isLate;
};

/// Loads the cotangent of an output, from 'source' or a constant. It is divided if the output is a
/// mean.
struct LoadCotangent {
  const CallFacts *facts;
  const int32_t *map;
  Elements source;
  bool isDivided;
  float *out;
};

/// Marks tokens whose computed index is outside the vocabulary.
struct CheckIndices {
  const CallFacts *facts;
  const int32_t *indices;
  int64_t vocab;
  int32_t *wrong;
};

/// Runs as one block. Reports the first marked token to the host.
struct ReportIndices {
  const CallFacts *facts;
  const int32_t *map, *wrong;
  IndexFlag *flag;
};

/// Copies per-token values to the caller's array. Ignored tokens get 0, or -1 for integers. Marked
/// tokens get NaN, -1 or false. Without 'values', every token gets 0. Each token has 'places'
/// values, and tokens are 'stride' elements apart.
struct ScatterTokens {
  const CallFacts *facts;
  const int32_t *slots, *wrong; // no 'wrong': marks do not matter
  Kind kind;
  const void *values;
  int64_t total, places, stride;
  bool isScaled; // by facts.factor
  Elements out;
};

/// Runs as one block. Computes the sum over the tokens that count. A mean is divided by
/// facts.divisor, a gradient is multiplied by facts.factor.
struct ReduceTokens {
  enum class To : int32_t { Sum, Mean, Gradient } to;
  const CallFacts *facts;
  Kind kind;
  const void *values;
  const int32_t *wrong; // none: marks do not matter
  bool isZeroWhenAllIgnored, hasDivisor;
  Elements out;
};

/// Copies a vector times facts.factor.
struct StoreVector {
  const CallFacts *facts;
  const float *values;
  int64_t count;
  Elements out;
};

/// Writes zeros to the rows of ignored tokens.
struct ZeroIgnoredRows {
  const int32_t *slots;
  int64_t total, columns, columnStride;
  Elements out; // one for each token
};

/// Multiplies elements by facts.factor; without 'facts', sets them to zero.
struct ScaleElements {
  const CallFacts *facts;
  int64_t count;
  Elements out;
};
} // namespace logitile::gpu
