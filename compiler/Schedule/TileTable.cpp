// TileTable.cpp - reads tile tables, and what a request says instead.
#include "compiler/Schedule/TileTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
using namespace logitile;

static constexpr struct {
  llvm::StringLiteral name;
  int64_t TileSizes::*field;
} kFields[] = {{"TM", &TileSizes::TM},
               {"TN", &TileSizes::TN},
               {"TD", &TileSizes::TD},
               {"TKproject", &TileSizes::TKproject},
               {"TKhidden", &TileSizes::TKhidden},
               {"TKweight", &TileSizes::TKweight}};

// ---- tables ---------------------------------------------------------------------------------------------------------

static bool readSizes(const llvm::json::Object &entry, const std::string &place, TileSizes &sizes, std::string &error) {
  for (auto [name, field] : kFields) {
    std::optional<int64_t> value = entry.getInteger(name);
    if (!value || *value <= 0) {
      error = place + ": '" + name.str() + "' must be a positive integer";
      return false;
    }
    sizes.*field = *value;
  }
  return true;
}

/// Those that serve at least 'values' tiles; where none does, those that serve most.
static std::vector<TileSizes> readList(const llvm::json::Array &list, int64_t values, const std::string &place, std::string &error) {
  auto servedBy = [](const llvm::json::Value &entry) {
    const llvm::json::Object *sizes = entry.getAsObject();
    return sizes ? sizes->getInteger("values").value_or(1) : 0;
  };
  int64_t most = 0;
  for (const llvm::json::Value &entry : list)
    most = std::max(most, servedBy(entry));
  std::vector<TileSizes> found;
  for (const llvm::json::Value &entry : list) {
    if (servedBy(entry) < std::min(values, most))
      continue;
    if (!readSizes(*entry.getAsObject(), place, found.emplace_back(), error))
      return {};
  }
  return found;
}

/// 'a', 'b': in the order of the alphabet, for the table keeps none.
static std::string namesOf(const llvm::json::Object *rows) {
  std::vector<std::string> names;
  for (const auto &[name, row] : rows ? *rows : llvm::json::Object())
    names.push_back("'" + name.str() + "'");
  llvm::sort(names);
  return llvm::join(names, ", ");
}

std::vector<TileSizes> logitile::listTileSizes(const Target &target, int64_t values, std::string &error) {
  const TileTableRow table = target.tileTable();
  const std::string name = "tile table '" + std::string(table.file) + "'";
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(table.text);
  if (!json) {
    error = name + ": " + llvm::toString(json.takeError());
    return {};
  }
  const llvm::json::Object *rows = json->getAsObject();
  const llvm::json::Array *list = rows ? rows->getArray(table.row) : nullptr;
  if (!list || list->empty()) {
    error = name + " has no row '" + table.row + "'; it has " + namesOf(rows);
    return {};
  }
  return readList(*list, values, name + ", row '" + table.row + "'", error);
}

// ---- choices --------------------------------------------------------------------------------------------------------

static std::string fieldNames() {
  std::string names;
  for (auto [name, field] : kFields)
    names += (names.empty() ? "" : ", ") + name.str();
  return names;
}

std::string logitile::spellTileSizes(const TileSizes &sizes) {
  std::string text;
  for (auto [name, field] : kFields)
    text += (text.empty() ? "" : ",") + name.str() + "=" + std::to_string(sizes.*field);
  return text;
}

std::optional<TileChoice> logitile::parseTileChoice(std::string_view text, std::string &error) {
  TileChoice choice;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0;
    if (number.getAsInteger(10, size) || size <= 0) {
      error = "tile size '" + part.str() + "' cannot be read; write a name and a positive integer, such as 'TM=64'";
      return std::nullopt;
    }
    choice[name.str()] = size;
  }
  return choice;
}

std::string logitile::refuseUnlessMultiples(const Target &target, const TileSizes &sizes, std::initializer_list<std::string_view> names,
                                            int64_t unit) {
  for (auto [name, field] : kFields)
    if (llvm::is_contained(names, std::string_view(name)) && sizes.*field % unit != 0)
      return "tile size '" + name.str() + "' is " + std::to_string(sizes.*field) + "; '" + target.name() + "' takes multiples of " +
             std::to_string(unit);
  return "";
}

static std::string whyNot(const Target &target, const TileSizes &sizes) {
  if (sizes.TN < 2) // regions tell a column of a tile from a value of a row by its extent
    return "tile size 'TN' is " + std::to_string(sizes.TN) + "; tiles have 2 vocabulary entries at least";
  return target.refuseTiles(sizes);
}

std::optional<TileSizes> logitile::findTileSizes(const Target &target, int64_t values, const TileChoice &choice, std::string &error) {
  std::vector<TileSizes> list = listTileSizes(target, values, error);
  if (list.empty())
    return std::nullopt;
  TileSizes sizes = list.front();
  for (const auto &[name, size] : choice) {
    auto *known = llvm::find_if(kFields, [&](const auto &field) { return field.name == name; });
    if (known == std::end(kFields)) {
      error = "there is no tile size '" + name + "'; there are " + fieldNames();
      return std::nullopt;
    }
    sizes.*known->field = size;
  }
  error = choice.empty() ? "" : whyNot(target, sizes);
  return error.empty() ? std::optional(sizes) : std::nullopt;
}
