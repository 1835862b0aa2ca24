// Confinement.cpp - limits of a process, and its report when it ends early.
#include "compiler/Text/Confinement.h"
#include "dialect/Logitile.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include <sys/resource.h>
#include <unistd.h>
using namespace mlir;
using namespace logitile;

static bool isConfined = false;
static rlim_t seconds = kConfinedSeconds; // of processor time; the kernel raises its own limit each time it has told of it
static std::optional<Stage> stageOfText;

// The address sanitizer needs terabytes of addresses, and reports crashes itself.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kHasAddressSanitizer = true;
#else
constexpr bool kHasAddressSanitizer = false;
#endif
#else
constexpr bool kHasAddressSanitizer = false;
#endif

void logitile::noteStage(Stage stage) {
  if (isConfined) // others compile on several threads
    stageOfText = stage;
}

/// Leaves without running anything that could fail again.
[[noreturn]] static void leave(llvm::StringRef what, llvm::StringRef reason) {
  llvm::SmallString<4096> text;
  llvm::raw_svector_ostream stream(text);
  if (stageOfText)
    stream << stageName(*stageOfText) << ": ";
  stream << "error: " << what << ": " << reason << "\n";
  const auto *doing = static_cast<const llvm::PrettyStackTraceEntry *>(llvm::SavePrettyStackState());
  for (; doing; doing = doing->getNextEntry()) {
    stream << "note: in: ";
    doing->print(stream);
  }
  for (llvm::StringRef rest = text; !rest.empty();) {
    ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0)
      break;
    rest = rest.drop_front(written);
  }
  llvm::sys::Process::Exit(1, /*NoCleanup=*/true);
}

constexpr llvm::StringLiteral kTooMuch = "this text is more than the compiler can take";

static void leaveAtSignal(void *) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  bool isLate = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1) >= seconds;
  leave(kTooMuch, isLate ? "it takes too long" : "it crashes; please report it with this text");
}
static void leaveAtFatalError(void *, const char *reason, bool) { leave("LLVM cannot handle this code", reason); }
static void leaveWithoutMemory(void *, const char *, bool) { leave(kTooMuch, "it takes too much memory"); }

/// The limit that holds from now on.
static rlim_t limit(int resource, int64_t to) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_cur = std::min<rlim_t>({now.rlim_cur, static_cast<rlim_t>(to), resource == RLIMIT_CPU ? now.rlim_max - 1 : now.rlim_max});
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
  return now.rlim_cur;
}

void logitile::confineProcess() {
  llvm::install_fatal_error_handler(leaveAtFatalError);
  if (kHasAddressSanitizer)
    return;
  isConfined = true;
  llvm::install_bad_alloc_error_handler(leaveWithoutMemory);
  llvm::install_out_of_memory_new_handler();
  llvm::sys::AddSignalHandler(leaveAtSignal, nullptr); // before LLVM's own, which print the stack of the compiler
  limit(RLIMIT_AS, kConfinedBytes);
  seconds = limit(RLIMIT_CPU, kConfinedSeconds); // the first limit is told, the second one kills
  limit(RLIMIT_CORE, 0);
}

// ---- passes -------------------------------------------------------------------------------------

namespace {
/// What a pass does, for the notes of an error.
class PassNote : public llvm::PrettyStackTraceEntry {
public:
  PassNote(const Pass &pass, Operation *op) : pass(pass), op(op) {}
  void print(llvm::raw_ostream &stream) const override {
    stream << "pass '" << (pass.getArgument().empty() ? pass.getName() : pass.getArgument()) << "' on ";
    if (op)
      stream << "'" << op->getName() << "' at " << op->getLoc();
    stream << "\n";
  }

private:
  const Pass &pass;
  Operation *op;
};
} // namespace

void logitile::notePasses(MLIRContext &context) {
  if (!isConfined)
    return;
  context.registerActionHandler([](function_ref<void()> run, const tracing::Action &action) {
    const auto *execution = dyn_cast<PassExecutionAction>(&action);
    if (!execution)
      return run();
    PassNote note(execution->getPass(), execution->getOp());
    run();
  });
}

void logitile::notePasses(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LogitileDialect *) { notePasses(*context); });
}
