// StageProcess.h - makes stages from unchecked texts in another process, because some texts make
// LLVM or MLIR end the process. This is a separate program rather than a fork: after a fork, a
// child may wait for ever for a lock that another thread of the parent held.
#pragma once
#include "compiler/Stages.h"
#include "runtime/support/Status.h"
#include <string>

namespace logitile {
/// Runs Engine::stageText in a process of the program logitile-stage. An error if that process ends
/// without an answer.
Result<std::string> stageInProcess(const std::string &text, Stage from, Stage to, const std::string &kernel);
/// Runs Engine::planBytes in such a process.
Result<std::string> planInProcess(const std::string &text, Stage from, const std::string &target);
/// The main function of that program. Its arguments are two stages and a kernel, or a stage, "run"
/// and a target. The text is its standard input.
int runStageProcess(int count, char **arguments);
} // namespace logitile
