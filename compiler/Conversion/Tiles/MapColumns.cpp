// MapColumns.cpp - the region of a map, once for all columns and then at each of them.
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;
using namespace logitile;

Widener logitile::mapUniform(CodeBuilder &builder, const RowGroup &rows, MapOp op) {
  Widener uniform(builder, rows.lanes());
  rows.mapUniform(uniform, op.getBody().getArguments());
  uniform.emitReady(op.getBody());
  return uniform;
}

void logitile::mapColumns(const RowGroup &rows, MapOp op, const Widener &uniform, function_ref<void(const Column &, ValueRange)> keep) {
  rows.forColumns({}, [&](const Column &column, ValueRange) {
    Widener element = uniform;
    rows.mapColumn(element, op.getBody(), op.getBody().getArguments(), column);
    keep(column, element.getYielded(op.getBody()));
    return CodeBuilder::Values();
  });
}
