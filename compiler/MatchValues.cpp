// MatchValues.cpp - compares the ops of two blocks in order.
#include "compiler/MatchValues.h"
using namespace mlir;

IRMapping logitile::matchValues(Block &from, Block &to, IRMapping matches) {
  auto isMatch = [&](Operation &known, Operation &other) {
    return known.getName() == other.getName() && known.getResultTypes() == other.getResultTypes() &&
           known.getAttrDictionary() == other.getAttrDictionary() &&
           llvm::equal(known.getOperands(), other.getOperands(), [&](Value a, Value b) { return matches.lookupOrNull(a) == b; });
  };
  for (Operation &known : from)
    for (Operation &other : to)
      if (known.getNumResults() > 0 && isMatch(known, other))
        matches.map(known.getResults(), other.getResults());
  return matches;
}
