// CodeLines.cpp - places of instructions travel through LLVM as debug information, and end as
// directives `.loc` of the assembly.
#include "compiler/Trace/CodeLines.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/AssemblyAnnotationWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormattedStream.h"
#include "llvm/Transforms/Utils/Cloning.h"
using namespace logitile;

namespace {
/// Notes at which lines a printed module has its functions and instructions, in the order that it
/// has them in.
class LineNotes : public llvm::AssemblyAnnotationWriter {
public:
  void emitFunctionAnnot(const llvm::Function *function, llvm::formatted_raw_ostream &stream) override {
    symbols.push_back({function->getName().str(), stream.getLine() + 1});
  }
  void emitInstructionAnnot(const llvm::Instruction *, llvm::formatted_raw_ostream &stream) override {
    instructions.push_back(stream.getLine() + 1);
  }
  std::vector<TracedSymbol> symbols;
  std::vector<unsigned> instructions;
};

/// LINE of what follows a directive `.loc`: FILE LINE COLUMN. 0 where there is none.
int64_t lineOf(llvm::StringRef words) {
  llvm::StringRef fileAndRest = words.ltrim();
  llvm::StringRef rest = fileAndRest.drop_until(llvm::isSpace).ltrim();
  int64_t line = 0;
  return rest.take_while(llvm::isDigit).getAsInteger(10, line) ? 0 : line;
}

/// Directives and labels that say nothing of the program.
bool isAboutDebugging(llvm::StringRef line) {
  return line.starts_with(".file") || line.starts_with(".cfi_") || line.starts_with(".Ltmp") || line.starts_with(".Lfunc_begin") ||
         line.starts_with("$L__tmp") || line.starts_with("$L__func_begin");
}

/// The function of 'module' that a line of assembly begins; "" for another line.
std::string beginsFunction(const llvm::Module &module, llvm::StringRef line) {
  llvm::StringRef name = line;
  if (size_t kernel = line.find(".entry "); kernel != llvm::StringRef::npos)
    name = line.substr(kernel).split(' ').second.split('(').first;
  else if (!name.consume_back(":"))
    return {};
  const llvm::Function *function = module.getFunction(name);
  return function && !function->isDeclaration() ? name.str() : "";
}

bool isInstruction(llvm::StringRef line) {
  return !line.empty() && !line.ends_with(":") && !line.starts_with(".") && !line.starts_with("//") && !line.starts_with("#") &&
         !line.starts_with("{") && !line.starts_with("}") && !line.starts_with("$");
}
} // namespace

TracedStage logitile::traceInstructions(llvm::Module &module, const std::string &before) {
  TracedStage stage;
  stage.name = "llvm";
  std::unique_ptr<llvm::Module> plain = llvm::CloneModule(module);
  llvm::StripDebugInfo(*plain);
  LineNotes notes;
  llvm::raw_string_ostream stream(stage.text);
  plain->print(stream, &notes);
  stage.symbols = notes.symbols;
  stage.origins.resize(llvm::count(stage.text, '\n') + 1);
  const unsigned *line = notes.instructions.data();
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      if (const llvm::DILocation *place = instruction.getDebugLoc(); place && place->getLine())
        stage.origins.at(*line - 1).push_back({before, place->getLine()});
      if (llvm::DISubprogram *scope = function.getSubprogram())
        instruction.setDebugLoc(llvm::DILocation::get(module.getContext(), *line, 0, scope));
      ++line;
    }
  return stage;
}

TracedStage logitile::traceAssembly(const llvm::Module &module, llvm::StringRef assembly, const std::string &name) {
  TracedStage stage;
  stage.name = name;
  int64_t current = 0;
  for (llvm::StringRef line : llvm::split(assembly, '\n')) {
    llvm::StringRef bare = line.trim();
    if (bare.consume_front(".loc")) {
      current = lineOf(bare);
      continue;
    }
    if (isAboutDebugging(bare))
      continue;
    stage.text += (line + "\n").str();
    stage.origins.emplace_back();
    if (std::string function = beginsFunction(module, bare); !function.empty())
      stage.symbols.push_back({function, static_cast<int64_t>(stage.origins.size())});
    if (current && isInstruction(bare))
      stage.origins.back().push_back({"llvm", current});
  }
  return stage;
}
