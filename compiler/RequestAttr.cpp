// RequestAttr.cpp - how each type of member of a request becomes a parameter. Which members there
// are, Request.def says.
#include "compiler/RequestAttr.h"
#include <tuple>
using namespace mlir;
using namespace logitile;

static Type typeOf(MLIRContext *context, ElementType element) {
  Builder b(context);
  switch (element) {
  case ElementType::F16:
    return b.getF16Type();
  case ElementType::BF16:
    return b.getBF16Type();
  case ElementType::F32:
    return b.getF32Type();
  case ElementType::F64:
    return b.getF64Type();
  case ElementType::Bool:
    return b.getI1Type(); // a byte each
  case ElementType::I8:
  case ElementType::I16:
  case ElementType::I32:
  case ElementType::I64:
    return b.getIntegerType(8 * elementBytes(element));
  case ElementType::U8:
  case ElementType::U16:
  case ElementType::U32:
  case ElementType::U64:
    return b.getIntegerType(8 * elementBytes(element), /*isSigned=*/false);
  }
  llvm_unreachable("an element type that is none");
}

namespace {
/// Owns what parameters refer to.
class Parameters {
public:
  Parameters(MLIRContext *context, function_ref<InFlightDiagnostic()> emitError) : context(context), emitError(emitError) {}

  Mode of(Mode mode) { return mode; }
  int64_t of(int64_t number) { return number; }
  bool of(bool flag) { return flag; }
  StringRef of(const std::string &text) { return text; }
  DictionaryAttr of(const ElementTypes &types) {
    NamedAttrList list;
    for (const auto &[name, element] : types)
      list.append(name, TypeAttr::get(typeOf(context, element)));
    return list.getDictionary(context);
  }
  DictionaryAttr of(const TileChoice &tiles) {
    NamedAttrList list;
    for (const auto &[name, size] : tiles)
      list.append(name, Builder(context).getI64IntegerAttr(size));
    return tiles.empty() ? DictionaryAttr() : list.getDictionary(context);
  }
  ArrayRef<GradientAttr> of(const std::vector<GradientRequest> &wanted) {
    for (const GradientRequest &gradient : wanted)
      gradients.push_back(noted(
          GradientAttr::getChecked(emitError, context, gradient.part, StringRef(gradient.owner), typeOf(context, gradient.element))));
    return gradients;
  }
  ArrayRef<ProjectionAttr> of(const std::vector<ProjectionPlan> &plans) {
    for (const ProjectionPlan &projection : plans)
      projections.push_back(noted(ProjectionAttr::getChecked(emitError, context, StringRef(projection.name), projection.hidden,
                                                             typeOf(context, projection.element), typeOf(context, projection.hiddenMemory),
                                                             typeOf(context, projection.weightMemory))));
    return projections;
  }
  SliceAttr of(const std::optional<SlicePlan> &slice) {
    return slice ? noted(SliceAttr::getChecked(emitError, context, slice->columns, slice->part, slice->sweep)) : SliceAttr();
  }

  bool isFine = true;

private:
  template <typename Attr>
  Attr noted(Attr attr) {
    isFine &= bool(attr);
    return attr;
  }

  MLIRContext *const context;
  const function_ref<InFlightDiagnostic()> emitError;
  SmallVector<ProjectionAttr> projections;
  SmallVector<GradientAttr> gradients;
};
} // namespace

RequestAttr logitile::makeRequestAttr(MLIRContext *context, const CompileRequest &request, function_ref<InFlightDiagnostic()> emitError) {
  Parameters parameters(context, emitError);
  // In the order of the table: braces evaluate from left to right, and the attribute has its
  // parameters in this order too.
  std::tuple all{context
#define LOGITILE_REQUEST(Type, member, name) , parameters.of(request.member)
#define LOGITILE_REQUEST_CALL(Type, member, name) , parameters.of(request.member)
#define LOGITILE_REQUEST_TEXT(Type, member, name)
#define LOGITILE_REQUEST_NOTE(Type, member, name)
#include "compiler/Request.def"
  };
  if (!parameters.isFine)
    return {};
  return std::apply([&](auto... values) { return RequestAttr::getChecked(emitError, values...); }, all);
}
