// Outputs.h - copies results from compact buffers into the arrays of a caller: per-token values to
// their places, sums, roundings, and zeros if no token counts.
#pragma once
#include "runtime/arrays/Tokens.h"

namespace logitile {
/// An error unless the array has these extents and one of these types.
Status checkArray(const Array &array, const char *what, std::span<const int64_t> shape, std::span<const ElementType> types);

/// Copies per-token values of an output (f32, i32 or bytes) to an array of float32, int64 or bool.
/// Ignored tokens get 0, -1 or false. A list has 'places' values for each token, and tokens are
/// 'stride' elements apart.
void scatterOutput(const Array &array, const Tokens &tokens, ElementType element, const char *values, int64_t places = 0,
                   int64_t stride = 1);
/// Copies per-token gradients times a factor. Ignored tokens get 0. 'array' may be one entry of a
/// larger array.
void scatterGradient(const Array &array, const Tokens &tokens, const float *values, float factor, int64_t places = 0, int64_t stride = 1);
/// Copies the gradient of a Vocab input times a factor.
void storeVector(const Array &array, const float *values, float factor);
/// Writes a number to an array of one element.
void storeScalar(const Array &array, double value);

/// The sum of f32, i32 or byte values in f64, in order.
double sumOf(const char *values, ElementType element, int64_t count);

void fillZero(const Array &array);
/// Writes zeros to the rows of ignored tokens. The last axis of 'array' is the axis of a row.
void zeroIgnoredRows(const Array &array, const Tokens &tokens);
/// Multiplies every element.
void scale(const Array &array, float factor);
} // namespace logitile
