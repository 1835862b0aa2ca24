// MatchValues.cpp - compares the ops of two blocks in order.
#include "compiler/MatchValues.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
using namespace mlir;

/// Equal ops have equal numbers.
static size_t hashOf(Operation &op, ArrayRef<Value> operands) {
  return llvm::hash_combine(op.getName(), op.getAttrDictionary(), llvm::hash_combine_range(op.result_type_begin(), op.result_type_end()),
                            llvm::hash_combine_range(operands.begin(), operands.end()));
}

IRMapping logitile::matchValues(Block &from, Block &to, IRMapping matches) {
  llvm::DenseMap<size_t, SmallVector<Operation *, 1>> others; // a search of the whole block for each op would take for ever
  for (Operation &other : to)
    if (other.getNumResults() > 0)
      others[hashOf(other, llvm::to_vector(other.getOperands()))].push_back(&other);
  for (Operation &known : from) {
    SmallVector<Value> operands = llvm::map_to_vector(known.getOperands(), [&](Value operand) { return matches.lookupOrNull(operand); });
    auto isMatch = [&](Operation *other) {
      return known.getName() == other->getName() && known.getResultTypes() == other->getResultTypes() &&
             known.getAttrDictionary() == other->getAttrDictionary() && llvm::equal(operands, other->getOperands());
    };
    for (Operation *other : others.lookup(hashOf(known, operands)))
      if (isMatch(other))
        matches.map(known.getResults(), other->getResults());
  }
  return matches;
}
