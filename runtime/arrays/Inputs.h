// Inputs.h - copies the small inputs of a call into the compact buffers that kernels read, and
// checks their integers. Hidden states, weights and Dense inputs are read in place: Binding.h.
#pragma once
#include "runtime/arrays/Tokens.h"

namespace logitile {
/// What the checks of integers depend on.
struct IntegerRules {
  int64_t vocab = 0;                  // what indices must lie in
  std::string_view ignore;            // the input that tells ignored tokens
  std::optional<int64_t> ignoreIndex; // what its tokens, and entries of any input, may be beside an index
};

/// An error unless type and shape of the array are those of the input. 'columns': entries of Vocab
/// inputs, those of a slice or all.
Status checkInput(const InputPlan &input, const Array &array, const Tokens &tokens, int64_t columns);

/// Copies one token, Vocab or Scalar input into 'buffers', one for each entry (null: not read).
/// They hold 'lanes' values of 32 bits, or bytes; those behind the last one are 0, since vector
/// code reads them. Ignored tokens are not looked at.
Status loadInput(const InputPlan &input, const Array &array, const Tokens &tokens, const IntegerRules &rules,
                 std::span<char *const> buffers, int64_t lanes);
} // namespace logitile
