// tile_cost_test.cpp - the cost model ranks tile sizes: bad ones behind good ones. Seconds are for bench/tune.py.
#include "compiler/CostModel/TileCost.h"
#include "compiler/TileTable.h"
#include <gtest/gtest.h>
using namespace logitile;

static const TileMachine kMachine = getTileMachine(*Target::parse("cpu:avx512"), 2);

/// The gradient of a head: V x D sums over tokens.
static double weightSeconds(int64_t tileRows, int64_t tileLanes, int64_t tileDepth, const TileMachine &machine = kMachine) {
  return tiledSeconds({32000, 1024, 1024, tileRows, tileLanes, tileDepth, 4}, machine);
}

TEST(TileCost, TilesNeverMakeItFaster) {
  TiledContraction contraction{32000, 1024, 1024, 112, 1024, 512, 4};
  EXPECT_GT(tiledSeconds(contraction, kMachine), idealSeconds(contraction, kMachine));
  EXPECT_LT(tiledSeconds(contraction, kMachine), 1.3 * idealSeconds(contraction, kMachine));
}

TEST(TileCost, ShortBlocksReadSumsAgain) {
  EXPECT_GT(weightSeconds(112, 1024, 16), weightSeconds(112, 1024, 128));
  EXPECT_GT(weightSeconds(112, 1024, 128), weightSeconds(112, 1024, 512));
}

TEST(TileCost, NarrowTilesFetchOperandsAgain) { EXPECT_GT(weightSeconds(112, 32, 512), weightSeconds(112, 1024, 512)); }

TEST(TileCost, FewRowsLeaveRegistersIdle) { EXPECT_GT(weightSeconds(2, 1024, 512), 1.5 * weightSeconds(14, 1024, 512)); }

TEST(TileCost, BlocksBeyondTheNearCacheCost) { EXPECT_GT(weightSeconds(4096, 1024, 1024), weightSeconds(112, 1024, 1024)); }

TEST(TileCost, UnitsWithoutTasksWait) {
  TiledContraction one{112, 1024, 1024, 112, 1024, 512, 4}, two{112, 1024, 1024, 112, 512, 512, 4};
  EXPECT_GT(tiledSeconds(one, kMachine), 1.5 * tiledSeconds(two, kMachine));
  TiledContraction shared = two;
  shared.tasks = 1;
  EXPECT_GT(tiledSeconds(shared, kMachine), 1.5 * tiledSeconds(two, kMachine));
}

TEST(TileCost, FewerThreadsPayOffOnlyWhereThereIsLittleToDo) {
  TileMachine many = getTileMachine(*Target::parse("cpu:avx512"), 64);
  EXPECT_LT(weightSeconds(112, 1024, 512, many), weightSeconds(112, 1024, 512));
  TiledContraction little{32, 32, 8, 14, 32, 8, 4};
  EXPECT_GT(tiledSeconds(little, many), tiledSeconds(little, kMachine));
}

TEST(TileCost, EveryTargetHasATable) {
  for (std::string_view name : {"cpu:portable", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cuda:sm_80", "emu:sm_90"}) {
    Target target = *Target::parse(name);
    TileMachine machine = getTileMachine(target, 2);
    std::string error;
    std::vector<TileSizes> list = listTileSizes(target, 1, error);
    ASSERT_GE(list.size(), 3u) << name << ": " << error;
    for (const TileSizes &sizes : list) {
      TiledContraction project{32000, 1024, 1024, sizes.TN, sizes.TM, sizes.TKproject, 4};
      EXPECT_LT(tiledSeconds(project, machine), 8 * idealSeconds(project, machine)) << name << " " << spellTileSizes(sizes);
    }
  }
}

TEST(TileTable, SpelledSizesReadAsThemselves) {
  Target target = *Target::parse("cpu:avx2");
  std::string error;
  for (const TileSizes &sizes : listTileSizes(target, 1, error)) {
    std::optional<TileChoice> choice = parseTileChoice(spellTileSizes(sizes), error);
    ASSERT_TRUE(choice) << error;
    std::optional<TileSizes> found = findTileSizes(target, 1, *choice, error);
    ASSERT_TRUE(found) << error;
    EXPECT_EQ(spellTileSizes(*found), spellTileSizes(sizes));
  }
}
