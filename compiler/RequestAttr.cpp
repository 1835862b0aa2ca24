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

  template <HasWords Enum>
  Enum of(Enum word) {
    return word;
  }
  Type of(ElementType element) { return typeOf(context, element); }
  int64_t of(int64_t number) { return number; }
  bool of(bool flag) { return flag; }
  StringRef of(const std::string &text) { return text; }
  DictionaryAttr of(const ElementTypes &types) {
    NamedAttrList list;
    for (const auto &[name, element] : types)
      list.append(name, TypeAttr::get(of(element)));
    return list.getDictionary(context);
  }
  DictionaryAttr of(const TileChoice &tiles) {
    NamedAttrList list;
    for (const auto &[name, size] : tiles)
      list.append(name, Builder(context).getI64IntegerAttr(size));
    return tiles.empty() ? DictionaryAttr() : list.getDictionary(context);
  }
  ArrayRef<GradientAttr> of(const std::vector<GradientRequest> &wanted) { return listOf(gradients, wanted); }
  ArrayRef<ProjectionAttr> of(const std::vector<ProjectionPlan> &plans) { return listOf(projections, plans); }
  SliceAttr of(const std::optional<SlicePlan> &slice) { return slice ? attrOf<SliceAttr>(*slice) : SliceAttr(); }

  bool isFine = true;

private:
  template <typename Attr, typename Struct>
  Attr attrOf(const Struct &given) {
    Attr attr = std::apply([&](const auto &...member) { return Attr::getChecked(emitError, context, of(member)...); }, Struct::members(given));
    isFine &= bool(attr);
    return attr;
  }
  template <typename Attr, typename Struct>
  ArrayRef<Attr> listOf(SmallVector<Attr> &attrs, const std::vector<Struct> &given) {
    for (const Struct &one : given)
      attrs.push_back(attrOf<Attr>(one));
    return attrs;
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
