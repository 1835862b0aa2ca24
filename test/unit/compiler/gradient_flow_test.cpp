// gradient_flow_test.cpp - the column Flows of the table of scalar operations, which front ends
// trust, against the operands to which differentiation passes a gradient on.
#include "compiler/Expression/Operations.h"
#include "compiler/Passes.h"
#include "compiler/Registry.h"
#include "dialect/Logitile.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>
using namespace mlir;
using namespace logitile;

namespace {
std::string typeOf(char letter) { return letter == 'f' ? "f32" : letter == 'i' ? "i32" : "i1"; }
/// The name of the input that is operand 'position'.
std::string inputOf(size_t position) { return "x" + std::to_string(position); }

/// A loss that is one operation on an input for each operand, with the gradient of all floats
/// among them.
std::string lossOf(const ScalarOperation &operation) {
  std::string reads, operands, types, wanted;
  for (auto [position, letter] : llvm::enumerate(operation.operands)) {
    std::string name = inputOf(position), separator = position > 0 ? ", " : "";
    reads += "  %" + name + " = logitile.input token \"" + name + "\" : " + typeOf(letter) + "\n";
    operands += separator + "%" + name;
    types += separator + typeOf(letter);
    if (letter == 'f')
      wanted += (wanted.empty() ? "\"" : ", \"") + name + "\"";
  }
  bool compares = operation.name == "arith.cmpf" || operation.name == "arith.cmpi";
  std::string text = "logitile.loss @loss vocab 7 outputs [\"loss\"] gradient of [\"loss\"] wrt [" + wanted + "] {\n" + reads;
  text += "  %result = \"" + std::string(operation.name) + "\"(" + operands + ")" + (compares ? " <{predicate = 2 : i64}>" : "");
  text += " : (" + types + ") -> " + typeOf(operation.result.front()) + "\n";
  if (operation.result == "i")
    text += "  %loss = arith.sitofp %result : i32 to f32\n";
  if (operation.result == "b")
    text += "  %loss = arith.uitofp %result : i1 to f32\n";
  return text + "  logitile.yield " + (operation.result == "f" ? "%result" : "%loss") + " : f32\n}\n";
}

/// Positions of the operands that get a gradient, as the table writes them; none where the loss
/// cannot be differentiated.
std::optional<std::string> flowsOf(const ScalarOperation &operation) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(lossOf(operation), ParserConfig(&context));
  PassManager passes(&context);
  passes.addNestedPass<LossOp>(createDifferentiatePass());
  if (!module || failed(passes.run(*module)))
    return std::nullopt;
  std::string flows;
  module->walk([&](AdjointOp adjoint) {
    for (size_t position = 0; position < operation.operands.size(); ++position)
      if (adjoint.getDense() && adjoint.getName() == inputOf(position))
        flows += std::to_string(position);
  });
  return flows;
}
} // namespace

TEST(GradientFlow, IsWhatTheTableSays) {
  for (const ScalarOperation &operation : scalarOperations()) {
    std::string row = std::string(operation.name) + " of " + std::string(operation.operands);
    if (operation.operands.find('f') == std::string_view::npos)
      EXPECT_EQ(operation.flows, "") << row << " has no operand with a gradient";
    else
      EXPECT_EQ(flowsOf(operation), operation.flows) << row;
  }
}
