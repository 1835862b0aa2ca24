// Terms.cpp - sparse terms (token, column, coefficient) of a gradient: in a tile of it, or as a sparse operand.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Conversion/Tiles/Terms.h"
using namespace mlir;

namespace logitile::cuda {
namespace {
Value isSame(Emitter &e, Value a, Int b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::eq, a, e.narrow(b)); }
Value select(Emitter &e, Value condition, Value a, Value b) { return arith::SelectOp::create(e, condition, a, b); }
Value add(Emitter &e, Value a, Value b) { return arith::AddFOp::create(e, a, b); }
Value scale(Emitter &e, Value a, Value b) { return arith::MulFOp::create(e, a, b); }

/// The values of 'tile', the operand of 'op', after 'change' had each row.
CodeBuilder::Values changeRows(KernelContext &k, Operation *op, const Tile &tile,
                               function_ref<void(int64_t rowSlot, MutableArrayRef<Value> row)> change) {
  RowLoop loop(k);
  loop.take(tile, isLastUse(op->getOperand(0), op));
  loop.make(tile.type);
  loop.run([&] {
    for (int64_t slot = 0; slot < k.rowSlots(tile.type); ++slot) {
      CodeBuilder::Values row = k.elementsOf(loop.tiles[0], slot);
      change(slot, row);
      llvm::append_range(loop.results[0], row);
    }
  });
  return loop.results[0];
}
} // namespace

// ---- terms ----------------------------------------------------------------------------------------------------------

/// The row of one slot: entries that a term names get its coefficient, or move into it.
static void actOnRow(KernelContext &k, SparseTermsOp op, const SparseTerm &term, int64_t rowSlot, MutableArrayRef<Value> values) {
  Emitter &e = k.e;
  Int row = k.scalar(op.getRow()) + k.threads.row(rowSlot), tokens = k.scalar(op.getCount());
  Value isToken = isLess(row, tokens);
  row = smaller(row, tokens - 1);
  bool adds = op.getAction() == TermAction::Add;
  Place coefficient = e.at(term.coefficients, row);
  Value named = e.load(e.at(term.columns, row)), isAny = e.truth(false), zero = e.number(e.f32, 0), taken = zero;
  Value added = adds ? e.load(coefficient) : Value();
  for (auto [slot, value] : llvm::enumerate(values)) {
    Value isHere = isSame(e, named, k.scalar(op.getColumn()) + k.threads.column(slot));
    isAny = arith::OrIOp::create(e, isAny, isHere);
    taken = select(e, isHere, value, taken);
    value = select(e, isHere, adds ? add(e, value, added) : zero, value);
  }
  if (!adds) // only the thread that has the entry touches the coefficient
    e.when(e.both(isAny, isToken), [&] { e.store(add(e, taken, e.load(coefficient)), coefficient); });
}

/// The coefficients of all tokens that name this thread's column.
static Value sumOfColumn(KernelContext &k, SparseTermsOp op, const SparseTerm &term, Value start) {
  Emitter &e = k.e;
  Int column = k.scalar(op.getColumn()) + k.threads.column(0);
  return e.loop(k.scalar(op.getCount()), start, [&](Int token, ValueRange sum) -> CodeBuilder::Values {
    Value isHere = isSame(e, e.load(e.at(term.columns, token)), column);
    return {select(e, isHere, add(e, sum[0], e.load(e.at(term.coefficients, token))), sum[0])};
  })[0];
}

LogicalResult convertSparseTerms(KernelContext &k, SparseTermsOp op) {
  Tile tile = k.tile(op.getTile());
  bool isSum = op.getAction() == TermAction::Sum;
  if (tile.values.empty() || tile.isOwned || isSum == k.threads.sharing.isFragments)
    return op.emitOpError() << "works on " << tile.type << ", which is not computed for it; CUDA kernels have no such use";
  SmallVector<SparseTerm> terms = termsOf(k.e, k, op.getTerms(), k.e.integer(0));
  if (isSum)
    for (const SparseTerm &term : terms)
      tile.values[0] = sumOfColumn(k, op, term, tile.values[0]);
  else if (!terms.empty())
    tile.values = changeRows(k, op, tile, [&](int64_t slot, MutableArrayRef<Value> row) {
      for (const SparseTerm &term : terms)
        actOnRow(k, op, term, slot, row);
    });
  k.setTile(op.getResult(), tile);
  return success();
}

// ---- contract_sparse -------------------------------------------------------------------------------------------------

namespace {
/// One contract_sparse while it is emitted.
class ContractSparse {
public:
  ContractSparse(KernelContext &k, ContractSparseOp op, Int endColumn)
      : k(k), e(k.e), op(op), rhs(k.view(op.getRhs())), row(k.scalar(op.getRow())), tokens(k.scalar(op.getCount())),
        mayClip(k.mayClip(rhs, 1, op.getColumn(), op.getTile().getType().getExtent(1))), endColumn(endColumn) {}

  /// G W: the token of a row slot gets the row of the head that it names.
  void addNamedRow(const SparseTerm &term, int64_t slot, MutableArrayRef<Value> mine) {
    Int token = smaller(row + k.threads.row(slot), tokens - 1);
    Int entry = e.extend(e.load(e.at(term.columns, token)));
    auto visit = [&] {
      CodeBuilder::Values sums, scaled = scaledRow(e.load(e.at(term.coefficients, token)), entry, mine.size());
      for (auto [value, part] : llvm::zip_equal(mine, scaled))
        sums.push_back(add(e, value, part));
      return sums;
    };
    CodeBuilder::Values sums = e.choose(isLess(entry, rhs.extent(0)), SmallVector<Type>(mine.size(), e.f32), visit,
                                        [&] { return CodeBuilder::Values(mine.begin(), mine.end()); });
    llvm::copy(sums, mine.begin());
  }

  /// G^T X: each row of the tile gets the hidden states of the tokens that name it, tokens ascending. Each lane of a warp looks
  /// at other tokens, at several before the warp waits for memory, and the warp turns to those that name one of its rows.
  void addNamingTokens(const SparseTerm &term, CodeBuilder::Values &values) {
    SmallVector<Type> types(values.size(), e.f32);
    values = e.loop(e.integer(0), tokens, e.integer(kLooks * kWarp), values, [&](Int first, ValueRange current) {
      Value found = lookAtTokens(term, first), none = word(0);
      Value isAny = isOther(e.vote(isOther(found, none)), none);
      auto visit = [&] {
        return e.loop(e.integer(kLooks), current, [&](Int look, ValueRange sums) {
          Value bit = arith::ShLIOp::create(e, word(1), e.narrow(look));
          Value bits = e.vote(isOther(arith::AndIOp::create(e, found, bit), none));
          return addTokens(term, first + look * kWarp, bits, sums);
        });
      };
      return e.choose(isAny, types, visit, [&] { return CodeBuilder::Values(current); });
    });
  }

private:
  Value word(int64_t value) { return e.constant(e.getI32IntegerAttr(value)); }
  Value isOther(Value a, Value b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::ne, a, b); }

  /// A bit for each look of this lane, set where it finds a token that names a row of this warp: look i is at token i * kWarp + lane
  /// from 'first' on. Places and rows have 32 bits, because most of the scan is this.
  Value lookAtTokens(const SparseTerm &term, Int first) {
    Value last = e.narrow(smaller(tokens - first, kLooks * kWarp) - 1), lane = e.narrow(e.lane()), found = word(0);
    Value firstRow = e.narrow(row + k.threads.warpRow * k.threads.sharing.blockRows()), rows = word(k.threads.sharing.blockRows());
    Place columns = e.at(term.columns, first);
    SmallVector<Value> isTokens, named;
    for (int64_t look = 0; look < kLooks; ++look) {
      Value place = arith::AddIOp::create(e, lane, word(look * kWarp));
      isTokens.push_back(arith::CmpIOp::create(e, arith::CmpIPredicate::ule, place, last));
      named.push_back(e.load(e.at(columns, e.extend(arith::MinUIOp::create(e, place, last)))));
    }
    for (auto [look, entry] : llvm::enumerate(named)) {
      Value isNaming = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, arith::SubIOp::create(e, entry, firstRow), rows);
      Value bit = select(e, e.both(isTokens[look], isNaming), word(int64_t(1) << look), word(0));
      found = arith::OrIOp::create(e, found, bit);
    }
    return found;
  }

  /// Adds the hidden states of the tokens whose bits, counted from token 'first' on, are set.
  CodeBuilder::Values addTokens(const SparseTerm &term, Int first, Value bits, ValueRange values) {
    CodeBuilder::Values start(values);
    start.push_back(bits);
    CodeBuilder::Values sums = e.loop(e.extend(LLVM::CtPopOp::create(e, e.i32, bits)), start, [&](Int, ValueRange current) {
      Value rest = current.back(), one = e.constant(e.getI32IntegerAttr(1));
      Int token = first + e.extend(LLVM::CountTrailingZerosOp::create(e, e.i32, rest, /*is_zero_poison=*/true));
      CodeBuilder::Values next = addToken(term, token, current.drop_back());
      next.push_back(arith::AndIOp::create(e, rest, arith::SubIOp::create(e, rest, one)));
      return next;
    });
    sums.pop_back();
    return sums;
  }

  /// The thread that has elements of the row that 'token' names adds to them.
  CodeBuilder::Values addToken(const SparseTerm &term, Int token, ValueRange values) {
    int64_t columns = k.columnSlots(op.getTile().getType());
    Int distance = e.extend(e.load(e.at(term.columns, token))) - row;
    CodeBuilder::Values next(values), scaled = scaledRow(e.load(e.at(term.coefficients, token)), token, columns);
    for (auto [i, value] : llvm::enumerate(next)) {
      Value isHere = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, distance, k.threads.row(i / columns));
      value = select(e, isHere, add(e, value, scaled[i % columns]), value);
    }
    return next;
  }

  /// coefficient times this thread's columns of a row of the operand.
  CodeBuilder::Values scaledRow(Value coefficient, Int entry, int64_t columns) {
    CodeBuilder::Values scaled;
    for (int64_t slot = 0; slot < columns; ++slot) {
      Int column = k.scalar(op.getColumn()) + k.threads.column(slot);
      scaled.push_back(scale(e, coefficient, e.load(k.windowOf(rhs, entry, mayClip ? smaller(column, endColumn - 1) : column))));
    }
    return scaled;
  }

  KernelContext &k;
  Emitter &e;
  ContractSparseOp op;
  const View &rhs;
  Int row, tokens;
  bool mayClip;
  Int endColumn;
};
} // namespace

LogicalResult convertContractSparse(KernelContext &k, ContractSparseOp op) {
  Tile tile = k.tile(op.getTile());
  const View &rhs = k.view(op.getRhs());
  FailureOr<Int> endColumn = k.end(op, rhs, 1);
  if (failed(endColumn))
    return failure();
  bool isComputed = !tile.values.empty() || (tile.read && !op.getTransposed());
  if (rhs.layout() != Layout::Strided || !isComputed || !k.threads.sharing.isFragments)
    return op.emitOpError() << "adds to " << tile.type << " with " << rhs.type << "; expected a computed tile of two dimensions and a strided view";
  ContractSparse terms(k, op, *endColumn);
  SmallVector<SparseTerm> list = termsOf(k.e, k, op.getTerms(), k.e.integer(0));
  if (op.getTransposed())
    for (const SparseTerm &term : list)
      terms.addNamingTokens(term, tile.values);
  else if (!list.empty())
    tile = {tile.type, changeRows(k, op, tile,
                                  [&](int64_t slot, MutableArrayRef<Value> row) {
                                    for (const SparseTerm &term : list)
                                      terms.addNamedRow(term, slot, row);
                                  }),
            {}};
  k.setTile(op.getResult(), tile);
  return success();
}
} // namespace logitile::cuda
