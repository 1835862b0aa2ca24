// Registry.h - the dialects and passes of the tools and the engine.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace logitile {
/// Everything that a module of the stages up to `tiles` may hold.
void registerTileDialects(mlir::DialectRegistry &registry);
/// Everything that a module of any stage up to `device` may hold.
void registerDialects(mlir::DialectRegistry &registry);
/// Our passes and those of all backends, by their flags.
void registerPasses();
} // namespace logitile
