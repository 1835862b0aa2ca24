// Specialise.cpp - the pass that turns the launches of a schedule into kernels. Cloning and holes
// have files of their own.
#include "compiler/Transforms/Specialise.h"
#include "compiler/Passes.h"
#include "compiler/Transforms/HalfLogits/HalfLogits.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_SPECIALISEPASS
#include "compiler/Passes.h.inc"

/// How many lists each token has beside each other, for the finish that joins them: one for each
/// group of vocabulary splits.
static int64_t listsOf(const LaunchShape &shape, int64_t splits) {
  FinishOp finish = shape.finish;
  BufferOp list = finish && finish.getList() ? shape.find({BufferRole::RowList, SweepOp(shape.sweep).getSymName(), *finish.getList()}) : BufferOp();
  return list ? cast<IntegerAttr>(cast<ViewType>(list.getType()).getDims()[1]).getInt() / finish.countPlaces() : splits;
}

FailureOr<Bindings> Bindings::get(TemplateOp source, const LaunchShape &shape) {
  Bindings result;
  llvm::StringMap<Attribute> &values = result.values;
  MLIRContext *context = source.getContext();
  LaunchOp launch = shape.launch;
  auto emitRefusal = [&] {
    InFlightDiagnostic error = launch.emitOpError();
    error.attachNote(source.getLoc()) << "template '@" << source.getSymName() << "' is here";
    return error;
  };
  values["V"] = dimension(context, shape.programColumns());
  values["SPLIT"] = dimension(context, shape.vocabSplit());
  int64_t splits = llvm::divideCeil(shape.programColumns(), shape.vocabSplit());
  values["SPLITS"] = dimension(context, splits);
  values["LISTS"] = dimension(context, listsOf(shape, splits));
  auto params = source.getParams().getAsValueRange<StringAttr>();
  for (NamedAttribute binding : launch.getBindings()) {
    if (!llvm::is_contained(params, binding.getName().getValue()))
      return emitRefusal() << "binds '" << binding.getName().getValue() << "', which is no parameter of the template";
    if (values.contains(binding.getName().getValue()))
      return emitRefusal() << "binds '" << binding.getName().getValue() << "', which the program and its schedule give";
    values[binding.getName().getValue()] = binding.getValue();
  }
  for (StringRef param : params) {
    Attribute value = values.lookup(param);
    if (!value)
      return emitRefusal() << "leaves parameter '" << param << "' without a value";
    if (isNameOfDim(param) != isa<IntegerAttr>(value))
      return emitRefusal() << "binds '" << param << "' to " << value << "; capitals take an integer, small letters a type";
    if (auto extent = dyn_cast<IntegerAttr>(value); extent && extent.getInt() <= 0)
      return emitRefusal() << "binds '" << param << "' to " << extent.getInt() << ", which must be positive";
    if (auto type = dyn_cast<TypeAttr>(value); type && !isa<IntegerType, FloatType, RoundedType>(type.getValue()))
      return emitRefusal() << "binds '" << param << "' to " << value << ", which is no integer and no float type";
  }
  result.replacer = std::make_shared<AttrTypeReplacer>();
  result.replacer->addReplacement([values](SymbolicDimAttr dim) -> std::optional<Attribute> { return values.lookup(dim.getName()); });
  result.replacer->addReplacement(
      [values](SymbolicType type) -> std::optional<Type> { return cast<TypeAttr>(values.lookup(type.getName())).getValue(); });
  return result;
}

namespace {
struct SpecialisePass : impl::SpecialisePassBase<SpecialisePass> {
  /// The kernels of one program, before it; the schedule takes its place.
  LogicalResult specialise(ProgramOp program, TemplateLibrary &library) {
    auto schedules = program.getBody().getOps<ScheduleOp>();
    if (schedules.empty())
      return program.emitOpError() << "has no schedule; run logitile-choose-schedule first";
    ScheduleOp schedule = *schedules.begin();
    OpBuilder builder(program);
    WalkResult walk = schedule.walk([&](LaunchOp launch) {
      TemplateOp source = library.find(launch.getSource());
      if (!source) {
        launch.emitOpError() << "names template @" << launch.getSource() << ", which does not exist";
        return WalkResult::interrupt();
      }
      FailureOr<LaunchShape> shape = LaunchShape::get(program, launch, source);
      if (failed(shape) || failed(verifyHalfLogits(*shape)))
        return WalkResult::interrupt();
      FailureOr<Bindings> bindings = Bindings::get(source, *shape);
      if (failed(bindings) || failed(instantiate(source, *shape, *bindings, builder)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  void runOnOperation() override {
    TemplateLibrary library(&getContext());
    for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>()))
      if (failed(specialise(program, library)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
