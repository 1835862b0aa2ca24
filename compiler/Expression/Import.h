// Import.h - converts between scalar regions and graphs: reads the ops of a loss into nodes, and
// writes nodes as ops.
#pragma once
#include "compiler/Expression/Graph.h"
#include "dialect/checks/Varying.h"

namespace logitile {
/// Reads the ops of a block into a graph, including those of a nested gradient.
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

/// Writes nodes as spec ops at the builder's insertion point. A node for which a value was given is
/// not written: that value is used.
class Exporter {
public:
  explicit Exporter(mlir::OpBuilder &builder) : builder(builder) {}
  void give(NodeRef node, mlir::Value value) { values.try_emplace(node, value); }
  mlir::Value get(NodeRef node);

private:
  mlir::OpBuilder &builder;
  llvm::DenseMap<NodeRef, mlir::Value> values;
};

/// Creates the op of one node: elementwise, input, column, constant, reduction or pick. 'operands'
/// are the values of its operands.
mlir::Value emitNode(mlir::OpBuilder &builder, NodeRef node, llvm::ArrayRef<mlir::Value> operands);
mlir::Type typeOf(mlir::MLIRContext *context, NodeType type);
NodeType nodeTypeOf(mlir::Type type);
} // namespace logitile
