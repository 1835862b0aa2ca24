// SplitCode.cpp - deals the functions of a module out to threads, each with a context of its own.
#include "compiler/Codegen/SplitCode.h"
#include "compiler/Support/WorkThread.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <memory>
#include <vector>
using namespace logitile;

namespace {
constexpr unsigned kParts = 2;
constexpr unsigned kFewInstructions = 1000; // of a module: a second thread would not pay

/// Names of functions, by part.
using PartNames = std::array<llvm::StringSet<>, kParts>;

/// Code takes time in proportion to the instructions: the longest function first, always to the
/// part that has least.
PartNames deal(const llvm::Module &module) {
  std::vector<const llvm::Function *> functions;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  llvm::sort(functions, [](auto *a, auto *b) {
    return std::pair(b->getInstructionCount(), a->getName()) < std::pair(a->getInstructionCount(), b->getName());
  });
  PartNames parts;
  std::array<unsigned, kParts> counts{};
  for (const llvm::Function *function : functions) {
    size_t least = llvm::min_element(counts) - counts.begin();
    counts[least] += function->getInstructionCount();
    parts[least].insert(function->getName());
  }
  return parts;
}

/// What one part defines, another one may call. Users of the code see kernels only, as before.
void share(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.hasLocalLinkage()) {
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
}

void keepOnly(llvm::Module &module, const llvm::StringSet<> &names) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !names.contains(function.getName()))
      function.deleteBody();
}

struct Part {
  std::string code, error;
};

/// Makes the parts of one module.
class Writer {
public:
  Writer(const MachineSpec &spec, llvm::CodeGenFileType file, Cancellation *cancellation)
      : spec(spec), file(file), cancellation(cancellation) {}

  Part write(llvm::Module &module) const {
    Part part;
    llvm::FailureOr<std::string> code = writeCode(module, spec, file, part.error, cancellation);
    if (llvm::succeeded(code))
      part.code = std::move(*code);
    return part;
  }

  std::array<Part, kParts> writeAll(llvm::Module &module) const {
    PartNames names = deal(module);
    share(module);
    llvm::SmallVector<char, 0> bitcode;
    llvm::raw_svector_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(module, stream);
    std::array<Part, kParts> parts;
    std::vector<WorkThread> threads;
    threads.reserve(kParts);
    for (unsigned part = 1; part < kParts; ++part) {
      auto work = [&, part] { parts[part] = writeOne({bitcode.data(), bitcode.size()}, names[part]); };
      if (std::optional<WorkThread> thread = WorkThread::start(work))
        threads.push_back(std::move(*thread));
      else
        work();
    }
    keepOnly(module, names[0]);
    parts[0] = write(module);
    for (WorkThread &thread : threads)
      thread.join();
    return parts;
  }

private:
  /// A part of a module that comes as bitcode: contexts are not for several threads.
  Part writeOne(llvm::StringRef bitcode, const llvm::StringSet<> &names) const {
    llvm::LLVMContext context;
    llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile({bitcode, "part"}, context);
    if (!module)
      return {"", llvm::toString(module.takeError())};
    keepOnly(**module, names);
    return write(**module);
  }

  const MachineSpec &spec;
  const llvm::CodeGenFileType file;
  Cancellation *const cancellation;
};
} // namespace

llvm::FailureOr<std::vector<std::string>> logitile::writeParts(llvm::Module &module, const MachineSpec &spec, llvm::CodeGenFileType file,
                                                               std::string &error, Cancellation *cancellation) {
  Writer writer(spec, file, cancellation);
  std::vector<Part> parts;
  if (module.getInstructionCount() < kFewInstructions)
    parts.push_back(writer.write(module));
  else
    llvm::append_range(parts, writer.writeAll(module));
  std::vector<std::string> codes;
  for (Part &part : parts) {
    if (!(error = part.error).empty())
      return llvm::failure();
    codes.push_back(std::move(part.code));
  }
  return codes;
}
