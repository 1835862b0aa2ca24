// ThreadCount.h - the number of threads that a program should use.
#pragma once
#include "runtime/support/Status.h"
#include <string>

namespace logitile {
/// The number of threads for programs: LOGITILE_NUM_THREADS if set. Else 'wanted' if positive, else
/// the cores that this process may use; but no more than the quota of its control group.
Result<int> chooseThreads(int wanted);

/// The number of cores that the quota of the process's control groups allows, rounded up; none if
/// there is no quota. 'root' is the folder with the system's files, which tests replace.
std::optional<int> quotaOfCores(const std::string &root = "");
} // namespace logitile
