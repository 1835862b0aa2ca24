// Terms.cpp - sparse terms (token, column, coefficient) of a gradient: in a tile of it, or as a
// sparse operand.
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Conversion/Tiles/Terms.h"
using namespace mlir;

namespace logitile::cuda {
namespace {
Value isSame(Emitter &e, Value a, Int b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::eq, a, e.narrow(b)); }
Value select(Emitter &e, Value condition, Value a, Value b) { return arith::SelectOp::create(e, condition, a, b); }
Value add(Emitter &e, Value a, Value b) { return arith::AddFOp::create(e, a, b); }
Value scale(Emitter &e, Value a, Value b) { return arith::MulFOp::create(e, a, b); }

/// The values of 'tile', the operand of 'op', after 'change' had the rows of each turn, by their
/// slots.
CodeBuilder::Values changeRows(KernelContext &k, Operation *op, const Tile &tile,
                               function_ref<void(MutableArrayRef<CodeBuilder::Values> rows)> change) {
  RowLoop loop(k);
  loop.take(tile, isLastUse(op->getOperand(0), op));
  loop.make(tile.type);
  loop.run([&] {
    SmallVector<CodeBuilder::Values> rows;
    for (int64_t slot = 0; slot < k.rowSlots(tile.type); ++slot)
      rows.push_back(k.elementsOf(loop.tiles[0], slot));
    change(rows);
    for (const CodeBuilder::Values &row : rows)
      llvm::append_range(loop.results[0], row);
  });
  return loop.results[0];
}
} // namespace

// ---- terms --------------------------------------------------------------------------------------

namespace {
/// Terms on the rows of a turn: the entry that a term names gets its coefficient, or moves into it.
/// Few rows have it in this tile, so columns are compared only where one does: how far it is from
/// the thread's first column, with constants.
class RowTerms {
public:
  RowTerms(KernelContext &k, SparseTermsOp op)
      : k(k), e(k.e), op(op), row(k.scalar(op.getRow())), tokens(k.scalar(op.getCount())), column(k.scalar(op.getColumn())),
        adds(op.getAction() == TermAction::Add), clears(op.getAction() == TermAction::Clear) {}

  /// Waits for memory once: what rows name is read before any of it is compared.
  void change(ArrayRef<SparseTerm> terms, MutableArrayRef<CodeBuilder::Values> rows) {
    areAllRows = static_cast<int64_t>(rows.size()) == k.threads.sharing.rowSlots();
    SmallVector<Value> distances;
    for (size_t slot = 0; slot < rows.size(); ++slot)
      for (size_t term = 0; term < terms.size(); ++term)
        distances.push_back(arith::SubIOp::create(e, columnOf(terms, term, slot), e.narrow(column)));
    ArrayRef<Value> rest = distances;
    for (auto [slot, values] : llvm::enumerate(rows))
      for (const SparseTerm &term : terms) {
        values = changeRow(term, slot, rest.front(), values);
        rest = rest.drop_front();
      }
  }

private:
  /// Rows that do not exist are another one.
  Int tokenOf(int64_t slot) { return smaller(row + k.threads.row(slot), tokens - 1); }
  Value columnOf(ArrayRef<SparseTerm> terms, size_t term, int64_t slot) {
    const Tile *held = clears && areAllRows ? k.findHeld(op.getTerms()[term], op.getRow()) : nullptr;
    return held ? held->values[slot] : e.load(e.at(terms[term].columns, tokenOf(slot)));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(e, predicate, a, e.word(b));
  }
  CodeBuilder::Values changeRow(const SparseTerm &term, int64_t slot, Value distance, ValueRange values) {
    auto act = [&] {
      Place coefficient = clears ? Place() : e.at(term.coefficients, tokenOf(slot));
      return changeEntry(coefficient, isLess(row + k.threads.row(slot), tokens), distance, values);
    };
    Value isInTile = compare(arith::CmpIPredicate::ult, distance, k.threads.sharing.columns);
    return e.choose(isInTile, values.getTypes(), act, [&] { return CodeBuilder::Values(values); });
  }
  CodeBuilder::Values changeEntry(Place coefficient, Value isToken, Value distance, ValueRange values) {
    Value added = adds ? e.load(coefficient) : Value();
    Value fromFirst = arith::SubIOp::create(e, distance, e.narrow(k.threads.column(0)));
    Value isAny = e.truth(false), zero = e.number(e.f32, 0), taken = zero;
    CodeBuilder::Values next;
    for (auto [slot, value] : llvm::enumerate(values)) {
      Value isHere = compare(arith::CmpIPredicate::eq, fromFirst, k.threads.distance(slot));
      isAny = arith::OrIOp::create(e, isAny, isHere);
      taken = select(e, isHere, value, taken);
      next.push_back(select(e, isHere, adds ? add(e, value, added) : zero, value));
    }
    if (!adds && !clears) // only the thread that has the entry touches the coefficient
      e.when(e.both(isAny, isToken), [&] { e.store(add(e, taken, e.load(coefficient)), coefficient); });
    return next;
  }

  KernelContext &k;
  Emitter &e;
  SparseTermsOp op;
  Int row, tokens, column;
  bool adds, clears;
  bool areAllRows = false; // in a turn
};
} // namespace

/// The coefficients of all tokens that name this thread's column, at each place of a list.
static Value sumOfColumn(KernelContext &k, SparseTermsOp op, const View &columns, const View &coefficients, Value start) {
  Emitter &e = k.e;
  Int column = k.scalar(op.getColumn()) + k.threads.column(0), places = e.integer(columns.isVector() ? 1 : columns.extent(1));
  return e.loop(places, start, [&](Int place, ValueRange ofPlaces) {
    return e.loop(k.scalar(op.getCount()), ofPlaces, [&](Int token, ValueRange sum) -> CodeBuilder::Values {
      auto read = [&](const View &view) { return e.load(view.isVector() ? e.at(view.base, token) : k.windowOf(view, token, place)); };
      return {select(e, isSame(e, read(columns), column), add(e, sum[0], read(coefficients)), sum[0])};
    });
  })[0];
}

LogicalResult convertSparseTerms(KernelContext &k, SparseTermsOp op) {
  Tile tile = k.tile(op.getTile());
  bool isSum = op.getAction() == TermAction::Sum;
  if (tile.values.empty() || tile.isOwned || isSum == k.threads.sharing.isFragments)
    return op.emitOpError() << "works on " << tile.type << ", which is not computed for it; CUDA kernels do not support that";
  Int first = k.e.integer(0);
  bool clears = op.getAction() == TermAction::Clear;
  SmallVector<SparseTerm> terms = clears ? columnsOf(k.e, k, op.getTerms(), first) : termsOf(k.e, k, op.getTerms(), first);
  if (isSum)
    for (size_t i = 0; i < op.getTerms().size(); i += 2)
      tile.values[0] = sumOfColumn(k, op, k.view(op.getTerms()[i]), k.view(op.getTerms()[i + 1]), tile.values[0]);
  else if (!terms.empty())
    tile.values = changeRows(k, op, tile, [&](MutableArrayRef<CodeBuilder::Values> rows) { RowTerms(k, op).change(terms, rows); });
  k.setTile(op.getResult(), tile);
  return success();
}

// ---- contract_sparse ----------------------------------------------------------------------------

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
      CodeBuilder::Values sums;
      scaleRow(e.load(e.at(term.coefficients, token)), entry, mine.size(),
               [&](int64_t column, Value scaled) { sums.push_back(add(e, mine[column], scaled)); });
      return sums;
    };
    CodeBuilder::Values sums = e.choose(isLess(entry, rhs.extent(0)), SmallVector<Type>(mine.size(), e.f32), visit,
                                        [&] { return CodeBuilder::Values(mine.begin(), mine.end()); });
    llvm::copy(sums, mine.begin());
  }

  /// G^T X: each row of the tile gets the hidden states of the tokens that name it, tokens
  /// ascending. The warps of the block share out the tokens: each looks at some and leaves a bit
  /// for every one. Then each turns to those that name one of its rows.
  void addNamingTokens(const SparseTerm &term, CodeBuilder::Values &values) {
    int64_t words = k.threads.sharing.threads / kWarp * kLooks;
    Place bits = e.shared(k.scratch(words * 4), e.i32);
    values = e.loop(e.integer(0), tokens, e.integer(words * kWarp), values, [&](Int first, ValueRange current) {
      e.barrier(); // whoever used this memory before is done
      noteTokens(term, first + e.warp() * (kLooks * kWarp), e.at(bits, e.warp() * kLooks));
      e.barrier();
      return visitTokens(term, first, bits, words, current);
    });
  }

private:
  Value isOther(Value a, Value b) { return arith::CmpIOp::create(e, arith::CmpIPredicate::ne, a, b); }

  /// Leaves a word for each look of this warp: a bit for each lane, set where the token that it
  /// looked at names a row of the tile. A warp after the last token looks too: votes stand where
  /// no lane can be elsewhere.
  void noteTokens(const SparseTerm &term, Int first, Place words) {
    Value found = lookAtTokens(term, first), mine = e.word(0);
    for (int64_t look = 0; look < kLooks; ++look) {
      Value ofAll = e.vote(isOther(arith::AndIOp::create(e, found, e.word(int64_t(1) << look)), e.word(0)));
      mine = select(e, isEqual(e.lane(), look), ofAll, mine);
    }
    e.when(isLess(e.lane(), kLooks), [&] { e.store(mine, e.at(words, e.lane())); });
  }

  /// A bit for each look of this lane, set where it finds a token that names a row of the tile:
  /// look i is at token i * kWarp + lane from 'first' on. Places and rows have 32 bits, because
  /// most of the scan is this.
  Value lookAtTokens(const SparseTerm &term, Int first) {
    Int start = smaller(first, tokens - 1);
    Value last = e.narrow(smaller(tokens - start, kLooks * kWarp) - 1);
    Value end = e.narrow(smaller(first + kLooks * kWarp, tokens) - smaller(first, tokens));
    Value firstRow = e.narrow(row), rows = e.word(k.threads.sharing.rows), lane = e.narrow(e.lane()), found = e.word(0);
    Place columns = e.at(term.columns, start);
    SmallVector<Value> isTokens, named;
    for (int64_t look = 0; look < kLooks; ++look) {
      Value place = arith::AddIOp::create(e, lane, e.word(look * kWarp));
      isTokens.push_back(arith::CmpIOp::create(e, arith::CmpIPredicate::slt, place, end));
      named.push_back(e.load(e.at(columns, e.extend(arith::MinUIOp::create(e, place, last)))));
    }
    for (auto [look, entry] : llvm::enumerate(named)) {
      Value isNaming = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, arith::SubIOp::create(e, entry, firstRow), rows);
      Value bit = select(e, e.both(isTokens[look], isNaming), e.word(int64_t(1) << look), e.word(0));
      found = arith::OrIOp::create(e, found, bit);
    }
    return found;
  }

  /// Adds the hidden states of the tokens whose bits, counted from token 'first' on, are set. A
  /// warp reads a word with each lane, and passes over the words without a bit.
  CodeBuilder::Values visitTokens(const SparseTerm &term, Int first, Place bits, int64_t words, ValueRange values) {
    return e.loop(e.integer(0), e.integer(words), e.integer(kWarp), values, [&](Int group, ValueRange values) {
      Value isAny = isOther(e.load(e.at(bits, smaller(group + e.lane(), words - 1))), e.word(0));
      Value lanes = e.vote(e.both(isAny, isLess(group + e.lane(), words)));
      return forBits(lanes, values, [&](Int lane, ValueRange values) {
        return forBits(e.load(e.at(bits, group + lane)), values,
                       [&](Int bit, ValueRange values) { return visitToken(term, first + (group + lane) * kWarp + bit, values); });
      });
    });
  }

  /// What 'body' makes of 'values' with the number of each bit of 'bits' that is set, the lowest
  /// first.
  CodeBuilder::Values forBits(Value bits, ValueRange values, function_ref<CodeBuilder::Values(Int, ValueRange)> body) {
    CodeBuilder::Values start(values);
    start.push_back(bits);
    CodeBuilder::Values end = e.loop(e.extend(LLVM::CtPopOp::create(e, e.i32, bits)), start, [&](Int, ValueRange current) {
      Value rest = current.back();
      Int bit = e.extend(LLVM::CountTrailingZerosOp::create(e, e.i32, rest, /*is_zero_poison=*/true));
      CodeBuilder::Values next = body(bit, current.drop_back());
      next.push_back(arith::AndIOp::create(e, rest, arith::SubIOp::create(e, rest, e.word(1))));
      return next;
    });
    end.pop_back();
    return end;
  }

  /// Adds the hidden states of a token where the row that it names is one of this warp's.
  CodeBuilder::Values visitToken(const SparseTerm &term, Int token, ValueRange values) {
    Int distance = e.extend(e.load(e.at(term.columns, token))) - row;
    Int rows = e.integer(k.threads.sharing.blockRows()), ofWarp = distance - k.threads.warpRow * rows;
    Value isMine = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, ofWarp, rows);
    SmallVector<Type> types(values.size(), e.f32);
    return e.choose(isMine, types, [&] { return addToken(term, token, distance, values); },
                    [&] { return CodeBuilder::Values(values); });
  }

  /// The thread that has elements of the row at 'distance' adds the token's hidden states to them,
  /// one column after the other: few of them lie in registers at a time.
  CodeBuilder::Values addToken(const SparseTerm &term, Int token, Int distance, ValueRange values) {
    int64_t columns = k.columnSlots(op.getTile().getType());
    Value coefficient = e.load(e.at(term.coefficients, token));
    SmallVector<Value> isHere;
    for (int64_t slot = 0; slot < static_cast<int64_t>(values.size()) / columns; ++slot)
      isHere.push_back(arith::CmpIOp::create(e, arith::CmpIPredicate::eq, distance, k.threads.row(slot)));
    CodeBuilder::Values next(values);
    scaleRow(coefficient, token, columns, [&](int64_t column, Value scaled) {
      for (auto [slot, here] : llvm::enumerate(isHere)) {
        Value &value = next[slot * columns + column];
        value = select(e, here, add(e, value, scaled), value);
      }
    });
    return next;
  }

  /// Gives 'take' coefficient times each of this thread's columns of a row of the operand.
  void scaleRow(Value coefficient, Int entry, int64_t columns, function_ref<void(int64_t column, Value scaled)> take) {
    std::optional<Int> end = mayClip ? std::optional(endColumn) : std::nullopt;
    k.walkRow(rhs, entry, k.scalar(op.getColumn()), columns, end,
              [&](int64_t column, Place place) { take(column, scale(e, coefficient, e.load(place))); });
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
                                  [&](MutableArrayRef<CodeBuilder::Values> rows) {
                                    for (auto [slot, row] : llvm::enumerate(rows))
                                      for (const SparseTerm &term : list)
                                        terms.addNamedRow(term, slot, row);
                                  }),
            {}};
  k.setTile(op.getResult(), tile);
  return success();
}
} // namespace logitile::cuda
