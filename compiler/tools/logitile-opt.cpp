// logitile-opt.cpp - runs passes on a module of any stage; the tool of the lit tests.
#include "compiler/Registry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  logitile::registerDialects(registry);
  logitile::registerPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "runs logitile passes\n", registry));
}
