// cpu_rates_test.cpp - which instruction is faster, by the table and by records of processors.
#include "runtime/cpu/CpuRates.h"
#include "test/unit/runtime/DiskCaches.h"
#include "gtest/gtest.h"
using namespace logitile;

TEST(CpuRates, TheTableHasProcessorsThatMultiplyBfloat16Slowly) {
  ASSERT_TRUE(tabledRates(6, 207));
  EXPECT_TRUE(tabledRates(6, 207)->areFasterInFloat32());
  EXPECT_FALSE(tabledRates(25, 17)); // Zen 4
  EXPECT_FALSE((UnitRates{100, 200}.areFasterInFloat32()));
  EXPECT_FALSE((UnitRates{100, 100}.areFasterInFloat32())); // fewer bytes are read
}
TEST(CpuRates, ARecordIsOfOneProcessor) {
  test::TemporaryFolder temporary;
  Result<CacheFolder> folder = CacheFolder::open(temporary.path, CacheFolder::Missing::Leave);
  ASSERT_TRUE(folder.isOk());
  EXPECT_FALSE(recordedRates(*folder, "A CPU"));
  recordRates(*folder, "A CPU", {100, 50, 20, 2});
  recordRates(*folder, "A CPU 2", {100, 200, 20, 2});
  recordRates(*folder, "A CPU", {100, 75, 20, 2});
  ASSERT_TRUE(recordedRates(*folder, "A CPU") && recordedRates(*folder, "A CPU 2"));
  EXPECT_EQ(recordedRates(*folder, "A CPU")->bfloat16, 75);
  EXPECT_EQ(recordedRates(*folder, "A CPU 2")->bfloat16, 200);
  EXPECT_FALSE(recordedRates(*folder, "A"));
}
