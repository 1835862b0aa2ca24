// TileTable.cpp - reads tile tables, and the sizes of a request.
#include "compiler/Schedule/TileTable.h"
#include "dialect/types/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
using namespace logitile;

static constexpr struct Field {
  llvm::StringLiteral name;
  int64_t TileSizes::*field;
  bool isOptional = false; // tables may leave it out: then it is 1
} kFields[] = {{"TM", &TileSizes::TM},
               {"TN", &TileSizes::TN},
               {"TD", &TileSizes::TD},
               {"TKproject", &TileSizes::TKproject},
               {"TKhidden", &TileSizes::TKhidden},
               {"TKweight", &TileSizes::TKweight},
               {"cluster", &TileSizes::cluster, /*isOptional=*/true}};

// ---- tables -------------------------------------------------------------------------------------

static std::string fieldNames() {
  return llvm::join(llvm::map_range(kFields, [](const auto &field) { return field.name.str(); }), ", ");
}

static std::string whyNot(const Target &target, const TileSizes &sizes) {
  if (sizes.TN < 2) // regions tell a column of a tile from a value of a row by its extent
    return "tile size 'TN' is " + std::to_string(sizes.TN) + "; tiles have 2 vocabulary entries at least";
  if (int64_t most = target.facts().largestCluster; sizes.cluster > most)
    return "tile size 'cluster' is " + std::to_string(sizes.cluster) + "; clusters of '" + target.name() + "' have " + std::to_string(most) +
           (most == 1 ? " block" : " blocks") + " at most";
  return target.refuseTiles(sizes);
}

namespace {
namespace json = llvm::json;

/// One row of a list: sizes, and how many tiles of TM x TN a kernel may hold with them.
struct Row {
  int64_t values = 0;
  TileSizes sizes;
};

constexpr llvm::StringLiteral kValues = "values";

/// Reads every list of a table. What is wrong first is in 'error'.
class TableReader {
public:
  explicit TableReader(const TileList &table) : name("tile table '" + std::string(table.file) + "'") {}

  std::map<std::string, std::vector<Row>> read(std::string_view text) {
    llvm::Expected<json::Value> parsed = json::parse(text);
    if (!parsed) {
      error = name + ": " + llvm::toString(parsed.takeError());
      return {};
    }
    const json::Object *table = parsed->getAsObject();
    if (!table)
      refuse(name, *parsed, "an object that has a list for each target");
    std::map<std::string, std::vector<Row>> lists;
    for (const auto &[list, value] : table ? *table : json::Object())
      lists[list.str()] = readList(placeOf(list.str()), value);
    return error.empty() ? lists : std::map<std::string, std::vector<Row>>();
  }

  std::string placeOf(const std::string &list) const { return name + ", list '" + list + "'"; }

  std::string error;

private:
  std::vector<Row> readList(const std::string &place, const json::Value &list) {
    const json::Array *array = list.getAsArray();
    if (!array || array->empty())
      refuse(place, list, "a list of rows, at least one");
    std::vector<Row> rows;
    for (const json::Value &row : array ? *array : json::Array())
      rows.push_back(readRow(place + ", row " + std::to_string(rows.size() + 1), row));
    return rows;
  }

  Row readRow(const std::string &place, const json::Value &value) {
    Row row;
    const json::Object *object = value.getAsObject();
    if (!object) {
      refuse(place, value, "an object with the keys " + keys());
      return row;
    }
    for (const auto &[key, size] : *object)
      if (!isKey(key))
        fail(place + " has the key '" + key.str() + "'; the keys are " + keys());
    row.values = readNumber(place, *object, kValues);
    for (const Field &field : kFields)
      if (!field.isOptional || object->get(field.name))
        row.sizes.*field.field = readNumber(place, *object, field.name);
    return row;
  }

  int64_t readNumber(const std::string &place, const json::Object &row, llvm::StringRef key) {
    const json::Value *value = row.get(key);
    if (!value) {
      fail(place + " has no key '" + key.str() + "'; the keys are " + keys());
      return 0;
    }
    std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < 1 || *number > kMostOfTile)
      refuse(place + ", key '" + key.str() + "'", *value, "an integer from 1 to " + std::to_string(kMostOfTile));
    return number.value_or(0);
  }

  static bool isKey(llvm::StringRef key) {
    return key == kValues || llvm::any_of(kFields, [&](const auto &field) { return field.name == key; });
  }
  static std::string keys() { return kValues.str() + ", " + fieldNames(); }
  void refuse(const std::string &place, const json::Value &value, const std::string &accepted) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    fail(place + " is " + text + "; it must be " + accepted);
  }
  void fail(const std::string &text) {
    if (error.empty())
      error = text;
  }

  const std::string name;
};
} // namespace

/// The rows of the list of 'target', which its kernels can have. Empty, with the reason in
/// 'error', where the table is wrong.
static std::vector<Row> readRowsOf(const Target &target, std::string &error) {
  const TileList table = target.tileTable();
  TableReader reader(table);
  std::map<std::string, std::vector<Row>> lists = reader.read(table.text);
  error = reader.error;
  if (!error.empty())
    return {};
  auto found = lists.find(table.list);
  if (found == lists.end()) {
    auto names = llvm::map_range(lists, [](const auto &list) { return "'" + list.first + "'"; });
    error = "tile table '" + std::string(table.file) + "' has no list '" + table.list + "'; it has " + llvm::join(names, ", ");
    return {};
  }
  for (const auto &[number, row] : llvm::enumerate(found->second))
    if (std::string reason = whyNot(target, row.sizes); !reason.empty()) {
      error = reader.placeOf(table.list) + ", row " + std::to_string(number + 1) + ": " + reason;
      return {};
    }
  return found->second;
}

std::vector<TileSizes> logitile::listTileSizes(const Target &target, int64_t values, std::string &error) {
  std::vector<Row> rows = readRowsOf(target, error);
  int64_t most = 0; // where none serves so many, those that serve most do
  for (const Row &row : rows)
    most = std::max(most, row.values);
  std::vector<TileSizes> found;
  for (const Row &row : rows)
    if (row.values >= std::min(values, most))
      found.push_back(row.sizes);
  return found;
}

// ---- choices ------------------------------------------------------------------------------------

std::string logitile::spellTileSizes(const TileSizes &sizes) {
  std::string text;
  for (const Field &field : kFields)
    if (!field.isOptional || sizes.*field.field != 1)
      text += (text.empty() ? "" : ",") + field.name.str() + "=" + std::to_string(sizes.*field.field);
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
  for (const Field &field : kFields)
    if (llvm::is_contained(names, std::string_view(field.name)) && sizes.*field.field % unit != 0)
      return "tile size '" + field.name.str() + "' is " + std::to_string(sizes.*field.field) + "; '" + target.name() + "' takes multiples of " +
             std::to_string(unit);
  return "";
}

std::optional<TileSizes> logitile::findTileSizes(const Target &target, int64_t values, const TileChoice &choice, std::string &error) {
  std::vector<TileSizes> list = listTileSizes(target, values, error);
  if (list.empty())
    return std::nullopt;
  TileSizes sizes = list.front();
  if (!choice.empty())
    sizes.cluster = 1;
  for (const auto &[name, size] : choice) {
    auto *known = llvm::find_if(kFields, [&](const auto &field) { return field.name == name; });
    if (known == std::end(kFields)) {
      error = "there is no tile size '" + name + "'; there are " + fieldNames();
      return std::nullopt;
    }
    if (size > kMostOfTile) {
      error = "tile size '" + name + "' is " + std::to_string(size) + "; " + std::to_string(kMostOfTile) + " is the most";
      return std::nullopt;
    }
    sizes.*known->field = size;
  }
  error = choice.empty() ? "" : whyNot(target, sizes);
  return error.empty() ? std::optional(sizes) : std::nullopt;
}
