// CopyRequest.cpp - copies and checks each type of member. Request.def lists the members.
#include "runtime/api/CopyRequest.h"
#include "compiler/Schedule/TileTable.h"
#include "runtime/api/Enums.h"
#include <span>
using namespace logitile;

namespace {
/// Copies members until one is wrong.
class RequestCopy {
public:
  Status status;

  // ---- single values
  void copy(const char *, const char *from, std::string &to) { to = from ? from : ""; }
  void copy(const char *, int64_t from, int64_t &to) { to = from; }
  void copy(const char *, int from, int64_t &to) { to = from; }
  void copy(const char *, int from, bool &to) { to = from != 0; }
  void copy(const char *name, lt_mode from, Mode &to) { copyValue(name, from, to); }
  void copy(const char *, const lt_slice *from, std::optional<SlicePlan> &to) {
    if (!from)
      return;
    to = {SlicePart::Sweep, from->columns, from->sweep};
    copyValue("part of a slice", from->part, to->part);
  }
  void copy(const char *, const char *from, TileChoice &to) {
    std::string error;
    std::optional<TileChoice> tiles = parseTileChoice(from ? from : "", error);
    if (!tiles)
      return fail(ErrorCode::Value, error);
    to = *tiles;
  }

  // ---- lists
  void copyList(const lt_projection *from, size_t count, std::vector<ProjectionPlan> &to) {
    for (const lt_projection &projection : std::span(from, count))
      to.push_back({projection.name, projection.hidden, floatOf(projection.type, projection.name),
                    floatOf(projection.hidden_memory, projection.name), floatOf(projection.weight_memory, projection.name)});
  }
  void copyList(const lt_named_type *from, size_t count, ElementTypes &to) {
    for (const lt_named_type &named : std::span(from, count))
      to[named.name] = floatOf(named.type, named.name);
  }
  void copyList(const lt_gradient *from, size_t count, std::vector<GradientRequest> &to) {
    for (const lt_gradient &gradient : std::span(from, count)) {
      to.push_back({OperandPart::Input, gradient.name, floatOf(gradient.type, gradient.name)});
      copyValue("part of an input", gradient.part, to.back().part);
    }
  }

private:
  void fail(ErrorCode code, const std::string &text) {
    if (status.isOk())
      status = Status(code, text);
  }
  template <HasWords Enum> void copyValue(const char *name, int from, Enum &to) {
    std::optional<Enum> value = valueOf<Enum>(from);
    if (!value)
      return fail(ErrorCode::Value, "there is no " + std::string(name) + " " + std::to_string(from));
    to = *value;
  }
  /// A mask may be bool.
  ElementType floatOf(lt_type given, const char *name) {
    std::optional<ElementType> type = checkedType(given);
    if (type && (isFloat(*type) || *type == ElementType::Bool))
      return *type;
    fail(ErrorCode::Type, "'" + std::string(name) + "' is " + (type ? typeName(*type) : "of no known type") + "; floats are needed");
    return ElementType::F32;
  }
};
} // namespace

Result<Request> logitile::copyRequest(const lt_request &given) {
  Request request;
  RequestCopy copy;
#define LOGITILE_REQUEST(Type, member, name) copy.copy(#name, given.name, request.member);
#define LOGITILE_REQUEST_LIST(Type, member, name, count) copy.copyList(given.name, given.count, request.member);
#include "compiler/Request.def"
  if (!copy.status.isOk())
    return copy.status;
  if (!given.spec || !given.target)
    return Status(ErrorCode::Value, std::string("a request has no '") + (given.spec ? "target" : "spec") + "'");
  if ((request.workspace > 0) == (request.chunks > 0))
    return Status(ErrorCode::Value, "a program is given either 'workspace' or 'chunks', and they are positive");
  return request;
}
