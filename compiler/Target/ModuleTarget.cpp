// ModuleTarget.cpp - reads the name of a module's target.
#include "compiler/Target/ModuleTarget.h"
#include "dialect/Logitile.h"
using namespace mlir;
using namespace logitile;

FailureOr<std::shared_ptr<const Target>> logitile::chooseTarget(ModuleOp module, StringRef option) {
  RequestAttr request = option.empty() ? getRequest(module) : RequestAttr();
  if (option.empty() && !request)
    return module.emitOpError() << "has no attribute '" << kRequestAttrName << "', which names the target";
  std::string error;
  if (std::shared_ptr<const Target> target = findTarget(option.empty() ? request.getTarget() : option, error))
    return target;
  return module.emitOpError() << "cannot be lowered: " << error;
}
