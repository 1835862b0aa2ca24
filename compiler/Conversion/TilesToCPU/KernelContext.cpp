// KernelContext.cpp - arguments, tasks, loops and index arithmetic of one kernel. What happens to tiles is in the files of
// the op families.
#include "compiler/Conversion/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/TilesToCPU/IndexFacts.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- arguments ------------------------------------------------------------------------------------------------------

LogicalResult KernelContext::bindArguments(func::FuncOp function) {
  Place words{function.getArgument(0), e.i64};
  scratchPointer = function.getArgument(2);
  int64_t next = 0;
  auto word = [&] { return e.integer(e.loadBits(e.at(words, e.integer(next++)), 0)); };
  for (auto [argument, role] : llvm::zip_equal(kernel.getBody().getArguments(), kernel.getRoles().getAsRange<StringAttr>())) {
    e.setLoc(argument.getLoc()); // values are printed under its name
    if (argument.getType().isIndex()) {
      scalars[argument] = word();
      continue;
    }
    if (argument.getType().isInteger(1)) {
      Value isSet = arith::CmpIOp::create(e, arith::CmpIPredicate::ne, word(), e.integer(0));
      scalars[argument] = isSet;
      continue;
    }
    auto type = cast<ViewType>(argument.getType());
    if (!Emitter::isSupported(type.getElement()))
      return kernel.emitOpError() << "argument " << argument.getArgNumber() << " is " << type
                                  << "; CPU kernels take elements of f32, bf16, f16, i32 or i1";
    Value pointer = LLVM::LoadOp::create(e, e.pointerType, e.at(words, e.integer(next++)).pointer, 8);
    Int stride0 = word(), stride1 = word();
    bool isVector = type.getDims().size() == 1; // one dimension: always neighbours
    if (isVector || type.getLayout() == Layout::ColumnMajor)
      stride0 = e.integer(1);
    auto alias = kernel.getAliases() ? kernel.getAliases()->getAs<StringAttr>(role) : StringAttr();
    views.insert({argument, View{{pointer, type.getElement()}, stride0, isVector ? e.integer(0) : stride1, type, alias ? alias : role}});
  }
  return success();
}

FailureOr<Int> KernelContext::countInside(Operation *op, const View &view, unsigned dim, Value first, int64_t count) {
  int64_t extent = view.extent(dim);
  if (!ShapedType::isDynamic(extent))
    return smaller(e.integer(extent) - scalar(first), count);
  if (count == 1)
    return e.integer(1);
  if (int64_t divisor = knownDivisor(first); divisor % e.width != 0)
    return op->emitOpError() << "has tiles of tokens that start at multiples of " << divisor << "; this target needs multiples of "
                             << e.width;
  for (auto [argument, role] : llvm::zip_equal(kernel.getBody().getArguments(), kernel.getRoles().getAsValueRange<StringAttr>()))
    if (role == "tokens")
      return smaller(scalar(argument) - scalar(first), count);
  return op->emitOpError() << "has a tile that ends with the tokens of the launch, but the kernel has no argument from \"tokens\"";
}

// ---- scratch --------------------------------------------------------------------------------------------------------

Place KernelContext::allocate(Type element, int64_t count) {
  Place bytes = e.at({scratchPointer, e.getI8Type()}, e.integer(scratch));
  scratch = llvm::alignTo(scratch + count * Emitter::bytesOf(element), 64);
  return {bytes.pointer, element};
}

Tile KernelContext::allocateTile(TileType type, bool lanesAlongRows, Int rows, Int columns, bool isWhole) {
  int64_t lanes = llvm::alignTo(type.getExtent(lanesAlongRows ? 0 : 1), e.width);
  int64_t lines = type.getExtent(lanesAlongRows ? 1 : 0);
  // Lines that lie a multiple of 4 KB apart would fall into the same cache sets.
  int64_t stride = lines > 1 ? lanes + 64 / Emitter::bytesOf(e.f32) : lanes;
  Tile tile{allocate(type.getElement(), stride * lines), e.integer(stride), lanesAlongRows, rows, columns};
  tile.isWhole = isWhole;
  return tile;
}

void KernelContext::copyTile(const Tile &from, const Tile &to) {
  forGroups(from, [&](Int lane) {
    e.loop(from.lines(), [&](Int line) { e.store(e.load(placeOf(from, line, lane), e.lanes), placeOf(to, line, lane)); });
  });
}

// ---- control --------------------------------------------------------------------------------------------------------

Int KernelContext::bound(OpFoldResult bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(bound))
    return e.integer(*constant);
  return scalar(cast<Value>(bound));
}

/// The task's number counts through the axes, the last one fastest.
LogicalResult KernelContext::convertForall(scf::ForallOp forall) {
  Int task = e.integer(e.getBlock()->getParent()->getArgument(1));
  SmallVector<Value> variables = llvm::to_vector(llvm::map_range(forall.getInductionVars(), [](Value v) { return v; }));
  for (int64_t axis = variables.size() - 1; axis >= 0; --axis) {
    Int lower = bound(forall.getMixedLowerBound()[axis]), upper = bound(forall.getMixedUpperBound()[axis]);
    Int step = bound(forall.getMixedStep()[axis]), index = task;
    if (axis > 0) {
      Int count = divideUp(upper - lower, step);
      index = task % count;
      task = task / count;
    }
    setScalar(variables[axis], lower + index * step);
  }
  return convertBlock(*forall.getBody());
}

Tile KernelContext::adoptStart(OpOperand &start) {
  const Tile &tile = this->tile(start.get());
  if (start.get().hasOneUse() && !tile.isBorrowed)
    return tile;
  Tile copy = allocateTile(cast<TileType>(start.get().getType()), tile.lanesAlongRows, tile.rows, tile.columns, tile.isWhole);
  copyTile(tile, copy);
  return copy;
}

LogicalResult KernelContext::convertFor(scf::ForOp loop) {
  SmallVector<Tile> carried;
  for (auto [start, argument] : llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs())) {
    if (!isa<TileType>(argument.getType()))
      return loop.emitOpError() << "carries a value of type " << argument.getType() << "; loops of a kernel carry tiles";
    carried.push_back(adoptStart(start));
    setTile(argument, carried.back());
  }
  LogicalResult converted = success();
  e.loop(scalar(loop.getLowerBound()), scalar(loop.getUpperBound()), scalar(loop.getStep()), [&](Int index) {
    setScalar(loop.getInductionVar(), index);
    converted = convertBlock(*loop.getBody());
    if (failed(converted))
      return;
    for (auto [yielded, home] : llvm::zip_equal(loop.getYieldedValues(), carried))
      if (tile(yielded).base.pointer != home.base.pointer)
        copyTile(tile(yielded), home);
  });
  for (auto [result, home] : llvm::zip_equal(loop.getResults(), carried))
    setTile(result, home);
  return converted;
}

LogicalResult KernelContext::convertIndexOp(Operation &op) {
  auto two = [&](auto fold) {
    setScalar(op.getResult(0), fold(scalar(op.getOperand(0)), scalar(op.getOperand(1))));
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::ConstantOp>([&](arith::ConstantOp constant) {
        auto value = dyn_cast<IntegerAttr>(constant.getValue());
        if (!value)
          return LogicalResult(constant.emitOpError() << "is no index; other numbers belong into the regions of map and row operations");
        setScalar(constant, constant.getType().isInteger(1) ? e.truth(!value.getValue().isZero()) : Value(e.integer(value.getInt())));
        return success();
      })
      .Case<arith::AddIOp>([&](auto) { return two([](Int a, Int b) { return a + b; }); })
      .Case<arith::SubIOp>([&](auto) { return two([](Int a, Int b) { return a - b; }); })
      .Case<arith::MulIOp>([&](auto) { return two([](Int a, Int b) { return a * b; }); })
      .Case<arith::DivUIOp>([&](auto) { return two([](Int a, Int b) { return a / b; }); })
      .Case<arith::RemUIOp>([&](auto) { return two([](Int a, Int b) { return a % b; }); })
      .Case<arith::CeilDivUIOp>([&](auto) { return two([](Int a, Int b) { return divideUp(a, b); }); })
      .Case<arith::MinUIOp>([&](auto) { return two([](Int a, Int b) { return smaller(a, b); }); })
      .Default([&](Operation *other) { return other->emitOpError() << "is not part of a kernel that this target knows"; });
}

LogicalResult KernelContext::convertOp(Operation &op) {
  e.setLoc(op.getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<scf::ForallOp>([&](auto forall) { return convertForall(forall); })
      .Case<scf::ForOp>([&](auto loop) { return convertFor(loop); })
      .Case<scf::YieldOp, scf::InParallelOp>([](auto) { return success(); })
      .Case<LoadOp>([&](auto load) { return convertLoad(*this, load); })
      .Case<StoreOp>([&](auto store) { return convertStore(*this, store); })
      .Case<GatherOp>([&](auto gather) { return convertGather(*this, gather); })
      .Case<ProjectOp>([&](auto project) { return convertProject(*this, project); })
      .Case<ContractOp>([&](auto contract) { return convertContract(*this, contract); })
      .Case<ContractTermsOp>([&](auto terms) { return convertContractTerms(*this, terms); })
      .Case<TermsOp>([&](auto terms) { return convertTerms(*this, terms); })
      .Case<SumRowsOp>([&](auto sum) { return convertSumRows(*this, sum); })
      .Case<SumTokensOp>([&](auto sum) { return convertSumTokens(*this, sum); })
      .Case<InitRowsOp>([&](auto init) { return convertInitRows(*this, init); })
      .Case<UpdateRowsOp>([&](auto update) { return convertUpdateRows(*this, update); })
      .Case<MapOp>([&](auto map) { return convertMap(*this, map); })
      .Default([&](Operation *) { return convertIndexOp(op); });
}

LogicalResult KernelContext::convertBlock(Block &block) {
  for (Operation &op : block)
    if (failed(convertOp(op)))
      return failure();
  return success();
}
