// Inputs.h - copies the small inputs of a call into the compact buffers that kernels read, and
// checks their integers. Hidden states, weights and Dense inputs are read in place: Binding.h.
#pragma once
#include "runtime/arrays/Tokens.h"

namespace logitile {
/// What the checks of integers depend on.
struct IntegerRules {
  int64_t vocab = 0;                  // indices must be from 0 to below this
  std::string_view ignore;            // the input that tells ignored tokens
  std::optional<int64_t> ignoreIndex; // a value that entries of any input may have although it is no index
};

/// An error unless the array has the type and the shape of the input. 'columns': the number of
/// entries of a Vocab input, which is that of a slice or of the whole vocabulary.
Status checkInput(const InputPlan &input, const Array &array, const Tokens &tokens, int64_t columns);

/// Copies a Token, Vocab or Scalar input into 'buffers', of which each entry of the input has one
/// (null: kernels do not read it). A buffer has 'lanes' values of 32 bits, or bytes. Values after
/// the last one are set to 0, because vector code reads them. Values of ignored tokens are not
/// read.
Status loadInput(const InputPlan &input, const Array &array, const Tokens &tokens, const IntegerRules &rules,
                 std::span<char *const> buffers, int64_t lanes);
} // namespace logitile
