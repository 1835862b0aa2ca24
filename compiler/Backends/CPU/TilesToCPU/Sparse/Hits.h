// Hits.h - finds the tokens that name a column of a tile.
#pragma once
#include "compiler/Backends/CPU/TilesToCPU/KernelContext.h"
#include "compiler/Conversion/Tiles/Terms.h"

namespace logitile::cpu {
/// Calls 'body' for each of 'count' tokens whose column lies in [first, first + extent), with the
/// column's distance from 'first'. Few tokens have their column in one tile, so whole groups of
/// tokens are checked at once.
inline void forHits(KernelContext &k, const SparseTerm &term, Int count, Int first, Int extent,
                    llvm::function_ref<void(Int token, Int distance)> body) {
  using namespace mlir;
  Emitter &e = k.e;
  Value start = arith::TruncIOp::create(e, e.i32, first), size = arith::TruncIOp::create(e, e.i32, extent);
  auto distanceOf = [&](Int token, int64_t lanes) -> Value {
    return arith::SubIOp::create(e, e.load(e.at(term.columns, token), lanes), e.spread(start, lanes));
  };
  auto isInside = [&](Value distance, int64_t lanes) -> Value {
    return arith::CmpIOp::create(e, arith::CmpIPredicate::ult, distance, e.spread(size, lanes));
  };
  auto visit = [&](Int token) {
    Value distance = distanceOf(token, 0);
    e.when(isInside(distance, 0), [&] { body(token, e.extend(distance)); });
  };
  Int whole = count / e.lanes * e.lanes;
  e.loop(e.integer(0), whole, e.integer(e.lanes), [&](Int group) {
    Value isHit = e.isAnyLane(isInside(distanceOf(group, e.lanes), e.lanes));
    e.when(isHit, [&] { e.loop(group, group + e.lanes, e.integer(1), visit); });
  });
  e.loop(whole, count, e.integer(1), visit);
}
} // namespace logitile::cpu
