// Kernel.cpp - operations on tiles, each as the loops that its description means.
#include "test/backends/interpreter/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/backends/interpreter/Memory.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace logitile::interpreter {
namespace {
/// What is known of the values of one task.
class Task {
public:
  Task(KernelOp kernel, const int64_t *arguments);
  void run(KernelOp kernel, int64_t task);

private:
  void run(Block &block);
  void run(Operation &op);
  bool runIndexOp(Operation &op);
  void run(scf::ForOp op);
  void run(LoadOp op);
  void run(StoreOp op);
  void run(ProjectOp op);
  void run(ContractOp op);
  void run(InitStateOp op);
  void run(UpdateStateOp op);
  void run(MapOp op);
  void run(SparseTermsOp op);

  Tile &tile(Value value) { return tiles.find(value)->second; }
  const View &view(Value value) const { return views.find(value)->second; }
  Tile &makeTile(Value value) { return tiles.insert_or_assign(value, Tile(cast<TileType>(value.getType()))).first->second; }
  int64_t index(OpFoldResult value) const {
    std::optional<int64_t> constant = getConstantIntValue(value);
    return constant ? *constant : indices.lookup(cast<Value>(value));
  }
  Numbers inputsAt(OperandRange inputs, int64_t row, int64_t column) {
    return Numbers(llvm::map_range(inputs, [&](Value input) { return tile(input).read(row, column); }));
  }
  /// Calls 'visit' with the row and column of each element of a tile that lies inside of a view,
  /// and with those in the view.
  template <typename Visit> void forElements(const Tile &tile, const View &view, OperandRange at, Value map, Visit visit);

  llvm::DenseMap<Value, int64_t> indices; // of index and i1
  llvm::MapVector<Value, Tile> tiles;
  llvm::MapVector<Value, View> views;
  int64_t tokens = 0;
};
} // namespace

Task::Task(KernelOp kernel, const int64_t *arguments) {
  auto words = [](Type type) { return isa<ViewType>(type) ? 3 : 1; };
  const int64_t *word = arguments;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (!isa<ViewType>(argument.getType()))
      indices[argument] = *word;
    if (kernel.scalarOf(argument) == ScalarRole::Tokens)
      tokens = *word;
    word += words(argument.getType());
  }
  word = arguments;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (auto type = dyn_cast<ViewType>(argument.getType()))
      views.insert({argument, View(type, word, tokens)});
    word += words(argument.getType());
  }
}

void Task::run(KernelOp kernel, int64_t task) {
  for (Operation &op : kernel.getBody().front()) {
    auto loop = dyn_cast<scf::ForallOp>(op);
    if (!loop) {
      run(op);
      continue;
    }
    for (unsigned axis = loop.getRank(); axis-- > 0;) {
      const int64_t first = index(loop.getMixedLowerBound()[axis]), step = index(loop.getMixedStep()[axis]);
      const int64_t steps = llvm::divideCeil(index(loop.getMixedUpperBound()[axis]) - first, step);
      indices[loop.getInductionVars()[axis]] = first + task % steps * step;
      task /= steps;
    }
    run(*loop.getBody());
  }
}

void Task::run(Block &block) {
  for (Operation &op : block.without_terminator())
    run(op);
}

void Task::run(Operation &op) {
  if (!runIndexOp(op))
    llvm::TypeSwitch<Operation *>(&op)
        .Case<scf::ForOp, LoadOp, StoreOp, ProjectOp, ContractOp, InitStateOp, UpdateStateOp, MapOp, SparseTermsOp>(
            [&](auto known) { run(known); })
        .Default([](Operation *) { llvm_unreachable("checkKernel refuses it"); });
}

// ---- control ------------------------------------------------------------------------------------

bool Task::runIndexOp(Operation &op) {
  auto in = [&](unsigned operand) { return index(op.getOperand(operand)); };
  auto compute = [&]() -> std::optional<int64_t> {
    if (isa<arith::ConstantOp>(op))
      return *getConstantIntValue(op.getResult(0));
    if (isa<arith::AddIOp>(op))
      return in(0) + in(1);
    if (isa<arith::MulIOp>(op))
      return in(0) * in(1);
    if (isa<arith::MinUIOp>(op))
      return std::min(in(0), in(1));
    return std::nullopt;
  };
  std::optional<int64_t> value = compute();
  if (value)
    indices[op.getResult(0)] = *value;
  return value.has_value();
}

void Task::run(scf::ForOp op) {
  auto carry = [&](ValueRange from, ValueRange to) {
    SmallVector<Tile> values = llvm::map_to_vector(from, [&](Value value) { return tile(value); });
    for (auto [value, name] : llvm::zip_equal(values, to))
      tiles.insert_or_assign(name, value);
  };
  carry(op.getInitArgs(), op.getRegionIterArgs());
  const int64_t end = index(op.getUpperBound()), step = index(op.getStep());
  for (int64_t at = index(op.getLowerBound()); at < end; at += step) {
    indices[op.getInductionVar()] = at;
    run(*op.getBody());
    carry(op.getBody()->getTerminator()->getOperands(), op.getRegionIterArgs());
  }
  carry(op.getRegionIterArgs(), op.getResults());
}

// ---- memory -------------------------------------------------------------------------------------

template <typename Visit> void Task::forElements(const Tile &tile, const View &view, OperandRange at, Value map, Visit visit) {
  const bool isAlongRows = view.isRowState() || tile.columns == 1;
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t column = 0; column < tile.columns; ++column) {
      int64_t first = index(at[0]), second = view.isVector() ? 0 : index(at[1]);
      if (view.isRowState())
        second += row;
      else
        first += view.isVector() && !isAlongRows ? column : row;
      if (!view.isVector() && !view.isRowState())
        second += column;
      const bool isInside = map ? first < this->view(map).extent(0) : first < view.extent(0);
      if (!isInside || (!view.isVector() && second >= view.extent(1)))
        continue;
      visit(row, column, map ? static_cast<int64_t>(this->view(map).read(first)) : first, second);
    }
}

void Task::run(LoadOp op) {
  const View &from = view(op.getView());
  Tile &to = makeTile(op.getResult());
  forElements(to, from, op.getAt(), op.getMap(),
              [&](int64_t row, int64_t column, int64_t first, int64_t second) { to.at(row, column) = from.read(first, second); });
}

void Task::run(StoreOp op) {
  const View &to = view(op.getView());
  Tile &from = tile(op.getValue());
  forElements(from, to, op.getAt(), op.getMap(),
              [&](int64_t row, int64_t column, int64_t first, int64_t second) { to.write(first, second, from.at(row, column)); });
}

// ---- contractions -------------------------------------------------------------------------------

void Task::run(ProjectOp op) {
  const View &hidden = view(op.getHidden()), &weight = view(op.getWeight());
  Tile &to = makeTile(op.getResult());
  const int64_t first = index(op.getRow()), other = index(op.getColumn());
  for (int64_t row = 0; row < to.rows && first + row < hidden.extent(0); ++row)
    for (int64_t column = 0; column < to.columns && other + column < weight.extent(0); ++column) {
      Number sum = 0;
      for (int64_t d = 0; d < hidden.extent(1); ++d)
        sum += hidden.read(first + row, d) * weight.read(other + column, d);
      to.at(row, column) = static_cast<float>(sum);
    }
}

void Task::run(ContractOp op) {
  const View &left = view(op.getLhs()), &right = view(op.getRhs());
  Tile &to = makeTile(op.getResult());
  const int64_t first = index(op.getRow()), other = index(op.getColumn());
  const int64_t rows = left.extent(op.getTransposed() ? 1 : 0), columns = right.extent(1);
  const bool hasStart = op.getPlus() && index(op.getWhen());
  for (int64_t row = 0; row < to.rows && first + row < rows; ++row)
    for (int64_t column = 0; column < to.columns && other + column < columns; ++column) {
      Number sum = hasStart ? view(op.getPlus()).read(first + row, other + column) : 0;
      for (int64_t k = index(op.getFirst()), end = index(op.getEnd()); k < end; ++k)
        sum += (op.getTransposed() ? left.read(k, first + row) : left.read(first + row, k)) * right.read(k, other + column);
      to.at(row, column) = static_cast<float>(sum);
    }
}

// ---- the loss -----------------------------------------------------------------------------------

void Task::run(InitStateOp op) {
  const Numbers start = evaluate(op.getInit(), {});
  for (auto [row, value] : llvm::zip_equal(op.getState(), start))
    llvm::fill(makeTile(row).values, value);
}

/// The state of the tile's own columns first, from the largest candidates of 'candidate' on; then
/// it is merged.
void Task::run(UpdateStateOp op) {
  const int64_t first = index(op.getColumn());
  int64_t columns = 1;
  for (Value input : op.getInputs())
    columns = std::max(columns, tile(input).columns);
  columns = std::min(columns, static_cast<int64_t>(op.getLimit()) - first);
  for (auto [row, next] : llvm::zip_equal(op.getState(), op.getResults()))
    tiles.insert_or_assign(next, Tile(tile(row)));
  for (int64_t row = 0, rows = tile(op.getResults()[0]).rows; row < rows; ++row) {
    Numbers state = evaluate(op.getInit(), {});
    for (int64_t column = 0; column < columns; ++column)
      for (auto [i, candidate] : llvm::enumerate(evaluate(op.getCandidate(), inputsAt(op.getInputs(), row, column), first + column)))
        state[i] = candidate > state[i] ? candidate : state[i];
    for (int64_t column = 0; column < columns; ++column) {
      state.append(inputsAt(op.getInputs(), row, column));
      state = evaluate(op.getUpdate(), state, first + column);
    }
    Numbers both = llvm::map_to_vector(op.getState(), [&](Value value) { return tile(value).read(row, 0); });
    both.append(state);
    both.append(inputsAt(op.getInputs(), row, 0));
    for (auto [next, value] : llvm::zip_equal(op.getResults(), evaluate(op.getMerge(), both)))
      tile(next).at(row, 0) = value;
  }
}

void Task::run(MapOp op) {
  for (Value result : op.getResults())
    makeTile(result);
  const Tile &shape = tile(op.getResults()[0]);
  const int64_t first = op.getColumn() ? index(op.getColumn()) : 0;
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      for (auto [result, value] :
           llvm::zip_equal(op.getResults(), evaluate(op.getBody(), inputsAt(op.getInputs(), row, column), first + column)))
        tile(result).at(row, column) = value;
}

void Task::run(SparseTermsOp op) {
  Tile &to = tiles.insert_or_assign(op.getResult(), Tile(tile(op.getTile()))).first->second;
  const int64_t first = index(op.getRow()), other = index(op.getColumn());
  for (int64_t row = 0; row < to.rows && first + row < index(op.getCount()); ++row)
    for (size_t term = 0; term < op.getTerms().size(); term += 2) {
      const auto column = static_cast<int64_t>(view(op.getTerms()[term]).read(first + row)) - other;
      if (column >= 0 && column < to.columns)
        to.at(row, column) = static_cast<float>(to.at(row, column) + view(op.getTerms()[term + 1]).read(first + row));
    }
}

// ---- kernels ------------------------------------------------------------------------------------

static bool isTileOp(Operation *op) {
  if (auto terms = dyn_cast<SparseTermsOp>(op))
    return terms.getAction() == TermAction::Add;
  if (auto contract = dyn_cast<ContractOp>(op))
    return !contract.getMap();
  return isa<arith::ConstantOp, arith::AddIOp, arith::MulIOp, arith::MinUIOp, scf::ForallOp, scf::InParallelOp, scf::ForOp, scf::YieldOp,
             LoadOp, StoreOp, ProjectOp, InitStateOp, UpdateStateOp, MapOp>(op);
}

LogicalResult checkKernel(KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (auto type = dyn_cast<ViewType>(argument.getType()); type && !View::isKnown(type))
      return kernel.emitOpError() << "has an argument of type " << type << ", which the interpreter does not know";
  WalkResult found = kernel.walk([&](Operation *op) {
    const bool isScalar = isa<InitStateOp, UpdateStateOp, MapOp>(op->getParentOp());
    if (op == kernel || (isScalar ? isScalarOp(op) : isTileOp(op)))
      return WalkResult::advance();
    op->emitOpError() << "is not known to the interpreter";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

void runTask(KernelOp kernel, const int64_t *arguments, int64_t task) { Task(kernel, arguments).run(kernel, task); }
} // namespace logitile::interpreter
