// Operations.h - the scalar operations that a loss may use, for code that writes or reads the text
// of a loss. No MLIR here. The table itself is compiler/Expression/ScalarOps.def.
#pragma once
#include <string_view>
#include <vector>

namespace logitile {
/// One operation on operands of certain types. Letters stand for types: f is f32, i is i32, b is
/// i1.
struct ScalarOperation {
  std::string_view name;     // in IR: "arith.addf"
  std::string_view operands; // a letter for each: "ff"
  std::string_view result;   // one letter
  std::string_view flows;    // positions of the operands that a gradient flows to: "01"
};
/// All of them. An operation that takes operands of several types is there once for each.
std::vector<ScalarOperation> scalarOperations();
} // namespace logitile
