// MatchValues.cpp - compares the ops of two blocks in order.
#include "compiler/Support/MatchValues.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"
using namespace mlir;

/// Equal ops have equal numbers. 'number' gives those of operands.
static size_t hashOf(Operation &op, function_ref<llvm::hash_code(Value)> number) {
  return OperationEquivalence::computeHash(&op, number, OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
}

IRMapping logitile::matchValues(Block &from, Block &to, IRMapping matches) {
  llvm::DenseMap<size_t, SmallVector<Operation *, 1>> others; // a search of the whole block for each op would take for ever
  for (Operation &other : to)
    if (other.getNumResults() > 0)
      others[hashOf(other, [](Value operand) { return hash_value(operand); })].push_back(&other);
  auto isMatch = [&](Value known, Value other) { return success(matches.lookupOrNull(known) == other); };
  for (Operation &known : from) {
    size_t number = hashOf(known, [&](Value operand) { return hash_value(matches.lookupOrNull(operand)); });
    for (Operation *other : others.lookup(number))
      if (OperationEquivalence::isEquivalentTo(&known, other, isMatch, /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations))
        matches.map(known.getResults(), other->getResults());
  }
  return matches;
}
