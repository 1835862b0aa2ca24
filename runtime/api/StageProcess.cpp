// StageProcess.cpp - both sides of the process that reads a text. They pass text, answer and
// messages as files in memory, which, unlike pipes, need no reader meanwhile.
#include "runtime/api/StageProcess.h"
#include "compiler/Text/Confinement.h"
#include "runtime/engine/Engine.h"
#include "runtime/logitile.h"
#include "runtime/support/OwnFolder.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
using namespace logitile;

/// Asks for a plan in the place of a stage.
constexpr std::string_view kRun = "run";
/// The first byte of an answer; after kRefused come the stage that failed, a line break and the
/// error.
constexpr char kMade = '+', kRefused = '-';

static bool writeAll(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

static std::string readAll(int file) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

// ---- who asks -----------------------------------------------------------------------------------

namespace {
/// A file in memory. Its number is none of the first three, which the other process gets.
class MemoryFile {
public:
  MemoryFile() {
    int made = ::memfd_create("logitile-stage", MFD_CLOEXEC);
    number = made < 0 ? -1 : ::fcntl(made, F_DUPFD_CLOEXEC, 3);
    if (made >= 0)
      ::close(made);
  }
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (number >= 0)
      ::close(number);
  }
  /// From its start.
  std::string text() const {
    ::lseek(number, 0, SEEK_SET);
    return readAll(number);
  }
  int number;
};
} // namespace

/// 0, or what is wrong as a number of errno. No signal is blocked there, whatever this thread
/// blocks.
static int spawn(const std::string &path, const MemoryFile (&files)[3], char *const *arguments, pid_t &process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int i = 0; i < 3; ++i)
    ::posix_spawn_file_actions_adddup2(&actions, files[i].number, i);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  int error = ::posix_spawn(&process, path.c_str(), &actions, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

static Status refusal(std::string_view stage, std::string text) {
  Error error;
  error.code = ErrorCode::Compile;
  error.stage = stage;
  error.text = text.substr(0, text.find_last_not_of('\n') + 1);
  return Status(std::move(error));
}

/// What the process answers to a text, a stage and two more arguments.
static Result<std::string> ask(const std::string &text, Stage from, std::string last, std::string only) {
  auto failed = [](const std::string &what, int error) { return Status(ErrorCode::Internal, what + ": " + std::strerror(error)); };
  MemoryFile files[3];
  for (const MemoryFile &file : files)
    if (file.number < 0)
      return failed("no file in memory could be created", errno);
  if (!writeAll(files[0].number, text) || ::lseek(files[0].number, 0, SEEK_SET) != 0)
    return failed("a text could not be passed on", errno);
  std::string path = besideLibrary("logitile-stage"), first(stageName(from));
  char *arguments[] = {path.data(), first.data(), last.data(), only.data(), nullptr};
  pid_t process = 0;
  if (int error = spawn(path, files, arguments, process))
    return failed("'" + path + "', which reads texts of stages, could not be started", error);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  std::string answer = files[1].text();
  if (!answer.empty() && answer.front() == kMade)
    return answer.substr(1);
  if (size_t line = answer.find('\n'); !answer.empty() && line != std::string::npos)
    return refusal(answer.substr(1, line - 1), answer.substr(line + 1));
  std::string reason = files[2].text();
  if (reason.empty())
    reason = "error: this text is more than the compiler can take: the process that read it ended without a word";
  return refusal(stageName(from), reason);
}

Result<std::string> logitile::stageInProcess(const std::string &text, Stage from, Stage to, const std::string &kernel) {
  return ask(text, from, std::string(stageName(to)), kernel);
}
Result<std::string> logitile::planInProcess(const std::string &text, Stage from, const std::string &target) {
  return ask(text, from, std::string(kRun), target);
}

// ---- who answers --------------------------------------------------------------------------------

int logitile::runStageProcess(int count, char **arguments) {
  std::optional<Stage> from, to;
  bool isRun = count == 4 && arguments[2] == kRun;
  if (count == 4) {
    from = parseStage(arguments[1]);
    to = parseStage(arguments[2]);
  }
  if (!from || (!to && !isRun)) {
    writeAll(STDERR_FILENO, "usage: logitile-stage FROM TO KERNEL, or logitile-stage FROM run TARGET\n");
    return 2;
  }
  confineProcess();
  const std::string text = readAll(STDIN_FILENO);
  Result<std::string> made = isRun ? Engine::planBytes(text, *from, arguments[3]) : Engine::stageText(text, *from, *to, arguments[3]);
  std::string answer = made.isOk() ? kMade + *made : kRefused + made.status().error().stage + "\n" + made.status().error().text;
  return writeAll(STDOUT_FILENO, answer) ? 0 : 1;
}
