// Terms.cpp - sparse terms (token, column, coefficient) of a gradient: in a tile of it, or as a
// sparse operand.
#include "compiler/Backends/CPU/TilesToCPU/Sparse/Hits.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

// ---- terms --------------------------------------------------------------------------------------

/// What one action does at a hit: 'entry' is the tile's entry, 'coefficient' the term's.
static void act(Emitter &e, TermAction action, Place entry, Place coefficient) {
  Value sum = arith::AddFOp::create(e, e.load(entry), e.load(coefficient));
  if (action != TermAction::Extract) {
    e.store(sum, entry);
    return;
  }
  e.store(sum, coefficient);
  e.store(e.number(e.f32, 0), entry);
}

LogicalResult cpu::convertSparseTerms(KernelContext &k, SparseTermsOp op) {
  bool isSum = op.getAction() == TermAction::Sum;
  Tile tile = k.takeOver(op.getTileMutable());
  if (op.getAction() == TermAction::Clear || tile.lanesAlongRows == isSum)
    return op.emitOpError() << "clears entries, or works on a tile that is laid out for another op; CPU kernels do not support that";
  Int row = k.scalar(op.getRow()), column = k.scalar(op.getColumn());
  if (isSum)
    forTerms(k, op.getTerms(), [&](const SparseTerm &term) {
      forHits(k, term, k.scalar(op.getCount()), column, tile.columns, [&](Int token, Int distance) {
        act(k.e, op.getAction(), k.e.at(tile.base, distance), k.e.at(term.coefficients, token));
      });
    });
  else
    for (const SparseTerm &term : termsOf(k.e, k, op.getTerms(), row))
      forHits(k, term, tile.rows, column, tile.columns, [&](Int token, Int distance) {
        act(k.e, op.getAction(), k.placeOf(tile, distance, token), k.e.at(term.coefficients, token));
      });
  k.setTile(op.getResult(), tile);
  return success();
}

// ---- contract_sparse ----------------------------------------------------------------------------

/// line += coefficient * the row of packed hidden states that belongs to 'token'.
static void addPacked(KernelContext &k, const View &packed, Int column, Int token, Place line, Int lanes, Value coefficient) {
  Emitter &e = k.e;
  func::FuncOp add = k.helpers.addScaled(packed.base.element);
  int64_t together = isOfPairs(packed) ? 2 : 1;
  e.loop(divideUp(lanes, e.width), [&](Int panel) {
    Int inPanel = token / together * (e.width * together) + token % together;
    Place from = e.at(packed.base, (column / e.width + panel) * packed.stride1 + inPanel);
    Place to = e.at(line, panel * e.width);
    k.call(add, {to.pointer, coefficient, from.pointer, e.integer(together), smaller(lanes - panel * e.width, e.width)});
  });
}

/// G^T X: the vocabulary entries of a tile get the hidden states of the tokens that name them.
static void contractTransposed(KernelContext &k, ContractSparseOp op, const Tile &tile) {
  Emitter &e = k.e;
  const View &rhs = k.view(op.getRhs());
  for (const SparseTerm &term : termsOf(k.e, k, op.getTerms(), e.integer(0)))
    forHits(k, term, k.scalar(op.getCount()), k.scalar(op.getRow()), tile.rows, [&](Int token, Int distance) {
      Value coefficient = e.load(e.at(term.coefficients, token));
      addPacked(k, rhs, k.scalar(op.getColumn()), token, k.placeOf(tile, distance, e.integer(0)), tile.columns, coefficient);
    });
}

/// G W: each token gets the row of the head that it names.
static void contractPlain(KernelContext &k, ContractSparseOp op, const Tile &tile) {
  Emitter &e = k.e;
  const View &rhs = k.view(op.getRhs());
  func::FuncOp add = k.helpers.addScaled(rhs.base.element);
  for (const SparseTerm &term : termsOf(k.e, k, op.getTerms(), k.scalar(op.getRow())))
    e.loop(tile.rows, [&](Int token) {
      Int entry = e.extend(e.load(e.at(term.columns, token)));
      e.when(isLess(entry, rhs.extent(0)), [&] {
        Place from = k.windowOf(rhs, entry, k.scalar(op.getColumn()));
        Place line = k.placeOf(tile, token, e.integer(0));
        k.call(add, {line.pointer, e.load(e.at(term.coefficients, token)), from.pointer, rhs.stride1, tile.columns});
      });
    });
}

LogicalResult cpu::convertContractSparse(KernelContext &k, ContractSparseOp op) {
  const View &rhs = k.view(op.getRhs());
  Layout wanted = op.getTransposed() ? Layout::ColumnPanels : Layout::Strided;
  if (rhs.layout() != wanted)
    return op.emitOpError() << "'rhs' is " << rhs.type << "; expected layout " << stringifyLayout(wanted);
  Tile tile = k.takeOver(op.getTileMutable());
  if (tile.lanesAlongRows)
    return op.emitOpError() << "works on a tile that is not the result of a contraction";
  if (op.getTransposed())
    contractTransposed(k, op, tile);
  else
    contractPlain(k, op, tile);
  k.setTile(op.getResult(), tile);
  return success();
}
