// FactorGradient.cpp - the program whose first sweep stores the early part of its gradient: an
// earlier sweep for the reference, results of finishes for values that are known later, and the
// remaining gradient.
#include "compiler/Transforms/FactorGradient/FactorGradient.h"
#include "compiler/Passes.h"
#include "compiler/Support/FinishExtender.h"
#include "compiler/Support/MatchValues.h"
#include "compiler/Transforms/FactorGradient/Factors.h"
#include "compiler/Transforms/FactorGradient/Picks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_FACTORGRADIENTPASS
#include "compiler/Passes.h.inc"

/// Exponentials are up to e^22 = 2^31, as is the part of a factor that makes up for small ones. So
/// both are far from the ends of f32 and bf16, also times an operand and a cotangent.
constexpr float kMostExponent = 22;

static bool readsAnyLogits(Operation *op) {
  return op->walk([](InputOp input) { return input.getKind() == InputKind::Logits ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

namespace {
/// The parts of a program whose gradient may be factored.
struct Parts {
  SweepOp sweep;
  GradientOp gradient;
  AdjointOp adjoint; // of logits

  static std::optional<Parts> of(ProgramOp program) {
    Parts parts;
    SmallVector<SweepOp> sweeps(program.getBody().getOps<SweepOp>());
    SmallVector<GradientOp> gradients(program.getBody().getOps<GradientOp>());
    if (sweeps.empty() || gradients.empty() || !llvm::all_of(sweeps, [](SweepOp sweep) { return sweep.getPhase() == Phase::Forward; }))
      return std::nullopt;
    parts.sweep = sweeps.front();
    parts.gradient = gradients.front();
    auto goesAlongLogits = [](SweepOp sweep) { return sweep.getAlong() || sweep.getPicks() || readsAnyLogits(sweep); };
    bool isReadAgain = llvm::any_of(llvm::drop_begin(sweeps), goesAlongLogits);
    if (isReadAgain || !readsAnyLogits(parts.sweep) || !parts.findAdjoint())
      return std::nullopt;
    return parts;
  }

private:
  /// Of one projection's logits, the only ones that are read; no other input with a value per entry
  /// has a gradient.
  bool findAdjoint() {
    for (AdjointOp each : gradient.getBody().getOps<AdjointOp>()) {
      if (each.getKind() == InputKind::Token || each.getKind() == InputKind::Scalar)
        continue;
      if (adjoint || each.getKind() != InputKind::Logits || !each.getDense())
        return false;
      adjoint = each;
    }
    return adjoint && llvm::none_of(adjoint.getColumns(), [](Value column) { return placesRead(column.getDefiningOp()) > 0; }) &&
           llvm::all_of(gradient.getBody().getOps<InputOp>(), [&](InputOp input) {
             return input.getKind() != InputKind::Logits || input.getName() == adjoint.getName();
           });
  }
};

FinishOp createFinish(OpBuilder &b, Location loc, StringRef name, Phase phase, SweepOp sweep) {
  auto finish = FinishOp::create(b, loc, name, phase, sweep ? FlatSymbolRefAttr::get(sweep) : FlatSymbolRefAttr(), b.getArrayAttr({}),
                                 b.getArrayAttr({}), /*list=*/IntegerAttr(), /*given=*/ArrayAttr(), /*places=*/IntegerAttr(),
                                 /*summed=*/false, /*place=*/IntegerAttr());
  Block &block = finish.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  if (sweep)
    block.addArgument(cast<TypeAttr>(sweep.getStateTypes()[0]).getValue(), loc);
  YieldOp::create(inside, loc, ValueRange());
  return finish;
}

class GradientFactorer {
public:
  GradientFactorer(ProgramOp program, const Parts &parts)
      : program(program), parts(parts), loc(parts.gradient->getLoc()), symbols(program) {}

  bool run() {
    Block early;
    OpBuilder b(program.getContext()); // the block is nowhere yet
    b.setInsertionPointToEnd(&early);
    SliceCloner cloner(b);
    // Stands for the reference until there is one.
    auto makeReference = [&]() -> Value { return placeholder = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)); };
    Factors factors(parts.gradient.getBody().front(), candidate());
    if (!llvm::all_of(parts.adjoint.getColumns(), [&](Value column) { return factors.isEarly(column); }))
      return false;
    FailureOr<Value> dense = factors.split(parts.adjoint.getDense(), cloner, makeReference);
    if (failed(dense))
      return false;
    FinishOp own = finishOfSweep();
    if (!own)
      return false;
    if (factors.exponent) {
      startReference(factors.exponent->scale);
      endReference(own, factors.exponent->scale);
    }
    for (Value column : parts.adjoint.getColumns())
      picked.push_back(FinishExtender(own).add("at_column", pickOf(column, own)));
    finishFactor(factors);
    replaceGradient(early, *dense);
    return true;
  }

private:
  /// What the sweep's only running maximum is of, in the gradient; null where the gradient has no
  /// such value.
  Value candidate() {
    Block &candidates = parts.sweep.getCandidate().front();
    Operation *yield = candidates.getTerminator();
    if (yield->getNumOperands() != 1)
      return {};
    return matchValues(candidates, parts.gradient.getBody().front()).lookupOrNull(yield->getOperand(0));
  }
  FinishOp finishOfSweep() {
    for (FinishOp finish : program.getBody().getOps<FinishOp>())
      if (finish.getSweep() == parts.sweep.getSymName() && !finish.isOfList())
        return finish;
    return {};
  }
  std::string freeName(StringRef wanted) {
    std::string name = wanted.str();
    for (unsigned i = 1; symbols.lookup(name); ++i)
      name = (wanted + Twine(i)).str();
    return name;
  }

  /// Before the sweep: as far above the maximum of the first columns as that of all may be above
  /// the reference.
  void startReference(float scale) {
    OpBuilder b(parts.sweep);
    FinishOp finish = createFinish(b, loc, freeName("reference"), Phase::Forward, createSweep(b));
    symbols.insert(finish);
    FinishExtender results(finish);
    Value maximum = finish.getBody().getArgument(0);
    first = results.add("reference", arith::AddFOp::create(results.b, loc, maximum, results.number(kMostExponent / scale)));
  }
  /// The running maximum alone.
  SweepOp createSweep(OpBuilder &b) {
    SweepOp of = parts.sweep;
    Attribute f32 = TypeAttr::get(b.getF32Type());
    auto sweep = SweepOp::create(b, loc, freeName("first_columns"), Phase::Forward, /*along=*/StringAttr(), b.getStrArrayAttr({"max"}),
                                 b.getArrayAttr({f32}), /*lists=*/DenseI64ArrayAttr(), /*picks=*/ArrayAttr());
    symbols.insert(sweep);
    IRMapping none;
    of.getInit().cloneInto(&sweep.getInit(), none);
    Operation *yield = sweep.getInit().front().getTerminator();
    yield->setOperands(yield->getOperands().take_front(1));
    of.getCandidate().cloneInto(&sweep.getCandidate(), none);
    Block &update = sweep.getUpdate().emplaceBlock(), &merge = sweep.getMerge().emplaceBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(&update);
    YieldOp::create(inside, loc, ValueRange{update.addArgument(b.getF32Type(), loc)});
    Value left = merge.addArgument(b.getF32Type(), loc), right = merge.addArgument(b.getF32Type(), loc);
    inside.setInsertionPointToEnd(&merge);
    Value isRight = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OGT, right, left);
    YieldOp::create(inside, loc, ValueRange{arith::SelectOp::create(inside, loc, isRight, right, left)});
    return sweep;
  }

  /// After it: the same reference, or the running maximum where exponentials relative to the first
  /// one overflow.
  void endReference(FinishOp finish, float scale) {
    FinishExtender results(finish);
    OpBuilder &b = results.b;
    Value reference = results.known(first), maximum = finish.getBody().getArgument(0);
    Value most = arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, maximum, reference), results.number(scale));
    Value isTooLow = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, most, results.number(kMostExponent));
    last = results.add("reference", arith::SelectOp::create(b, loc, isTooLow, maximum, reference));
    raised = results.add("raised", arith::ExtUIOp::create(b, loc, b.getI32Type(), isTooLow));
  }

  /// The logit at a column, in a finish of the sweep: it is in the row state, or comes there.
  Value pickOf(Value column, FinishOp finish) {
    StringRef logits = parts.adjoint.getName();
    std::optional<unsigned> slot = findPickSlot(parts.sweep, column, logits);
    return finish.getBody().getArgument(slot ? *slot : addPickSlot(program, parts.sweep, column, logits));
  }

  /// A finish without a sweep, to which results can be added.
  FinishOp lastFinish() {
    FinishOp found;
    for (FinishOp finish : program.getBody().getOps<FinishOp>())
      if (finish.getPhase() == Phase::Backward && !finish.getSweep() && !finish.isOfPlaces() && !finish.isOfList())
        found = finish;
    if (found)
      return found;
    OpBuilder b(parts.gradient);
    found = createFinish(b, loc, freeName("factor"), Phase::Backward, SweepOp());
    symbols.insert(found);
    return found;
  }
  /// The factor, and the coefficients of sparse terms: what they were, and the entries at their
  /// columns.
  void finishFactor(const Factors &factors) {
    FinishExtender results(lastFinish());
    SliceCloner cloner(results.b);
    for (KnownOp known : parts.gradient.getBody().getOps<KnownOp>())
      if (known.getSource().getFinish().getValue() == results.finish.getSymName())
        cloner.map(known, results.known(known.getSource()));
    Value product = emitFactor(factors, results, cloner);
    factor = results.add("factor", product);
    for (unsigned i = 0; i < picked.size(); ++i) {
      Value entry = emitEntry(i, results, cloner), coefficient = cloner.clone(parts.adjoint.getCoefficients()[i]);
      whole.push_back(results.add("whole", arith::AddFOp::create(results.b, loc, coefficient, entry)));
    }
  }
  /// The dense gradient at column 'i', computed like any other but from the logit there; nothing
  /// where an earlier term has the same column.
  Value emitEntry(unsigned i, FinishExtender &results, const SliceCloner &shared) {
    OpBuilder &b = results.b;
    SliceCloner cloner = shared;
    Value column = cloner.clone(parts.adjoint.getColumns()[i]), logit = results.known(picked[i]);
    for (GatherOp gather : parts.gradient.getBody().getOps<GatherOp>())
      cloner.clone(gather); // of an input, which is another value than that at the column
    for (Operation &op : parts.gradient.getBody().front()) {
      auto input = dyn_cast<InputOp>(op);
      if (isa<ColumnOp>(op))
        cloner.map(op.getResult(0), column);
      else if (input && input.getKind() == InputKind::Logits)
        cloner.map(input, logit);
      else if (input && input.isVaryingInput() && llvm::any_of(input->getUsers(), [](Operation *user) { return !isa<GatherOp>(user); }))
        cloner.map(input, GatherOp::create(b, loc, input.getType(), shared.copy(input), column));
    }
    Value entry = cloner.clone(parts.adjoint.getDense());
    for (unsigned j = 0; j < i; ++j) {
      Value isSame = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, column, cloner.clone(parts.adjoint.getColumns()[j]));
      entry = arith::SelectOp::create(b, loc, isSame, results.number(0), entry);
    }
    return entry;
  }
  Value emitFactor(const Factors &factors, FinishExtender &results, SliceCloner &cloner) {
    OpBuilder &b = results.b;
    Value product = factors.exponent ? emitExponential(*factors.exponent, results, cloner) : results.number(1);
    for (const UniformFactor &uniform : llvm::reverse(factors.uniform)) // the outermost wins
      product = multiplied(product, uniform, results, cloner);
    return factors.isNegative ? arith::NegFOp::create(b, loc, product).getResult() : product;
  }
  static Value multiplied(Value product, const UniformFactor &uniform, FinishExtender &results, SliceCloner &cloner) {
    OpBuilder &b = results.b;
    Location loc = product.getLoc();
    Value value = cloner.clone(uniform.value);
    switch (uniform.kind) {
    case UniformFactor::Kind::Times: return arith::MulFOp::create(b, loc, product, value);
    case UniformFactor::Kind::Weight: return MultiplyNoNanOp::create(b, loc, value, product);
    case UniformFactor::Kind::Divisor: return arith::DivFOp::create(b, loc, product, value);
    case UniformFactor::Kind::Kept: return arith::SelectOp::create(b, loc, value, product, results.number(0));
    case UniformFactor::Kind::Dropped: return arith::SelectOp::create(b, loc, value, results.number(0), product);
    }
    llvm_unreachable("a kind of factor");
  }
  /// Of the reference where the candidate was. What has the same multiple, such as the maximum, is
  /// about as large, and meets it first: products of the two would be rounded as such.
  Value emitExponential(const Exponent &exponent, FinishExtender &results, SliceCloner &cloner) {
    OpBuilder &b = results.b;
    Value distance = results.known(last);
    SmallVector<Exponent::Addend> others;
    for (const Exponent::Addend &addend : exponent.addends) {
      if (addend.times == exponent.scale)
        distance = arith::AddFOp::create(b, loc, distance, cloner.clone(addend.value));
      else if (addend.times == -exponent.scale)
        distance = arith::SubFOp::create(b, loc, distance, cloner.clone(addend.value));
      else
        others.push_back(addend);
    }
    if (exponent.scale == 1 && others.empty())
      return math::ExpOp::create(b, loc, distance);
    Value scale = results.number(exponent.scale), sum = arith::MulFOp::create(b, loc, distance, scale);
    Value lost = math::FmaOp::create(b, loc, distance, scale, arith::NegFOp::create(b, loc, sum));
    for (const Exponent::Addend &addend : others) {
      Value product = arith::MulFOp::create(b, loc, cloner.clone(addend.value), results.number(addend.times));
      sum = arith::AddFOp::create(b, loc, sum, product);
    }
    return math::ExpOp::create(b, loc, arith::AddFOp::create(b, loc, sum, lost));
  }

  void replaceGradient(Block &early, Value dense) {
    OpBuilder b(program.getContext());
    b.setInsertionPointToEnd(&early);
    SliceCloner cloner(b);
    auto known = [&](ResultAttr result) -> Value { return KnownOp::create(b, loc, b.getF32Type(), result); };
    if (placeholder) {
      b.setInsertionPoint(placeholder.getDefiningOp());
      Value reference = known(first);
      placeholder.replaceAllUsesWith(reference);
      placeholder.getDefiningOp()->erase();
      b.setInsertionPointToEnd(&early);
    }
    AdjointOp adjoint = parts.adjoint;
    auto columns = llvm::map_to_vector(adjoint.getColumns(), [&](Value column) { return cloner.clone(column); });
    auto coefficients = llvm::map_to_vector(whole, known);
    Value times = known(factor);
    AdjointOp::create(b, adjoint.getLoc(), adjoint.getKind(), adjoint.getNameAttr(), IntegerAttr(), IntegerAttr(), dense, times, columns,
                      coefficients);
    keepOtherAdjoints(b, cloner);
    Block &body = parts.gradient.getBody().front();
    body.dropAllReferences();
    body.clear();
    body.getOperations().splice(body.begin(), early.getOperations());
    parts.gradient.setExponential(false);
    if (first)
      parts.gradient.setReferenceAttr(ReferenceAttr::get(program.getContext(), first, last, raised));
  }
  void keepOtherAdjoints(OpBuilder &b, SliceCloner &cloner) {
    for (AdjointOp other : parts.gradient.getBody().getOps<AdjointOp>())
      if (other != parts.adjoint) {
        for (Value operand : other->getOperands())
          cloner.clone(operand);
        cloner.cloneOp(*other.getOperation());
      }
  }

  ProgramOp program;
  Parts parts;
  Location loc;
  SymbolTable symbols;
  Value placeholder;
  ResultAttr first, last, raised, factor;
  SmallVector<ResultAttr> picked, whole; // of each sparse term: the logit at its column, and all of the gradient there
};

struct FactorGradientPass : impl::FactorGradientPassBase<FactorGradientPass> {
  void runOnOperation() override { factorGradient(getOperation()); }
};
} // namespace

bool factorGradient(ProgramOp program) {
  std::optional<Parts> parts = Parts::of(program);
  return parts && GradientFactorer(program, *parts).run();
}
} // namespace logitile
