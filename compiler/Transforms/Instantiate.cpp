// Instantiate.cpp - clones a skeleton with a mapping from one bundled value to the values that it
// stands for.
#include "compiler/Transforms/Specialise.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;

namespace {
class Expander {
public:
  Expander(const LaunchShape &shape, Bindings &bindings) : shape(shape), bindings(bindings), launch(shape.launch) {}

  FailureOr<KernelOp> run(TemplateOp source, OpBuilder &builder) {
    auto kernel = KernelOp::create(builder, CallSiteLoc::get(source.getLoc(), launch.getLoc()), launch.getKernel(), ArrayAttr(),
                                   DictionaryAttr(), FlatSymbolRefAttr());
    body = &kernel.getBody().emplaceBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    if (failed(bindArguments(source, inside)))
      return kernel.erase(), failure();
    kernel.setRolesAttr(inside.getArrayAttr(roles));
    if (DictionaryAttr aliases = aliasesOf(inside))
      kernel.setAliasesAttr(aliases);
    if (failed(cloneOps(source.getBody().front(), inside)))
      return kernel.erase(), failure();
    return kernel;
  }

private:
  // ---- arguments --------------------------------------------------------------------------------

  LogicalResult bindArguments(TemplateOp source, OpBuilder &builder) {
    for (auto [argument, role] : llvm::zip_equal(source.getBody().getArguments(), source.getRoles())) {
      Location loc = place(argument.getLoc());
      if (auto bundle = dyn_cast<BundleType>(argument.getType())) {
        if (failed(bindBundle(argument, bundle, loc)))
          return failure();
        continue;
      }
      if (auto formal = dyn_cast<ViewType>(argument.getType())) {
        if (failed(bindView(argument, role, cast<ViewType>(bindings.bind(formal)), loc)))
          return failure();
        continue;
      }
      bindScalar(argument, cast<ScalarRoleAttr>(role).getValue(), builder, loc);
    }
    return success();
  }
  LogicalResult bindBundle(BlockArgument argument, BundleType bundle, Location loc) {
    FailureOr<SmallVector<BufferOp>> buffers = shape.buffersOf(bundle.getKind());
    if (failed(buffers))
      return failure();
    values.try_emplace(argument);
    for (BufferOp buffer : *buffers)
      values[argument].push_back(addArgument(buffer, loc));
    return success();
  }
  /// The buffer of a role that has no owner, or the one that the launch gives; null with a
  /// diagnostic where there is none.
  BufferOp givenBuffer(Attribute role) {
    if (auto own = dyn_cast<BufferRoleAttr>(role)) {
      BufferOp buffer = shape.find({own.getValue()});
      if (!buffer)
        launch.emitOpError() << "needs a buffer for " << stringifyBufferRole(own.getValue()) << ", which the schedule does not define";
      return buffer;
    }
    auto name = cast<StringAttr>(role);
    auto given = dyn_cast_or_null<FlatSymbolRefAttr>(launch.viewsOrEmpty().get(name));
    if (!given)
      launch.emitOpError() << "gives no buffer for '" << name.getValue() << "' of template @" << launch.getSource();
    return given ? ScheduleOp(shape.schedule).lookupBuffer(given.getAttr()) : BufferOp();
  }
  static StringRef nameOf(Attribute role) {
    auto own = dyn_cast<BufferRoleAttr>(role);
    return own ? stringifyBufferRole(own.getValue()) : cast<StringAttr>(role).getValue();
  }
  /// The buffer brings the layout; its extents and element type must be those that the template
  /// states.
  LogicalResult bindView(BlockArgument argument, Attribute role, ViewType formal, Location loc) {
    BufferOp buffer = givenBuffer(role);
    if (!buffer)
      return failure();
    auto view = cast<ViewType>(buffer.getType());
    if (view.getDims() != formal.getDims() || view.getElement() != formal.getElement())
      return launch.emitOpError() << "gives '" << nameOf(role) << "' the buffer @" << buffer.getSymName() << " of " << view
                                  << ", expected " << formal;
    values[argument] = {addArgument(buffer, loc)};
    return success();
  }
  void bindScalar(BlockArgument argument, ScalarRole role, OpBuilder &builder, Location loc) {
    auto constant = [&](Attribute value) { values[argument] = {arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value))}; };
    bool isFirst = role == ScalarRole::VocabSplitFirst, isEnd = role == ScalarRole::VocabSplitEnd;
    std::optional<ArrayRef<int64_t>> vocabSplits = launch.getVocabSplits();
    if ((isFirst || isEnd) && vocabSplits)
      return constant(builder.getIndexAttr((*vocabSplits)[isEnd]));
    if ((isFirst || isEnd) && !enclosing(Axis::VocabSplits))
      return constant(builder.getIndexAttr(isFirst ? 0 : llvm::divideCeil(shape.programColumns(), shape.vocabSplit())));
    if (role == ScalarRole::Accumulate && (launch.getAccumulate() == Accumulate::Never || launch.getAccumulate() == Accumulate::Always))
      return constant(builder.getBoolAttr(launch.getAccumulate() == Accumulate::Always));
    if (role == ScalarRole::Accumulate)
      role = launch.getAccumulate() == Accumulate::Tokens ? ScalarRole::AccumulateTokens : ScalarRole::AccumulateVocabSplits;
    values[argument] = {addArgument(ScalarRoleAttr::get(builder.getContext(), role), stringifyScalarRole(role), argument.getType(), loc)};
  }
  bool enclosing(Axis axis) {
    for (auto loop = launch->getParentOfType<LoopOp>(); loop; loop = loop->getParentOfType<LoopOp>())
      if (loop.getAxis() == axis)
        return true;
    return false;
  }
  /// Which buffers of the kernel lie over others; null where none does.
  DictionaryAttr aliasesOf(Builder &builder) {
    SmallVector<NamedAttribute> aliases;
    for (auto buffer : ScheduleOp(shape.schedule).getBody().getOps<BufferOp>())
      if (buffer.getAlias() && llvm::is_contained(roles, FlatSymbolRefAttr::get(buffer)))
        aliases.push_back(builder.getNamedAttr(buffer.getSymName(), buffer.getAliasAttr()));
    return aliases.empty() ? DictionaryAttr() : builder.getDictionaryAttr(aliases);
  }
  /// One argument per buffer, however often the template's bundles name it.
  Value addArgument(BufferOp buffer, Location loc) {
    return addArgument(FlatSymbolRefAttr::get(buffer), buffer.getSymName(), buffer.getType(), loc);
  }
  Value addArgument(Attribute role, StringRef name, Type type, Location loc) {
    for (auto [argument, known] : llvm::zip_equal(body->getArguments(), roles))
      if (known == role)
        return argument;
    roles.push_back(role);
    return body->addArgument(type, NameLoc::get(StringAttr::get(loc.getContext(), name), loc));
  }

  // ---- ops --------------------------------------------------------------------------------------

  LogicalResult cloneOps(Block &from, OpBuilder &builder) {
    for (Operation &op : from)
      if (failed(cloneOp(op, builder)))
        return failure();
    return success();
  }
  /// Where the skeleton was written, under its SSA name, and which launch asked for it.
  Location place(Location loc) {
    Location both = CallSiteLoc::get(loc, launch.getLoc());
    StringRef name = TemplateLibrary::nameAt(loc);
    return name.empty() ? both : NameLoc::get(StringAttr::get(loc.getContext(), name), both);
  }
  FailureOr<SmallVector<Type>> plainTypes(TypeRange types) {
    SmallVector<Type> plain;
    for (Type type : types) {
      Type bound = bindings.bind(type);
      if (auto bundle = dyn_cast<BundleType>(bound)) {
        if (failed(shape.expand(bundle, plain)))
          return failure();
      } else {
        plain.push_back(bound);
      }
    }
    return plain;
  }
  SmallVector<Value> plainValues(ValueRange bundled) {
    SmallVector<Value> plain;
    for (Value value : bundled)
      llvm::append_range(plain, values.at(value));
    return plain;
  }
  /// Null where 'value' is, or is an empty bundle.
  Value plainValue(Value value) { return value && !values.at(value).empty() ? values.at(value).front() : Value(); }

  LogicalResult cloneOp(Operation &op, OpBuilder &builder) {
    Location loc = place(op.getLoc());
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<ParamOp>([&](ParamOp param) {
          values[param] = {arith::ConstantIndexOp::create(builder, loc, cast<IntegerAttr>(bindings.bind(param.getDim())).getInt())};
          return success();
        })
        .Case<ProjectOp>([&](ProjectOp project) { return cloneProject(project, loc, builder); })
        .Case<LogitsOp>(
            [&](LogitsOp logits) { return shape.projects ? cloneProject(logits, loc, builder) : loadLogits(logits, loc, builder); })
        .Case<LoadOp>([&](LoadOp load) { return cloneLoad(load, loc, builder); })
        .Case<StoreOp>([&](StoreOp store) { return cloneStore(store, loc, builder); })
        .Case<SparseTermsOp>([&](SparseTermsOp terms) { return cloneTerms(terms, loc, builder); })
        .Case<SumTokensOp>([&](SumTokensOp sum) { return cloneSumTokens(sum, loc, builder); })
        .Case<ContractSparseOp>([&](ContractSparseOp terms) {
          SmallVector<Value> views = plainValues(terms.getTerms());
          Value result = plainValue(terms.getTile());
          if (!views.empty())
            result = ContractSparseOp::create(builder, loc, result, views, plainValue(terms.getRhs()), plainValue(terms.getRow()),
                                             plainValue(terms.getColumn()), plainValue(terms.getCount()), terms.getTransposed());
          values[terms] = {result};
          return success();
        })
        .Case<ScaleRowsOp>([&](ScaleRowsOp scale) { return cloneScale(scale, loc, builder); })
        .Case<UpdateListsOp>([&](UpdateListsOp update) { return cloneUpdateLists(update, loc, builder); })
        .Case<FinishListOp>([&](FinishListOp finish) { return cloneFinishList(finish, loc, builder); })
        .Case<PickEntriesOp>([&](PickEntriesOp pick) { return clonePicks(pick, loc, builder); })
        .Case<FinishPlacesOp>([&](FinishPlacesOp finish) { return cloneFinishPlaces(finish, loc, builder); })
        .Case<ScatterTermsOp>([&](ScatterTermsOp terms) { return cloneScatter(terms, loc, builder); })
        .Case<InitStateOp, ApplyOp>([&](auto hole) { return cloneHole(hole, loc, builder); })
        .Default([&](Operation *) { return cloneGeneric(op, loc, builder); });
  }

  LogicalResult loadLogits(LogitsOp logits, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(logits->getResultTypes());
    if (failed(types))
      return failure();
    SmallVector<Value> at{plainValue(logits.getRow()), plainValue(logits.getColumn())}, &tiles = values[logits];
    for (auto [view, type] : llvm::zip_equal(values.at(logits.getStored()), *types))
      tiles.push_back(LoadOp::create(builder, loc, type, view, at, Value()));
    return success();
  }
  template <typename OpT> LogicalResult cloneProject(OpT project, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(project->getResultTypes());
    if (failed(types))
      return failure();
    SmallVector<Value> &tiles = values[project];
    Attribute depth = bindings.bind(project.getDepth());
    for (auto [hidden, weight, type] : llvm::zip_equal(values.at(project.getHidden()), values.at(project.getWeight()), *types))
      tiles.push_back(ProjectOp::create(builder, loc, type, hidden, weight, plainValue(project.getRow()), plainValue(project.getColumn()),
                                        depth, launch.getAlgorithmAttr()));
    return success();
  }

  LogicalResult cloneLoad(LoadOp load, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(load->getResultTypes());
    if (failed(types))
      return failure();
    SmallVector<Value> at = plainValues(load.getAt()), tiles;
    Value map = plainValue(load.getMap());
    auto bundle = dyn_cast<BundleType>(load.getView().getType());
    if (bundle && bundle.getKind() == BundleKind::InputViews) {
      for (auto [ref, type] : llvm::zip_equal(shape.inputs, *types))
        tiles.push_back(loadInput(load, ref, cast<TileType>(type), at, loc, builder));
    } else {
      for (auto [view, type] : llvm::zip_equal(values.at(load.getView()), *types))
        tiles.push_back(LoadOp::create(builder, loc, type, view, at, map));
    }
    values[load] = tiles;
    return success();
  }
  /// The argument of a buffer that bindBundle has bound.
  Value argumentOf(BufferKey key) {
    return body->getArgument(llvm::find(roles, FlatSymbolRefAttr::get(shape.find(key))) - roles.begin());
  }
  /// An input takes the indices that it has: [row, column] of the tile, the row alone, or the
  /// column alone.
  Value loadInput(LoadOp load, const InputRef &ref, TileType type, ArrayRef<Value> at, Location loc, OpBuilder &builder) {
    Value view = argumentOf(ref.buffer);
    Value row = at[0], column = at[1];
    bool perToken = ref.kind == InputKind::Dense;
    Value map = perToken ? argumentOf({BufferRole::InputMap, ref.buffer.owner}) : Value(); // memory of the caller
    if (ref.isGathered()) {
      Value indexView = argumentOf(*ref.index);
      auto indexType = TileType::get(type.getContext(), type.getDims(), builder.getI32Type());
      Value index = LoadOp::create(builder, loc, indexType, indexView, row, Value());
      return LoadGatherOp::create(builder, loc, type, view, index, perToken ? row : Value(), map);
    }
    if (perToken)
      return LoadOp::create(builder, loc, type, view, ValueRange{row, column}, map);
    if (ref.kind == InputKind::Vocab)
      return LoadOp::create(builder, loc, type, view, column, Value());
    if (ref.kind == InputKind::Scalar)
      return LoadOp::create(builder, loc, type, view, ValueRange{arith::ConstantIndexOp::create(builder, loc, 0)}, Value());
    return LoadOp::create(builder, loc, type, view, row, Value());
  }

  LogicalResult cloneStore(StoreOp store, Location loc, OpBuilder &builder) {
    SmallVector<Value> at = plainValues(store.getAt()), tiles = values.at(store.getValue());
    const SmallVector<Value> &views = values.at(store.getView());
    if (views.empty()) // an empty bundle of memory: nothing is kept
      return success();
    if (auto bundle = dyn_cast<BundleType>(store.getView().getType()); bundle && bundle.getKind() == BundleKind::LogitViews) {
      tiles.clear(); // some projections are read once only
      for (StringRef projection : shape.storedLogits())
        tiles.push_back(values.at(store.getValue())[llvm::find(shape.projections, projection) - shape.projections.begin()]);
    }
    if (tiles.size() != views.size())
      return launch.emitOpError() << "stores " << tiles.size() << " tiles to " << views.size() << " buffers in template @" << launch.getSource();
    for (auto [tile, view] : llvm::zip_equal(tiles, views))
      StoreOp::create(builder, loc, tile, view, at, plainValue(store.getMap()));
    return success();
  }

  static BundleKind bundleOf(TermAction action) {
    if (action == TermAction::Clear)
      return BundleKind::ClearedViews;
    return action == TermAction::Extract ? BundleKind::ExtractedViews : BundleKind::SparseViews;
  }
  LogicalResult cloneTerms(SparseTermsOp terms, Location loc, OpBuilder &builder) {
    SmallVector<Value> views = plainValues(terms.getTerms());
    const SmallVector<Value> &tiles = values.at(terms.getTile());
    // A single tile takes all terms; a bundle of gradients has its own for each.
    SmallVector<unsigned> counts{static_cast<unsigned>(views.size())};
    if (isa<BundleType>(terms.getTile().getType()))
      counts = shape.termCounts(bundleOf(terms.getAction()));
    SmallVector<Value> results;
    ValueRange rest = views;
    for (auto [tile, count] : llvm::zip_equal(tiles, counts)) {
      Value result = tile;
      if (count > 0)
        result = SparseTermsOp::create(builder, loc, terms.getAction(), tile, rest.take_front(count), plainValue(terms.getRow()),
                                 plainValue(terms.getColumn()), plainValue(terms.getCount()));
      rest = rest.drop_front(count);
      results.push_back(result);
    }
    values[terms] = results;
    return success();
  }

  LogicalResult cloneScale(ScaleRowsOp scale, Location loc, OpBuilder &builder) {
    Value tile = plainValue(scale.getTile()), factors = plainValue(scale.getFactors());
    values[scale] = {tile};
    if (!factors)
      return success();
    auto map = MapOp::create(builder, loc, tile.getType(), ValueRange{tile, factors}, Value());
    Block &block = map.getBody().emplaceBlock();
    block.addArguments({cast<TileType>(tile.getType()).getElement(), builder.getF32Type()}, {loc, loc});
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    YieldOp::create(inside, loc, ValueRange{arith::MulFOp::create(inside, loc, block.getArgument(0), block.getArgument(1))});
    values[scale] = {map.getResult(0)};
    return success();
  }

  LogicalResult cloneSumTokens(SumTokensOp sum, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(sum->getResultTypes());
    if (failed(types))
      return failure();
    SmallVector<Value> &tiles = values[sum];
    for (auto [tile, type] : llvm::zip_equal(values.at(sum.getTile()), *types))
      tiles.push_back(SumTokensOp::create(builder, loc, type, tile, plainValue(sum.getRow()), plainValue(sum.getCount())));
    return success();
  }

  template <typename HoleOp>
  LogicalResult cloneHole(HoleOp hole, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(hole->getResultTypes());
    if (failed(types))
      return failure();
    SmallVector<Value> results;
    if constexpr (std::is_same_v<HoleOp, ApplyOp>) {
      SmallVector<SmallVector<Value>> inputs;
      for (Value input : hole.getInputs())
        inputs.push_back(values.at(input));
      Attribute limit = hole.getLimit() ? bindings.bind(*hole.getLimit()) : Attribute();
      results = fillHole(builder, loc, shape, hole.getHole(), inputs, plainValue(hole.getColumn()), limit, *types);
    } else {
      results = fillInitState(builder, loc, shape, *types);
    }
    return bindResults(*hole, results);
  }

  LogicalResult cloneUpdateLists(UpdateListsOp update, Location loc, OpBuilder &builder) {
    SmallVector<Value> lists = plainValues(update.getLists());
    if (lists.empty())
      return success();
    auto filled = UpdateListsOp::create(builder, loc, lists, plainValues(update.getInputs()), plainValue(update.getVocabSplit()),
                                        plainValue(update.getRow()), plainValue(update.getColumn()), plainValue(update.getFirst()),
                                        bindings.bind(update.getTokens()), builder.getDenseI64ArrayAttr(SweepOp(shape.sweep).getPlaces()));
    fillLists(shape, filled);
    return success();
  }
  LogicalResult cloneFinishList(FinishListOp finish, Location loc, OpBuilder &builder) {
    FinishOp part = shape.finish;
    Attribute splits = part.getGiven() ? builder.getI64IntegerAttr(part.countGiven()) : bindings.bind(finish.getSplits());
    auto filled = FinishListOp::create(builder, loc, plainValues(finish.getLists()), plainValues(finish.getInputs()),
                                       plainValues(finish.getResults()), plainValue(finish.getRow()), bindings.bind(finish.getTokens()),
                                       splits, builder.getI64IntegerAttr(part.countPlaces()), part.getPlaceAttr());
    fillList(shape, filled);
    return success();
  }

  LogicalResult clonePicks(PickEntriesOp pick, Location loc, OpBuilder &builder) {
    SmallVector<Value> views = plainValues(pick.getPicks()), logits = plainValues(pick.getLogits()), tiles;
    if (views.empty())
      return success();
    for (PickAttr of : SweepOp(shape.sweep).listPicks())
      tiles.push_back(logits[llvm::find(shape.projections, of.getLogits()) - shape.projections.begin()]);
    PickEntriesOp::create(builder, loc, tiles, views, plainValue(pick.getRow()), plainValue(pick.getColumn()), bindings.bind(pick.getTokens()),
                          bindings.bind(pick.getVocab()));
    return success();
  }
  LogicalResult cloneFinishPlaces(FinishPlacesOp finish, Location loc, OpBuilder &builder) {
    FinishOp part = shape.finish;
    SmallVector<int64_t> reads = llvm::map_to_vector(shape.listInputs, LaunchShape::viewsOf);
    auto filled = FinishPlacesOp::create(builder, loc, plainValues(finish.getLists()), plainValues(finish.getInputs()),
                                         plainValues(finish.getResults()), plainValue(finish.getRow()), bindings.bind(finish.getTokens()),
                                         builder.getI64IntegerAttr(part.countPlaces()), builder.getDenseI64ArrayAttr(reads), part.getSummed());
    fillPlaces(shape, filled);
    return success();
  }
  /// Each gradient with terms that are lists has an op.
  LogicalResult cloneScatter(ScatterTermsOp terms, Location loc, OpBuilder &builder) {
    SmallVector<Value> views = plainValues(terms.getTerms()), gradients = plainValues(terms.getGradients());
    ArrayRef<Value> rest = views;
    for (auto [gradient, count] : llvm::zip_equal(gradients, shape.termCounts(BundleKind::ListedViews))) {
      if (count > 0)
        ScatterTermsOp::create(builder, loc, rest.take_front(count), gradient, plainValue(terms.getRow()), plainValue(terms.getColumn()),
                               bindings.bind(terms.getTokens()), bindings.bind(terms.getColumns()));
      rest = rest.drop_front(count);
    }
    return success();
  }

  /// Anything else (scf, arith on index, contract) keeps its shape with operands, results and block
  /// arguments flattened.
  LogicalResult cloneGeneric(Operation &op, Location loc, OpBuilder &builder) {
    FailureOr<SmallVector<Type>> types = plainTypes(op.getResultTypes());
    if (failed(types))
      return failure();
    OperationState state(loc, op.getName(), plainValues(op.getOperands()), *types, op.getDiscardableAttrDictionary().getValue());
    if (Attribute properties = op.getPropertiesAsAttribute())
      state.propertiesAttr = bindings.bind(properties);
    for (unsigned i = 0; i < op.getNumRegions(); ++i)
      state.addRegion();
    Operation *copy = builder.create(state);
    if (auto contract = dyn_cast<ContractOp>(copy))
      contract.setAlgorithmAttr(launch.getAlgorithmAttr());
    for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions()))
      for (Block &block : from)
        if (failed(cloneBlock(block, to.emplaceBlock())))
          return failure();
    return bindResults(op, copy->getResults());
  }
  LogicalResult cloneBlock(Block &from, Block &to) {
    for (BlockArgument argument : from.getArguments()) {
      FailureOr<SmallVector<Type>> types = plainTypes(argument.getType());
      if (failed(types))
        return failure();
      SmallVector<Value> &plain = values[argument];
      for (Type type : *types)
        plain.push_back(to.addArgument(type, place(argument.getLoc())));
    }
    OpBuilder builder = OpBuilder::atBlockEnd(&to);
    return cloneOps(from, builder);
  }
  /// Splits a flat list of results over the bundled results of 'op'.
  LogicalResult bindResults(Operation &op, ValueRange flat) {
    for (Value result : op.getResults()) {
      FailureOr<SmallVector<Type>> types = plainTypes(result.getType());
      if (failed(types))
        return failure();
      values[result] = llvm::to_vector(flat.take_front(types->size()));
      flat = flat.drop_front(types->size());
    }
    return success();
  }

  const LaunchShape &shape;
  Bindings &bindings;
  LaunchOp launch;
  DenseMap<Value, SmallVector<Value>> values;
  Block *body = nullptr;       // of the kernel
  SmallVector<Attribute> roles; // of its arguments
};
} // namespace

FailureOr<KernelOp> logitile::instantiate(TemplateOp source, const LaunchShape &shape, Bindings &bindings, OpBuilder &builder) {
  return Expander(shape, bindings).run(source, builder);
}
