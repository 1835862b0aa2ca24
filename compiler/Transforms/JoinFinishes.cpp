// JoinFinishes.cpp - the pass that makes one finish of two that follow each other.
#include "compiler/Transforms/JoinFinishes.h"
#include "compiler/Passes.h"
#include "compiler/Support/FinishExtender.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_JOINFINISHESPASS
#include "compiler/Passes.h.inc"

/// Whether its region is of one token, not of a place in a list.
static bool isOfToken(FinishOp finish) { return !finish.isOfList() && !finish.isOfPlaces(); }

static bool isResultOf(FinishOp finish, ResultAttr result) { return result.getFinish().getValue() == finish.getSymName(); }

/// An index is read from memory, so it has to be there before the kernel begins.
static bool gathersAtResultOf(FinishOp first, FinishOp second) {
  return llvm::any_of(second.getBody().getOps<GatherOp>(), [&](GatherOp gather) {
    auto index = gather.getIndex().getDefiningOp<KnownOp>();
    return index && isResultOf(first, index.getSource());
  });
}

static bool mayJoin(FinishOp first, FinishOp second) {
  return isOfToken(first) && first.getPhase() == Phase::Forward && isOfToken(second) && second.getPhase() == Phase::Backward &&
         !second.getSweep() && !gathersAtResultOf(first, second);
}

using NewResults = llvm::DenseMap<ResultAttr, ResultAttr>;

static void replaceResults(ProgramOp program, const NewResults &results) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ResultAttr result) -> Attribute {
    ResultAttr replacement = results.lookup(result);
    return replacement ? replacement : result;
  });
  replacer.recursivelyReplaceElementsIn(program, /*replaceAttrs=*/true);
}

/// 'second' becomes part of 'first'.
static void join(FinishOp first, FinishOp second) {
  auto program = first->getParentOfType<ProgramOp>();
  FinishExtender results(first);
  Block &body = second.getBody().front();
  for (KnownOp known : llvm::make_early_inc_range(body.getOps<KnownOp>()))
    if (isResultOf(first, known.getSource())) {
      known.replaceAllUsesWith(results.known(known.getSource()));
      known.erase();
    }
  Operation *yield = body.getTerminator();
  auto values = llvm::to_vector(yield->getOperands());
  yield->erase();
  first.getBody().front().getOperations().splice(results.b.getInsertionPoint(), body.getOperations());
  NewResults replacements;
  for (auto [number, value] : llvm::enumerate(values)) {
    auto result = ResultAttr::get(FlatSymbolRefAttr::get(second), number);
    replacements[result] = results.add(cast<StringAttr>(second.getResultNames()[number]).getValue(), value);
  }
  first.setPhase(Phase::Backward);
  second.erase();
  replaceResults(program, replacements);
}

/// Drops the results that nothing in the program names.
static void dropUnread(FinishOp finish) {
  auto program = finish->getParentOfType<ProgramOp>();
  llvm::DenseSet<Attribute> read;
  program->walk([&](Operation *op) { op->getAttrDictionary().walk([&](ResultAttr result) { read.insert(result); }); });
  SmallVector<Attribute> names, types;
  SmallVector<Value> values;
  NewResults replacements;
  Operation *yield = finish.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
    auto result = ResultAttr::get(FlatSymbolRefAttr::get(finish), number);
    if (!read.contains(result))
      continue;
    replacements[result] = ResultAttr::get(result.getFinish(), values.size());
    names.push_back(finish.getResultNames()[number]);
    types.push_back(finish.getResultTypes()[number]);
    values.push_back(value);
  }
  Builder b(finish.getContext());
  finish.setResultNamesAttr(b.getArrayAttr(names));
  finish.setResultTypesAttr(b.getArrayAttr(types));
  yield->setOperands(values);
  replaceResults(program, replacements);
}

void joinFinishes(ProgramOp program) {
  for (FinishOp second : llvm::make_early_inc_range(program.getBody().getOps<FinishOp>())) {
    auto first = dyn_cast_or_null<FinishOp>(second->getPrevNode());
    if (!first || !mayJoin(first, second))
      continue;
    join(first, second);
    dropUnread(first);
  }
}

namespace {
struct JoinFinishesPass : impl::JoinFinishesPassBase<JoinFinishesPass> {
  void runOnOperation() override { joinFinishes(getOperation()); }
};
} // namespace
} // namespace logitile
