// logitile-opt.cpp - runs passes on a module of any stage; the tool of the lit tests.
#include "compiler/Registry.h"
#include "compiler/Text/Confinement.h"
#include "compiler/Text/UncheckedText.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

static int fail(const std::string &reason) {
  llvm::errs() << "logitile-opt: " << reason << "\n";
  return 1;
}

int main(int argc, char **argv) {
  logitile::confineProcess();
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  logitile::registerDialects(registry);
  logitile::notePasses(registry);
  logitile::registerPasses();
  mlir::registerTransformsPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "runs logitile passes\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> out = text ? mlir::openOutputFile(output, &error) : nullptr;
  if (!out)
    return fail(error);
  if (std::string reason = logitile::findUnparsable(text->getBuffer(), input); !reason.empty())
    return fail(reason);
  if (failed(mlir::MlirOptMain(out->os(), std::move(text), registry, config)))
    return 1;
  out->keep();
  return 0;
}
