// Memory.h - views and tiles while a kernel runs.
#pragma once
#include "test/backends/interpreter/Scalars.h"

namespace logitile::interpreter {
/// A tile as one number for each element.
struct Tile {
  int64_t rows = 0, columns = 0;
  std::vector<Number> values;

  explicit Tile(TileType type) : rows(type.getExtent(0)), columns(type.getExtent(1)), values(rows * columns) {}
  Number &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  /// An axis of extent 1 is repeated.
  Number read(int64_t row, int64_t column) const { return values[(rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)]; }
};

/// Memory of the caller or of the workspace. An extent of '?' is as long as the call has tokens.
class View {
public:
  View(ViewType type, const int64_t *words, int64_t tokens)
      : type(type), data(reinterpret_cast<char *>(words[0])), strides{words[1], words[2]}, tokens(tokens) {}

  bool isVector() const { return type.getDims().size() == 1; }
  /// [vocabulary split][token], which is how the row states of vocabulary splits lie.
  bool isRowState() const { return !isVector() && mlir::ShapedType::isDynamic(dimension(1)); }
  int64_t extent(unsigned axis) const { return mlir::ShapedType::isDynamic(dimension(axis)) ? tokens : dimension(axis); }
  Number read(int64_t row, int64_t column = 0) const;
  void write(int64_t row, int64_t column, Number value) const;

  static bool isKnown(ViewType type);

private:
  int64_t dimension(unsigned axis) const { return llvm::cast<mlir::IntegerAttr>(type.getDims()[axis]).getInt(); }
  char *element(int64_t row, int64_t column) const;

  ViewType type;
  char *data;
  int64_t strides[2];
  int64_t tokens;
};
} // namespace logitile::interpreter
