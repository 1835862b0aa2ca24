// Terms.h - sparse terms (token, column, coefficient) of a gradient, in memory. Each target decides
// which thread reads which token.
#pragma once
#include "compiler/Conversion/KernelControl.h"

namespace logitile {
/// The memory of one term for each token, from some first token on.
struct SparseTerm {
  Place columns, coefficients;
};

/// Calls 'body' with each of the terms of 'views', which are pairs of columns and coefficients. A
/// list has a term for each of its places.
template <typename ContextT, typename Body> void forTerms(ContextT &kernel, mlir::ValueRange views, Body body) {
  for (size_t i = 0; i + 1 < views.size(); i += 2) {
    const View &columns = kernel.view(views[i]), &coefficients = kernel.view(views[i + 1]);
    Int first = kernel.e.integer(0);
    if (columns.isVector())
      body(SparseTerm{columns.base, coefficients.base});
    else
      kernel.e.loop(kernel.e.integer(columns.extent(1)), [&](Int place) {
        body(SparseTerm{kernel.windowOf(columns, first, place), kernel.windowOf(coefficients, first, place)});
      });
  }
}

/// The terms of 'views', which have columns only, from token 'first' on.
inline llvm::SmallVector<SparseTerm> columnsOf(CodeBuilder &builder, const KernelControl &kernel, mlir::ValueRange views, Int first) {
  return llvm::map_to_vector(views, [&](mlir::Value view) { return SparseTerm{builder.at(kernel.view(view).base, first), {}}; });
}

/// The terms of 'views', which are pairs of columns and coefficients, from token 'first' on.
inline llvm::SmallVector<SparseTerm> termsOf(CodeBuilder &builder, const KernelControl &kernel, mlir::ValueRange views, Int first) {
  llvm::SmallVector<SparseTerm> terms;
  for (size_t i = 0; i + 1 < views.size(); i += 2)
    terms.push_back({builder.at(kernel.view(views[i]).base, first), builder.at(kernel.view(views[i + 1]).base, first)});
  return terms;
}
} // namespace logitile
