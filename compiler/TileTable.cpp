// TileTable.cpp - reads the embedded tile tables.
#include "compiler/TileTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
using namespace logitile;

namespace {
struct Table {
  llvm::StringLiteral file, text;
};
constexpr Table kTables[] = {
#include "templates/TileTables.inc"
};
} // namespace

/// The sizes for the largest number of tiles at a time that is not above 'values': more tiles have to be smaller.
static const llvm::json::Object *findSizes(const llvm::json::Array &list, int64_t values) {
  const llvm::json::Object *found = nullptr;
  for (const llvm::json::Value &entry : list)
    if (const llvm::json::Object *sizes = entry.getAsObject(); sizes && (!found || sizes->getInteger("values").value_or(1) <= values))
      found = sizes;
  return found;
}

std::optional<TileSizes> logitile::findTileSizes(const Target &target, int64_t values, std::string &error) {
  bool isCpu = target.kind == DeviceKind::Cpu;
  std::string file = isCpu ? "templates/cpu.json" : "templates/cuda.json";
  std::string row = isCpu ? std::string(getTierInfo(target.tier).name) : "sm_" + std::to_string(target.sm) + target.suffix;
  const Table *table = llvm::find_if(kTables, [&](const Table &table) { return table.file == llvm::StringRef(file); });
  if (table == std::end(kTables)) {
    error = "no tile table '" + file + "' for target '" + target.canonicalName() + "'";
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(table->text);
  if (!json) {
    error = "tile table '" + file + "': " + llvm::toString(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *rows = json->getAsObject();
  const llvm::json::Array *list = rows ? rows->getArray(row) : nullptr;
  const llvm::json::Object *sizes = list ? findSizes(*list, values) : nullptr;
  if (!sizes) {
    error = "tile table '" + file + "' has no row '" + row + "'";
    return std::nullopt;
  }
  TileSizes result;
  const std::pair<llvm::StringLiteral, int64_t *> fields[] = {
      {"TM", &result.TM}, {"TN", &result.TN}, {"TD", &result.TD},
      {"TKproject", &result.TKproject}, {"TKhidden", &result.TKhidden}, {"TKweight", &result.TKweight}};
  for (auto [name, field] : fields) {
    std::optional<int64_t> value = sizes->getInteger(name);
    if (!value || *value <= 0) {
      error = "tile table '" + file + "', row '" + row + "': '" + name.str() + "' must be a positive integer";
      return std::nullopt;
    }
    *field = *value;
  }
  return result;
}
