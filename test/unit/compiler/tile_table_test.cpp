// tile_table_test.cpp - tile tables: what they may hold, and what an error says about the rest.
#include "compiler/Target/Backend.h"
#include "compiler/Schedule/TileTable.h"
#include <gtest/gtest.h>
using namespace logitile;

namespace {
class NoBackend : public Backend {
public:
  std::string_view prefix() const override { return "test"; }
  std::shared_ptr<const Target> parse(std::string_view) const override { return nullptr; }
  std::string listFeatures() const override { return ""; }
};
const NoBackend kBackend;

/// A target that has the row "a" of a table of its own, and multiples of 2 for tokens.
class TableTarget : public Target {
public:
  explicit TableTarget(std::string table) : Target(kBackend), table(std::move(table)) {}
  std::string features() const override { return "a"; }
  TargetFacts facts() const override { return {}; }
  TileList tileTable() const override { return {"tiles.json", table, features()}; }
  std::string refuseTiles(const TileSizes &sizes) const override { return refuseUnlessMultiples(*this, sizes, {"TM"}, 2); }
  Machine machine(int64_t) const override { return {}; }
  void addDevicePasses(mlir::OpPassManager &) const override {}
  Stage codeStage() const override { return Stage::Device; }
  llvm::FailureOr<std::string> emitCode(mlir::ModuleOp, Cancellation *) const override { return std::string(); }

private:
  const std::string table;
};

const std::string kSizes = R"("TM": 8, "TN": 16, "TD": 8, "TKproject": 4, "TKhidden": 4, "TKweight": 4)";
const std::string kRow = R"({"values": 1, )" + kSizes + "}";

/// Why the table has no sizes for the target.
std::string refusal(const std::string &table, int64_t values = 1) {
  std::string error;
  EXPECT_TRUE(listTileSizes(TableTarget(table), values, error).empty()) << table;
  EXPECT_FALSE(findTileSizes(TableTarget(table), values, {}, error)) << table;
  return error;
}
std::string refusalOfRow(const std::string &row) { return refusal(R"({"a": [)" + kRow + ", " + row + "]}"); }
std::shared_ptr<const Target> targetOf(std::string_view name) {
  std::string error;
  std::shared_ptr<const Target> target = findTarget(name, error);
  EXPECT_TRUE(target) << error;
  return target;
}
} // namespace

TEST(TileTable, HasRowsForSoManyTiles) {
  TableTarget target(R"({"a": [)" + kRow + R"(, {"values": 2, "TM": 4, "TN": 8, "TD": 8, "TKproject": 4, "TKhidden": 4, "TKweight": 4}]})");
  std::string error;
  EXPECT_EQ(listTileSizes(target, 1, error).size(), 2u);
  ASSERT_EQ(listTileSizes(target, 2, error).size(), 1u);
  EXPECT_EQ(listTileSizes(target, 2, error).front().TM, 4);
  EXPECT_EQ(listTileSizes(target, 9, error).front().TM, 4) << "where none serves so many, those that serve most do";
  EXPECT_EQ(error, "");
}

TEST(TileTable, SpelledSizesReadAsThemselves) {
  std::shared_ptr<const Target> target = targetOf("cpu:avx2");
  std::string error;
  for (const TileSizes &sizes : listTileSizes(*target, 1, error)) {
    std::optional<TileChoice> choice = parseTileChoice(spellTileSizes(sizes), error);
    ASSERT_TRUE(choice) << error;
    std::optional<TileSizes> found = findTileSizes(*target, 1, *choice, error);
    ASSERT_TRUE(found) << error;
    EXPECT_EQ(spellTileSizes(*found), spellTileSizes(sizes));
  }
}

TEST(TileTable, ClustersAreThoseThatAreNamed) {
  std::shared_ptr<const Target> target = targetOf("cuda:sm_90a");
  std::string error;
  std::vector<TileSizes> list = listTileSizes(*target, 1, error);
  ASSERT_GE(list.size(), 2u) << error;
  EXPECT_EQ(list[0].cluster, 1) << "which its row leaves out";
  EXPECT_EQ(list[1].cluster, 2);
  EXPECT_EQ(spellTileSizes(list[0]) + ",cluster=2", spellTileSizes(list[1]));
  EXPECT_EQ(findTileSizes(*target, 1, {{"TM", 64}}, error)->cluster, 1);
  EXPECT_EQ(findTileSizes(*target, 1, {{"cluster", 2}}, error)->cluster, 2);
  EXPECT_FALSE(findTileSizes(*target, 1, {{"cluster", 3}}, error));
  EXPECT_EQ(error, "tile size 'cluster' is 3; clusters of 'cuda:sm_90a' have 2 blocks at most");
  EXPECT_FALSE(findTileSizes(*targetOf("cuda:sm_90"), 1, {{"cluster", 2}}, error));
  EXPECT_EQ(error, "tile size 'cluster' is 2; clusters of 'cuda:sm_90' have 1 block at most");
}

TEST(TileTable, EveryTargetHasARow) {
  for (std::string_view name :
       {"cpu:portable", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cpu:amx_bf16", "cpu:amx_bf16_emulated", "cuda:sm_80", "cuda:sm_86",
        "cuda:sm_89", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_100", "cuda:sm_120", "emu:sm_80", "emu:sm_120"}) {
    std::string error;
    EXPECT_FALSE(listTileSizes(*targetOf(name), 1, error).empty()) << name << ": " << error;
  }
}

TEST(TileTable, AMissingRowIsNamed) {
  EXPECT_EQ(refusal(R"({"c": [)" + kRow + R"(], "b": [)" + kRow + "]}"), "tile table 'tiles.json' has no list 'a'; it has 'b', 'c'");
}

TEST(TileTable, ItsShapeIsChecked) {
  EXPECT_EQ(refusal("{"), "tile table 'tiles.json': [1:1, byte=1]: Expected object key");
  EXPECT_EQ(refusal("[]"), "tile table 'tiles.json' is []; it must be an object that has a list for each target");
  EXPECT_EQ(refusal(R"({"a": {}})"), "tile table 'tiles.json', list 'a' is {}; it must be a list of rows, at least one");
  EXPECT_EQ(refusal(R"({"a": []})"), "tile table 'tiles.json', list 'a' is []; it must be a list of rows, at least one");
}

TEST(TileTable, EveryRowIsChecked) {
  const std::string place = "tile table 'tiles.json', list 'a', row 2", keys = "values, TM, TN, TD, TKproject, TKhidden, TKweight, cluster";
  EXPECT_EQ(refusalOfRow("7"), place + " is 7; it must be an object with the keys " + keys);
  EXPECT_EQ(refusalOfRow("null"), place + " is null; it must be an object with the keys " + keys);
  EXPECT_EQ(refusalOfRow(R"({"values": 1, "TX": 3, )" + kSizes + "}"), place + " has the key 'TX'; the keys are " + keys);
  EXPECT_EQ(refusalOfRow("{" + kSizes + "}"), place + " has no key 'values'; the keys are " + keys);
  EXPECT_EQ(refusalOfRow(R"({"values": 1})"), place + " has no key 'TM'; the keys are " + keys);
  for (std::string value : {"0", "-1", "1.5", "16385", "\"2\"", "null", "[1]"})
    EXPECT_EQ(refusalOfRow(R"({"values": )" + value + ", " + kSizes + "}"),
              place + ", key 'values' is " + value + "; it must be an integer from 1 to 16384");
}

TEST(TileTable, RowsOfOtherTargetsAreCheckedToo) {
  EXPECT_EQ(refusal(R"({"a": [)" + kRow + R"(], "b": [7]})").substr(0, 50), "tile table 'tiles.json', list 'b', row 1 is 7; it ");
}

TEST(TileTable, WhatKernelsCannotHaveIsRefused) {
  const std::string rest = R"("TD": 8, "TKproject": 4, "TKhidden": 4, "TKweight": 4})", place = "tile table 'tiles.json', list 'a', row 2: ";
  EXPECT_EQ(refusalOfRow(R"({"values": 1, "TM": 7, "TN": 16, )" + rest), place + "tile size 'TM' is 7; 'test:a' takes multiples of 2");
  EXPECT_EQ(refusalOfRow(R"({"values": 1, "TM": 8, "TN": 1, )" + rest), place + "tile size 'TN' is 1; tiles have 2 vocabulary entries at least");
}
