// StageProcess.h - stages of texts that nobody has checked, made in another process: LLVM and MLIR
// end theirs over some. That process is a program of its own, not a fork: a fork of a process with
// threads may wait forever for a lock of one of them.
#pragma once
#include "compiler/Stages.h"
#include "runtime/support/Status.h"
#include <string>

namespace logitile {
/// Engine::stageText in a process of the program logitile-stage. An error where that process ends
/// before it has an answer.
Result<std::string> stageInProcess(const std::string &text, Stage from, Stage to, const std::string &kernel);
/// Engine::planBytes in such a process.
Result<std::string> planInProcess(const std::string &text, Stage from, const std::string &target);
/// The main function of that program. Its arguments are two stages and a kernel, or a stage, "run"
/// and a target. The text is its standard input.
int runStageProcess(int count, char **arguments);
} // namespace logitile
