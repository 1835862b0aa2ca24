// Child.h - runs a part of a test in a process of its own.
#pragma once
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace logitile {
/// Runs 'body' in a forked child and returns its exit status; -1 where it crashed or hung.
template <typename Body> int inChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    quick_exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
} // namespace logitile
