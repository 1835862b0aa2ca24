// CopyRequest.cpp - copies and checks each type of member. Request.def lists the members of
// requests and of their structs.
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

  // ---- single values, with the name of what has them
  void copy(const char *, const char *from, std::string &to) { to = textOf(from); }
  void copy(const char *, int64_t from, int64_t &to) { to = from; }
  void copy(const char *, int from, int64_t &to) { to = from; }
  void copy(const char *, int from, bool &to) { to = from != 0; }
  void copy(const char *, lt_mode from, Mode &to) { copyWord("mode", from, to); }
  void copy(const char *, lt_operand_part from, OperandPart &to) { copyWord("part of an input", from, to); }
  void copy(const char *, lt_slice_part from, SlicePart &to) { copyWord("part of a slice", from, to); }
  /// A mask may be bool.
  void copy(const char *name, lt_type from, ElementType &to) {
    std::optional<ElementType> type = valueOf<ElementType>(from);
    if (!type || (!isFloat(*type) && *type != ElementType::Bool))
      return fail(ErrorCode::Type, "'" + textOf(name) + "' is " + (type ? std::string(wordOf(*type)) : "of no known type") +
                                       "; floats are needed");
    to = *type;
  }
  void copy(const char *name, const lt_slice *from, std::optional<SlicePlan> &to) {
    if (from)
      copyStruct(name, *from, to.emplace());
  }
  void copy(const char *, const char *from, TileChoice &to) {
    std::string error;
    std::optional<TileChoice> tiles = parseTileChoice(textOf(from), error);
    if (!tiles)
      return fail(ErrorCode::Value, error);
    to = *tiles;
  }

  // ---- lists
  template <typename From, typename To> void copyList(const From *from, size_t count, std::vector<To> &to) {
    for (const From &one : std::span(from, count))
      copyStruct(one.name, one, to.emplace_back());
  }
  void copyList(const lt_named_type *from, size_t count, ElementTypes &to) {
    for (const lt_named_type &named : std::span(from, count))
      copy(named.name, named.type, to[textOf(named.name)]);
  }

private:
#define LOGITILE_REQUEST_STRUCT(Type, name, ...) \
  static auto membersOf(const Type &name) { return std::tie(__VA_ARGS__); }
#include "compiler/Request.def"
  template <typename From, typename To> void copyStruct(const char *name, const From &from, To &to) {
    auto copyTo = [&](auto &...made) {
      std::apply([&](const auto &...given) { (copy(name, given, made), ...); }, membersOf(from));
    };
    std::apply(copyTo, To::members(to));
  }
  template <typename Enum> void copyWord(const char *what, int from, Enum &to) {
    std::optional<Enum> value = valueOf<Enum>(from);
    if (!value)
      return fail(ErrorCode::Value, "there is no " + std::string(what) + " " + std::to_string(from));
    to = *value;
  }
  void fail(ErrorCode code, const std::string &text) {
    if (status.isOk())
      status = Status(code, text);
  }
  static std::string textOf(const char *text) { return text ? text : ""; }
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
