// MapColumns.cpp - a region, once for all columns and then at each of them.
#include "compiler/Conversion/Tiles/MapColumns.h"
using namespace mlir;
using namespace logitile;

Widener logitile::mapUniform(CodeBuilder &builder, const RowGroup &rows, Region &region) {
  Widener uniform(builder, rows.lanes());
  rows.mapUniform(uniform, region.getArguments());
  uniform.emitReady(region);
  return uniform;
}

void logitile::mapColumns(const RowGroup &rows, Region &region, const Widener &uniform,
                          function_ref<void(const Column &, ValueRange)> keep) {
  rows.forColumns({}, [&](const Column &column, ValueRange) {
    Widener element = uniform;
    rows.mapColumn(element, region, region.getArguments(), column);
    keep(column, element.getYielded(region));
    return CodeBuilder::Values();
  });
}
