// Templates.cpp - finds and parses the embedded skeletons, and reads SSA names back from their
// text.
#include "compiler/Schedule/Templates.h"
#include "mlir/Parser/Parser.h"
using namespace mlir;
using namespace logitile;

namespace {
struct Skeleton {
  StringLiteral file, text;
};
constexpr Skeleton kSkeletons[] = {
#include "templates/Skeletons.inc"
};

/// "templates/sweep.mlir" holds the template "sweep".
StringRef nameOf(const Skeleton &skeleton) {
  StringRef name = skeleton.file;
  name.consume_front("templates/");
  name.consume_back(".mlir");
  return name;
}
const Skeleton *findSkeleton(function_ref<bool(const Skeleton &)> matches) {
  const Skeleton *found = llvm::find_if(kSkeletons, matches);
  return found == std::end(kSkeletons) ? nullptr : found;
}
} // namespace

SmallVector<StringRef> TemplateLibrary::names() {
  SmallVector<StringRef> names(llvm::map_range(kSkeletons, nameOf));
  llvm::sort(names);
  return names;
}

TemplateOp TemplateLibrary::find(StringRef name) {
  OwningOpRef<ModuleOp> &module = modules[name];
  if (!module) {
    const Skeleton *skeleton = findSkeleton([&](const Skeleton &skeleton) { return nameOf(skeleton) == name; });
    if (!skeleton)
      return {};
    module = parseSourceString<ModuleOp>(skeleton->text, ParserConfig(context), skeleton->file);
    if (!module)
      return {};
  }
  return module->lookupSymbol<TemplateOp>(name);
}

TemplateOp TemplateLibrary::choose(Purpose purpose, StringRef backend, bool inParts) {
  TemplateOp general;
  for (StringRef name : names()) {
    TemplateOp source = find(name);
    if (!source || source.getPurpose() != purpose)
      continue;
    auto params = source.getParams().getAsValueRange<StringAttr>();
    if (llvm::is_contained(params, kParts) != inParts)
      continue;
    if (!source.getTargets())
      general = general ? general : source;
    else if (llvm::is_contained(source.getTargetsAttr().getAsValueRange<StringAttr>(), backend))
      return source;
  }
  return general;
}

StringRef TemplateLibrary::nameAt(Location loc) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  if (!place)
    return {};
  const Skeleton *skeleton = findSkeleton([&](const Skeleton &skeleton) { return skeleton.file == place.getFilename().getValue(); });
  if (!skeleton)
    return {};
  StringRef rest = skeleton->text;
  for (unsigned line = 1; line < place.getLine(); ++line)
    rest = rest.split('\n').second;
  StringRef line = rest.split('\n').first;
  StringRef here = line.drop_front(std::min<size_t>(place.getColumn() - 1, line.size()));
  if (!here.starts_with("%")) // an op: its results stand before it
    here = line.take_front(place.getColumn() - 1).ltrim();
  if (!here.consume_front("%"))
    return {};
  return here.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}
