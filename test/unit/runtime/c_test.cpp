// c_test.cpp - runs the C program of test/c, which has only the core library, its header and a
// saved plan.
#include "gtest/gtest.h"
#include <cstdlib>

TEST(CInterface, AProgramRunsASavedPlan) { EXPECT_EQ(std::system(RUN_PLAN " " TEST_PLANS "/split.plan"), 0); }
