// CallKernels.h - arguments of the runtime's own GPU kernels: elementwise work around the kernels
// of a plan, for devices whose memory the host cannot read. Host and device compile this file.
#pragma once
#include "runtime/arrays/Floats.h"

namespace logitile::gpu {
constexpr int kMaxAxes = 8;   // of one array, neighbours merged
constexpr int kThreads = 256; // of a block

/// What only the device knows of a call, in its buffer 'call.facts'.
struct CallFacts {
  int64_t counted;  // tokens that are not ignored
  double divisor;   // of the loss
  double factor;    // of gradients that were made before the divisor was known
};

/// Elements of a caller's array by their number, the last axis fastest; or one number that the host
/// has read.
struct Elements {
  void *data; // null: the number
  ElementType type;
  int32_t axes;
  int64_t extents[kMaxAxes], strides[kMaxAxes]; // in elements
  double number;
  int64_t integer;
};

/// Which of a call's indices was outside the vocabulary, in memory that the host reads.
struct IndexFlag {
  int32_t isSet;
  int32_t input;  // as IndexReport numbers them; -1: an index that the loss computes
  int64_t token;
};

/// What a value in the plan's memory is.
enum class Kind : int32_t { F32, I32, Byte };

/// One block. Numbers the tokens that count: 'map' from counted token to token, 'slots' back, -1
/// for ignored ones. Sets facts.counted and clears 'wrong', one word for each token.
struct CompactTokens {
  CallFacts *facts;
  int32_t *map, *slots, *wrong;
  int64_t total;
  Elements ignore;
  int64_t entries, entryStride, value; // a token is ignored where all its entries are 'value'; -1 entries: none is
};

/// The row of every token that counts, in units after the first.
struct FillRows {
  const CallFacts *facts;
  const int32_t *map;
  int32_t *rows;
  Elements tokens;
  int64_t first, unit;
};

/// Copies one entry of a token input, or all 'entries' of a list, for the tokens that count;
/// without 'map', 'count' elements of another input, in one block. An integer that is not allowed
/// marks its token in 'wrong' (or, without map, the first) and becomes -1.
struct LoadInput {
  const CallFacts *facts;
  const int32_t *map;
  int64_t count;
  Elements source;
  Kind kind;
  void *out;
  int32_t *wrong;
  int32_t mark; // what marks a token: 1 + number of the input, as IndexReport has them
  bool isIndex, hasExempt;
  int64_t vocab, exempt;
  int64_t entries, entryStride, outStride; // strides in elements, of the source and of 'out'
};

/// One block. Sets facts.divisor, and facts.factor to its inverse where gradients are made already.
struct SetDivisor {
  enum class From : int32_t { One, Given, Tokens, Values } from;
  CallFacts *facts;
  Elements given;
  Kind kind; // of the values, one for each token that counts
  const void *values;
  bool isLate;
};

/// The gradient of an output: of 'source', or a constant, divided where the output is a mean.
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

/// One block. Tells the host of the first marked token.
struct ReportIndices {
  const CallFacts *facts;
  const int32_t *map, *wrong;
  IndexFlag *flag;
};

/// Per-token values to their places; ignored tokens get 0, -1 for integers; marked ones NaN, -1 or
/// false. Without values every token gets 0. Each token has 'places' of them, 'stride' elements
/// from one token to the next.
struct ScatterTokens {
  const CallFacts *facts;
  const int32_t *slots, *wrong; // no 'wrong': marks do not matter
  Kind kind;
  const void *values;
  int64_t total, places, stride;
  bool isScaled; // by facts.factor
  Elements out;
};

/// One block. The sum over tokens that count, divided by facts.divisor for a mean, times
/// facts.factor for a gradient.
struct ReduceTokens {
  enum class To : int32_t { Sum, Mean, Gradient } to;
  const CallFacts *facts;
  Kind kind;
  const void *values;
  const int32_t *wrong; // none: marks do not matter
  bool isZeroWhenAllIgnored, hasDivisor;
  Elements out;
};

/// A vector times facts.factor.
struct StoreVector {
  const CallFacts *facts;
  const float *values;
  int64_t count;
  Elements out;
};

/// Zeros in the rows of ignored tokens, which 'out' holds one after the other.
struct ZeroIgnoredRows {
  const int32_t *slots;
  int64_t total, columns, columnStride;
  Elements out; // one for each token
};

/// Multiplies by facts.factor, or fills with zeros where there are no facts.
struct ScaleElements {
  const CallFacts *facts;
  int64_t count;
  Elements out;
};
} // namespace logitile::gpu
