// SliceProgram.cpp - the pass that extracts the part of a program that one slice of the vocabulary
// runs between two merges. form-sweeps handles entries of other slices; choose-schedule makes
// buffers and launches.
#include "compiler/Passes.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_SLICEPROGRAMPASS
#include "compiler/Passes.h.inc"

namespace {
/// What the single entries of other slices have for a column: no kernel finds it.
constexpr int32_t kNoColumn = INT32_MAX;

/// The inputs and outputs that hold the state of 'sweep': "forward0.max0". Callers have arrays by
/// these names; nobody takes them apart.
SmallVector<std::string> stateNames(SweepOp sweep, StringRef prefix = "") {
  return llvm::map_to_vector(sweep.getStateNames().getAsValueRange<StringAttr>(),
                             [&](StringRef entry) { return (prefix + sweep.getSymName() + "." + entry).str(); });
}

/// The same for the values and the indices of a list: "forward0.list0.values".
SmallVector<std::string> listNames(SweepOp sweep, int64_t list, StringRef prefix = "") {
  std::string name = (prefix + sweep.getSymName() + ".list" + Twine(list)).str();
  return {name + ".values", name + ".indices"};
}

class Slicer {
public:
  Slicer(ProgramOp program, SliceAttr slice) : program(program), slice(slice), builder(program.getContext()) {}

  LogicalResult run() {
    if (failed(refuseReadLists()) || failed(findSweeps()))
      return failure();
    takeFinishes();
    if (current)
      slice.getPart() == SlicePart::Merge ? mergeStates() : yieldState();
    setOutputs();
    for (Operation &part : llvm::make_early_inc_range(program.getBody().front())) {
      bool isGradient = isa<GradientOp>(part) && slice.getPart() != SlicePart::Gradient;
      bool isSweep = isa<SweepOp>(part) && (&part != current.getOperation() || slice.getPart() == SlicePart::Merge);
      if (isGradient || isSweep)
        part.erase();
    }
    moveColumns();
    moveRows();
    dropUnread();
    return success();
  }

private:
  bool runsSweep() const { return slice.getPart() == SlicePart::Sweep || slice.getPart() == SlicePart::Merge; }

  /// What is picked at a list of indices lies in memory that slices do not join.
  LogicalResult refuseReadLists() {
    for (FinishOp finish : program.getBody().getOps<FinishOp>())
      if (finish.isOfPlaces())
        return finish.emitOpError() << "goes through lists that are read, which slices of the vocabulary do not";
    return success();
  }

  LogicalResult findSweeps() {
    int64_t forward = 0;
    for (SweepOp sweep : program.getBody().getOps<SweepOp>()) {
      if (sweep.getPhase() == Phase::Fused)
        return program.emitOpError() << "has fused sweep @" << sweep.getSymName() << ", whose sums no slice can merge";
      forward += sweep.getPhase() == Phase::Forward;
      sweeps.push_back(sweep);
    }
    program.setSweeps(ArrayRef<int64_t>{forward, static_cast<int64_t>(sweeps.size()) - forward});
    if (!runsSweep() || sweeps.empty()) // a loss that reads no logits has nothing to run before its finish
      return success();
    if (slice.getSweep() >= static_cast<int64_t>(sweeps.size()))
      return program.emitOpError() << "has " << sweeps.size() << " sweeps, but the slice is to run sweep " << slice.getSweep();
    current = sweeps[slice.getSweep()];
    return success();
  }

  // ---- finishes ---------------------------------------------------------------------------------

  /// Those that merged states lead to stay, and read them; the others go.
  void takeFinishes() {
    for (FinishOp finish : llvm::make_early_inc_range(program.getBody().getOps<FinishOp>())) {
      bool isThere = runsSweep()                                ? current && finish->isBeforeInBlock(current)
                     : slice.getPart() == SlicePart::Gradient ? true
                                                              : finish.getPhase() <= Phase::Forward;
      if (!isThere) {
        finish.erase();
        continue;
      }
      if (std::optional<StringRef> name = finish.getSweep()) {
        auto sweep = SymbolTable::lookupNearestSymbolFrom<SweepOp>(finish, StringAttr::get(program.getContext(), *name));
        if (finish.getList())
          readList(finish, listNames(sweep, *finish.getList()));
        else
          readState(finish.getBody().front(), stateNames(sweep));
        finish.removeSweepAttr();
      }
      finish.setPhase(finish.getPhase() <= Phase::Forward ? Phase::Prologue : Phase::Backward);
    }
  }
  /// The arguments of 'block' become token inputs.
  void readState(Block &block, ArrayRef<std::string> names) {
    builder.setInsertionPointToStart(&block);
    for (auto [argument, name] : llvm::zip_equal(block.getArguments(), names))
      argument.replaceAllUsesWith(input(InputKind::Token, name, argument.getType(), argument.getLoc()));
    block.eraseArguments(0, block.getNumArguments());
  }
  /// The list of 'finish' is given, by inputs.
  void readList(FinishOp finish, ArrayRef<std::string> names) {
    finish.setPlacesAttr(builder.getI64IntegerAttr(finish.countPlaces()));
    finish.setGivenAttr(stringsOf(names));
    finish.removeListAttr();
  }
  ArrayAttr stringsOf(ArrayRef<std::string> names) { return builder.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end())); }
  Value input(InputKind kind, StringRef name, Type type, Location loc) {
    return InputOp::create(builder, loc, type, kind, builder.getStringAttr(name), IntegerAttr(), /*places=*/IntegerAttr());
  }
  static ResultAttr resultOf(FinishOp finish, int64_t number) { return ResultAttr::get(FlatSymbolRefAttr::get(finish), number); }
  FinishOp addFinish(StringRef name, Phase phase, FlatSymbolRefAttr sweep, ArrayRef<std::string> results, ArrayAttr types) {
    return FinishOp::create(builder, program.getLoc(), name, phase, sweep, stringsOf(results), types, /*list=*/IntegerAttr(),
                            /*given=*/ArrayAttr(), /*places=*/IntegerAttr(), /*summed=*/false, /*place=*/IntegerAttr());
  }

  /// The state of the sweep that runs, of all its vocabulary splits, is a result.
  void yieldState() {
    builder.setInsertionPointAfter(current);
    state = addFinish("state", current.getPhase(), FlatSymbolRefAttr::get(current), stateNames(current), current.getStateTypes());
    Block &block = state.getBody().emplaceBlock();
    for (Type type : current.getStateTypes().getAsValueRange<TypeAttr>())
      block.addArgument(type, program.getLoc());
    builder.setInsertionPointToEnd(&block);
    YieldOp::create(builder, program.getLoc(), block.getArguments());
    for (int64_t list : llvm::seq<int64_t>(current.getPlaces().size()))
      yieldList(list);
  }
  /// A finish of 'list' of the sweep, after the others, that gives its values and its indices.
  /// Whose it is, is to be said.
  FinishOp addList(StringRef name, Phase phase, FlatSymbolRefAttr sweep, int64_t list) {
    builder.setInsertionPointAfter(lists.empty() ? state : lists.back());
    Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    lists.push_back(addFinish((name + std::to_string(list)).str(), phase, sweep, listNames(current, list), builder.getTypeArrayAttr({f32, i32})));
    Block &block = lists.back().getBody().emplaceBlock();
    block.addArguments({f32, i32}, {program.getLoc(), program.getLoc()});
    builder.setInsertionPointToEnd(&block);
    return lists.back();
  }
  /// Indices are those of the whole vocabulary. A slice may have fewer entries than the list has
  /// places: the rest has the index -1.
  void yieldList(int64_t list) {
    FinishOp finish = addList("list_state", current.getPhase(), FlatSymbolRefAttr::get(current), list);
    finish.setListAttr(builder.getI64IntegerAttr(list));
    Location loc = program.getLoc();
    Value value = finish.getBody().getArgument(0), column = finish.getBody().getArgument(1);
    Value none = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
    Value nothing = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Value isEntry = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, column, none);
    Value index = arith::AddIOp::create(builder, loc, column, offset(loc));
    YieldOp::create(builder, loc, ValueRange{arith::SelectOp::create(builder, loc, isEntry, value, nothing),
                                             arith::SelectOp::create(builder, loc, isEntry, index, none)});
  }
  /// The merge of the sweep, of two states that are inputs.
  void mergeStates() {
    builder.setInsertionPointAfter(current);
    Phase phase = current.getPhase() == Phase::Forward ? Phase::Prologue : Phase::Backward;
    state = addFinish("merged", phase, FlatSymbolRefAttr(), stateNames(current), current.getStateTypes());
    IRMapping none;
    current.getMerge().cloneInto(&state.getBody(), none);
    SmallVector<std::string> names = stateNames(current, "first.");
    names.append(stateNames(current, "second."));
    readState(state.getBody().front(), names);
    for (int64_t list : llvm::seq<int64_t>(current.getPlaces().size()))
      mergeList(list, phase);
  }
  void mergeList(int64_t list, Phase phase) {
    FinishOp finish = addList("merged_list", phase, FlatSymbolRefAttr(), list);
    SmallVector<std::string> names = listNames(current, list, "first.");
    names.append(listNames(current, list, "second."));
    finish.setGivenAttr(stringsOf(names));
    finish.setPlacesAttr(builder.getI64IntegerAttr(current.getPlaces()[list]));
    YieldOp::create(builder, program.getLoc(), finish.getBody().getArguments());
  }

  // ---- columns ----------------------------------------------------------------------------------

  Value offset(Location loc) { return input(InputKind::SliceOffset, "", builder.getI32Type(), loc); }

  /// Kernels count columns from the start of the slice. A comparison moves its other side instead:
  /// so entries that a single column decides are still seen to be such.
  void moveColumns() {
    SmallVector<ColumnOp> columns;
    program.walk([&](ColumnOp column) { columns.push_back(column); });
    for (ColumnOp column : columns) {
      SmallVector<OpOperand *> rest;
      for (OpOperand &use : llvm::make_early_inc_range(column->getUses())) {
        auto compare = dyn_cast<arith::CmpIOp>(use.getOwner());
        using P = arith::CmpIPredicate;
        if (!compare || (compare.getPredicate() != P::eq && compare.getPredicate() != P::ne)) {
          rest.push_back(&use);
          continue;
        }
        builder.setInsertionPoint(compare);
        OpOperand &other = compare->getOpOperand(1 - use.getOperandNumber());
        other.set(arith::SubIOp::create(builder, compare.getLoc(), other.get(), offset(compare.getLoc())));
      }
      if (rest.empty())
        continue;
      builder.setInsertionPointAfter(column);
      Value global = arith::AddIOp::create(builder, column.getLoc(), column, offset(column.getLoc()));
      for (OpOperand *use : rest)
        use->set(global);
    }
  }

  /// Single entries of the gradient: those of other slices have no column here.
  void moveRows() {
    llvm::MapVector<Attribute, ResultAttr> local; // by the attributes of the op that reads the column
    SmallVector<Value> results;
    FinishOp finish;
    for (GradientOp gradient : program.getBody().getOps<GradientOp>())
      for (AdjointOp adjoint : llvm::to_vector(gradient.getBody().getOps<AdjointOp>()))
        for (OpOperand &column : adjoint.getColumnsMutable()) {
          Operation *read = column.get().getDefiningOp();
          auto [it, isNew] = local.try_emplace(read->getAttrDictionary());
          if (isNew) {
            if (!finish) {
              builder.setInsertionPoint(gradient);
              finish = addFinish("local_columns", Phase::Backward, FlatSymbolRefAttr(), {}, builder.getArrayAttr({}));
              finish.getBody().emplaceBlock();
            }
            builder.setInsertionPointToEnd(&finish.getBody().front());
            it->second = resultOf(finish, results.size());
            results.push_back(localColumn(read));
          }
          builder.setInsertionPoint(adjoint);
          column.set(KnownOp::create(builder, adjoint.getLoc(), builder.getI32Type(), it->second));
        }
    if (!finish)
      return;
    builder.setInsertionPointToEnd(&finish.getBody().front());
    YieldOp::create(builder, program.getLoc(), results);
    auto names = llvm::map_to_vector(llvm::seq(results.size()), [](size_t i) { return "local." + std::to_string(i); });
    finish.setResultNamesAttr(builder.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end())));
    finish.setResultTypesAttr(builder.getTypeArrayAttr(SmallVector<Type>(results.size(), builder.getI32Type())));
  }
  Value localColumn(Operation *read) {
    Location loc = read->getLoc();
    Value column = builder.clone(*read)->getResult(0);
    auto number = [&](int32_t value) -> Value { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)); };
    Value here = arith::SubIOp::create(builder, loc, column, offset(loc));
    Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, here, number(slice.getColumns()));
    return arith::SelectOp::create(builder, loc, isInside, here, number(kNoColumn));
  }

  // ---- what is left -----------------------------------------------------------------------------

  /// The outputs of the loss are there wherever cotangents may be read, for these belong to
  /// outputs.
  void setOutputs() {
    SmallVector<Attribute> outputs;
    if (!runsSweep() || (current && current.getPhase() == Phase::Backward))
      llvm::append_range(outputs, program.getOutputs());
    if (current)
      for (auto [i, name, type] : llvm::enumerate(stateNames(current), current.getStateTypes().getAsValueRange<TypeAttr>()))
        outputs.push_back(OutputAttr::get(program.getContext(), name, type, resultOf(state, i), /*state=*/true));
    for (FinishOp list : lists)
      for (auto [i, name, type] :
           llvm::enumerate(list.getResultNames().getAsValueRange<StringAttr>(), list.getResultTypes().getAsValueRange<TypeAttr>()))
        outputs.push_back(OutputAttr::get(program.getContext(), name, type, resultOf(list, i), /*state=*/true));
    program.setOutputsAttr(builder.getArrayAttr(outputs));
  }

  /// Results that neither the caller nor a later part reads go, and what only they need.
  void dropUnread() {
    llvm::DenseSet<Attribute> read;
    for (OutputAttr output : program.getOutputs().getAsRange<OutputAttr>())
      read.insert(output.getResult());
    SmallVector<Attribute> checked;
    for (ResultAttr result : program.getChecked().getAsRange<ResultAttr>())
      if (slice.getPart() == SlicePart::Sweep && findFinish(program, result))
        checked.push_back(result), read.insert(result);
    program.setCheckedAttr(builder.getArrayAttr(checked));
    AttrTypeReplacer renumbering;
    llvm::DenseMap<Attribute, Attribute> moved;
    for (Operation &part : llvm::make_early_inc_range(llvm::reverse(program.getBody().front()))) {
      auto finish = dyn_cast<FinishOp>(part);
      if (finish && !keepResults(finish, read, moved))
        continue;
      part.walk([&](KnownOp known) { read.insert(known.getSource()); });
    }
    renumbering.addReplacement([&](ResultAttr result) -> std::optional<Attribute> {
      Attribute now = moved.lookup(result);
      return now ? std::optional(now) : std::nullopt;
    });
    renumbering.recursivelyReplaceElementsIn(program, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/false);
  }
  /// False where none of the results is read: then the finish is gone. Says which number those that
  /// stay have in 'moved'.
  bool keepResults(FinishOp finish, const llvm::DenseSet<Attribute> &read, llvm::DenseMap<Attribute, Attribute> &moved) {
    SmallVector<Attribute> names, types;
    SmallVector<Value> values;
    auto yield = cast<YieldOp>(finish.getBody().front().getTerminator());
    for (auto [i, name, type, value] : llvm::enumerate(finish.getResultNames(), finish.getResultTypes(), yield.getValues()))
      if (read.contains(resultOf(finish, i))) {
        moved[resultOf(finish, i)] = resultOf(finish, names.size());
        names.push_back(name), types.push_back(type), values.push_back(value);
      }
    if (names.empty())
      return finish.erase(), false;
    finish.setResultNamesAttr(builder.getArrayAttr(names));
    finish.setResultTypesAttr(builder.getArrayAttr(types));
    yield->setOperands(values);
    IRRewriter rewriter(finish.getContext());
    static_cast<void>(runRegionDCE(rewriter, finish.getBody())); // it fails where there is nothing to erase
    return true;
  }

  ProgramOp program;
  SliceAttr slice;
  OpBuilder builder;
  SmallVector<SweepOp> sweeps;
  SweepOp current; // that runs or is merged; null in parts without one
  FinishOp state;  // that gives its state
  SmallVector<FinishOp> lists; // that give its lists
};

struct SliceProgramPass : impl::SliceProgramPassBase<SliceProgramPass> {
  void runOnOperation() override {
    RequestAttr request = getRequest(getOperation());
    if (!request || !request.getSlice())
      return;
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(Slicer(program, request.getSlice()).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
