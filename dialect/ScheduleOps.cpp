// ScheduleOps.cpp - checks of schedules: buffers, loops and launches.
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
using namespace mlir;
using namespace logitile;

LogicalResult ScheduleOp::verifyRegions() {
  if (getFirst() < 0 || getBehind() <= getFirst())
    return emitOpError() << "covers no number of tokens: [" << getFirst() << ", " << getBehind() << ")";
  if (getSlab() <= 0)
    return emitOpError() << "slab of " << getSlab() << " vocabulary entries must be positive";
  llvm::StringSet<> buffers;
  for (Operation &op : getBody().front()) {
    if (!isa<BufferOp, RunOp>(op))
      return op.emitOpError() << "has no place in a schedule: expected buffer or run";
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer)
      continue;
    if (buffer.getAlias() && !buffers.contains(*buffer.getAlias()))
      return buffer.emitOpError() << "lies over '" << *buffer.getAlias() << "', which is no earlier buffer";
    if (!buffers.insert(buffer.getName()).second)
      return buffer.emitOpError() << "defines buffer '" << buffer.getName() << "' twice";
  }
  WalkResult walk = walkLaunches(buffers);
  return failure(walk.wasInterrupted());
}

WalkResult ScheduleOp::walkLaunches(const llvm::StringSet<> &buffers) {
  llvm::StringSet<> kernels;
  return walk([&](LaunchOp launch) {
    if (!kernels.insert(launch.getKernel()).second) {
      launch.emitOpError() << "names kernel '" << launch.getKernel() << "' a second time";
      return WalkResult::interrupt();
    }
    for (NamedAttribute view : launch.viewsOrEmpty()) {
      if (buffers.contains(cast<StringAttr>(view.getValue()).getValue()))
        continue;
      launch.emitOpError() << "gives '" << view.getName().getValue() << "' the buffer " << view.getValue() << ", which the schedule does not define";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
}

LogicalResult LoopOp::verify() {
  if (getStep() == 0)
    return emitOpError() << "steps by 0";
  if (getAxis() == Axis::Slabs && getStep() < 0)
    return emitOpError() << "steps by " << getStep() << " slabs; only loops over tokens may give a number of chunks";
  if (bool(getFirst()) != (getAxis() == Axis::Slabs))
    return emitOpError() << (getFirst() ? "over tokens covers all of them; 'from' is for slabs" : "over slabs needs 'from' and 'to'");
  if (getFirst() && (*getFirst() < 0 || *getBehind() <= *getFirst()))
    return emitOpError() << "covers no slabs: [" << *getFirst() << ", " << *getBehind() << ")";
  for (Operation *outer = (*this)->getParentOp(); auto loop = dyn_cast_or_null<LoopOp>(outer); outer = outer->getParentOp())
    if (loop.getAxis() == getAxis())
      return emitOpError() << "runs over " << stringifyAxis(getAxis()) << " inside another loop over them";
  return success();
}

LogicalResult LaunchOp::verify() {
  for (NamedAttribute view : viewsOrEmpty())
    if (!isa<StringAttr>(view.getValue()))
      return emitOpError() << "gives view '" << view.getName().getValue() << "' " << view.getValue() << ", which is no name of a buffer";
  if (std::optional<ArrayRef<int64_t>> slabs = getSlabs(); slabs && (slabs->size() != 2 || (*slabs)[0] < 0 || (*slabs)[1] < (*slabs)[0]))
    return emitOpError() << "slabs [" << *slabs << "] are no range [first, behind)";
  return success();
}
