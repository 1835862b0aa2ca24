// tile_cost_test.cpp - the cost model ranks tile sizes: bad ones after good ones. Seconds are for
// bench/tune.py.
#include "compiler/CostModel/TileCost.h"
#include "compiler/Schedule/TileTable.h"
#include "compiler/Target/Backend.h"
#include <gtest/gtest.h>
using namespace logitile;

static std::shared_ptr<const Target> targetOf(std::string_view name) {
  std::string error;
  std::shared_ptr<const Target> target = findTarget(name, error);
  EXPECT_TRUE(target) << error;
  return target;
}
static const Machine kMachine = targetOf("cpu:avx512")->machine(2);

/// The gradient of a head: V x D sums over tokens.
static double weightSeconds(int64_t tileRows, int64_t tileLanes, int64_t tileDepth, const Machine &machine = kMachine) {
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
  Machine many = targetOf("cpu:avx512")->machine(64);
  EXPECT_LT(weightSeconds(112, 1024, 512, many), weightSeconds(112, 1024, 512));
  TiledContraction little{32, 32, 8, 14, 32, 8, 4};
  EXPECT_GT(tiledSeconds(little, many), tiledSeconds(little, kMachine));
}

TEST(TileCost, EveryTargetHasATable) {
  for (std::string_view name : {"cpu:portable", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cpu:amx_bf16", "cuda:sm_80", "emu:sm_90"}) {
    std::shared_ptr<const Target> target = targetOf(name);
    Machine machine = target->machine(2);
    std::string error;
    std::vector<TileSizes> list = listTileSizes(*target, 1, error);
    ASSERT_GE(list.size(), 3u) << name << ": " << error;
    for (const TileSizes &sizes : list) {
      TiledContraction project{32000, 1024, 1024, sizes.TN, sizes.TM, sizes.TKproject, 4};
      EXPECT_LT(tiledSeconds(project, machine), 8 * idealSeconds(project, machine)) << name << " " << spellTileSizes(sizes);
    }
  }
}

TEST(Machine, ChipsOfOneCapabilityDifferInWhatTheirDataSheetsSay) {
  Machine h100 = targetOf("cuda:sm_90:h100")->machine(1), h200 = targetOf("cuda:sm_90")->machine(1);
  EXPECT_NEAR(h100.flops / h200.flops, 798.0 / 788, 0.01); // of the same data sheet cuBLAS reaches other shares
  EXPECT_DOUBLE_EQ(h200.memoryRate / h100.memoryRate, 4.8 / 3.35);
  Machine rtx4090 = targetOf("cuda:sm_89:rtx4090")->machine(1), l40s = targetOf("cuda:sm_89:l40s")->machine(1);
  EXPECT_EQ(rtx4090.units, 128);
  EXPECT_EQ(l40s.units, 142);
  EXPECT_GT(rtx4090.memoryRate, l40s.memoryRate);
  EXPECT_LT(rtx4090.flops, l40s.flops);
}

TEST(Machine, WhatWasMeasuredTakesThePlaceOfRatesOfTheTarget) {
  Machine ofTier = targetOf("cpu:avx512_bf16")->machine(4);
  Machine measured = measuredMachine(ofTier, {100, 150, 10, 1});
  EXPECT_DOUBLE_EQ(measured.flops, 400e9);
  EXPECT_DOUBLE_EQ(measured.speedOf16Bit, 1.5);
  EXPECT_DOUBLE_EQ(measured.memoryRate, 40e9);
  EXPECT_DOUBLE_EQ(measured.pageRate, 4e9);
  EXPECT_DOUBLE_EQ(measuredMachine(targetOf("cpu:avx512")->machine(4), {100, 150, 10, 1}).speedOf16Bit, 1); // it widens them
  Machine same = measuredMachine(ofTier, {});
  EXPECT_EQ(same.flops, ofTier.flops);
  EXPECT_EQ(same.memoryRate, ofTier.memoryRate);
}

TEST(Machine, AnEmulatedGpuHasTheRatesOfTheGpu) {
  EXPECT_EQ(targetOf("emu:sm_80")->machine(1).memoryRate, targetOf("cuda:sm_80")->machine(1).memoryRate);
}
