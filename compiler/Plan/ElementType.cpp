// ElementType.cpp - the table of element types.
#include "compiler/Plan/ElementType.h"
#include <iterator>
using namespace logitile;

namespace {
struct TypeInfo {
  const char *name;
  int64_t bytes;
};
constexpr TypeInfo kTypes[] = {{"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"int8", 1},   {"int16", 2}, {"int32", 4},
                               {"int64", 8},   {"uint8", 1},    {"uint16", 2},  {"uint32", 4},  {"uint64", 8}, {"bool", 1}};
static_assert(std::size(kTypes) == kElementTypes);
} // namespace

int64_t logitile::elementBytes(ElementType type) { return kTypes[static_cast<int>(type)].bytes; }
const char *logitile::typeName(ElementType type) { return kTypes[static_cast<int>(type)].name; }
