// logitile-compile.cpp - takes the text of one stage and prints a later one; how a reproducer is
// run.
#include "compiler/Compile.h"
#include "compiler/Text/Confinement.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"
using namespace logitile;

namespace {
llvm::cl::OptionCategory category("logitile-compile options");
llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<text of a stage>"), llvm::cl::init("-"), llvm::cl::cat(category));
llvm::cl::opt<std::string> output("o", llvm::cl::desc("where the result goes"), llvm::cl::init("-"), llvm::cl::cat(category));
llvm::cl::opt<std::string> target("target", llvm::cl::desc("in the place of the target in the text: cpu:avx2, cuda:sm_90, emu:sm_80, ..."),
                                  llvm::cl::cat(category));
llvm::cl::opt<std::string> kernel("kernel", llvm::cl::desc("only this kernel (tiles, device)"), llvm::cl::cat(category));

auto stages =
    llvm::cl::values(clEnumValN(Stage::Spec, "spec", "the loss of one token"),
                     clEnumValN(Stage::Plan, "plan", "sweeps, gradient, schedule"),
                     clEnumValN(Stage::Tiles, "tiles", "one kernel per launch"),
                     clEnumValN(Stage::Device, "device", "vector code, or the code of GPU threads"),
                     clEnumValN(Stage::Llvm, "llvm", "LLVM IR"), clEnumValN(Stage::Obj, "obj", "an object file"),
                     clEnumValN(Stage::Ptx, "ptx", "PTX for a GPU"));
llvm::cl::opt<Stage> from("from", llvm::cl::desc("stage of the input; down to device it must hold a logitile.request"), stages,
                          llvm::cl::init(Stage::Spec), llvm::cl::cat(category));
llvm::cl::opt<Stage> to("to", llvm::cl::desc("stage of the output"), stages, llvm::cl::Required, llvm::cl::cat(category));
} // namespace

int main(int argc, char **argv) {
  confineProcess();
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, "logitile-compile: from the text of one stage to a later one\n");
  if (to <= from) {
    llvm::errs() << "logitile-compile: --to=" << stageName(to) << " is no stage after --from=" << stageName(from) << "\n";
    return 2;
  }
  if (!target.empty() && from >= Stage::Llvm) {
    llvm::errs() << "logitile-compile: --target does not go with --from=" << stageName(from) << ", whose text names its target\n";
    return 2;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << "logitile-compile: " << input << ": " << file.getError().message() << "\n";
    return 2;
  }
  StageText result = printStage({(*file)->getBuffer().str(), from, input == "-" ? "<stdin>" : input.getValue(), target}, to, kernel);
  if (!result.text) {
    llvm::errs() << result.error << "logitile-compile: stage '" << stageName(result.failed) << "' failed\n";
    return 1;
  }
  std::error_code error;
  llvm::ToolOutputFile out(output, error, llvm::sys::fs::OF_None);
  if (error) {
    llvm::errs() << "logitile-compile: " << output << ": " << error.message() << "\n";
    return 2;
  }
  out.os() << *result.text;
  out.keep();
  return 0;
}
