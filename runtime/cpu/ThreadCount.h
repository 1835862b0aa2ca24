// ThreadCount.h - the number of threads that a program should use.
#pragma once
#include "runtime/support/Status.h"
#include <string>

namespace logitile {
/// The number of threads for programs: LOGITILE_NUM_THREADS if set. Else 'wanted' if positive, else
/// the cores that this process may use; but no more than the quota of its control group.
Result<int> chooseThreads(int wanted);

/// How many cores a quota of control groups lets this process keep busy, rounded up; none where
/// there is no quota. 'root' is where the files of the system are: tests bring their own.
std::optional<int> quotaOfCores(const std::string &root = "");
} // namespace logitile
