// Import.h - converts between scalar regions and graphs: reads the ops of a loss into nodes, and
// writes nodes as ops.
#pragma once
#include "compiler/Expression/Graph.h"
#include "dialect/checks/Varying.h"

namespace logitile {
/// Reads the ops of a block, a nested gradient's too.
class Importer {
public:
  explicit Importer(Graph &graph) : graph(graph) {}
  /// Fails with a diagnostic at an op that has no node.
  mlir::LogicalResult importBlock(mlir::Block &block);
  NodeRef lookup(mlir::Value value) const { return nodes.at(value); }
  const llvm::DenseMap<mlir::Value, NodeRef> &all() const { return nodes; }

private:
  NodeRef importOp(mlir::Operation &op);
  NodeRef importReduce(ReduceOp reduce);
  mlir::LogicalResult importOps(mlir::Block &block);
  Graph &graph;
  std::optional<Varying> varying;
  llvm::DenseMap<mlir::Value, NodeRef> nodes;
};

/// Prints nodes as spec ops at the builder's insertion point; a value given before is used as it
/// is.
class Exporter {
public:
  explicit Exporter(mlir::OpBuilder &builder) : builder(builder) {}
  void give(NodeRef node, mlir::Value value) { values.try_emplace(node, value); }
  mlir::Value get(NodeRef node);

private:
  mlir::OpBuilder &builder;
  llvm::DenseMap<NodeRef, mlir::Value> values;
};

/// The op of one elementwise node, input, column, constant, reduction or pick on operands that have
/// values already.
mlir::Value emitNode(mlir::OpBuilder &builder, NodeRef node, llvm::ArrayRef<mlir::Value> operands);
mlir::Type typeOf(mlir::MLIRContext *context, NodeType type);
NodeType nodeTypeOf(mlir::Type type);
} // namespace logitile
