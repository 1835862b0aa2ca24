// CpuModel.cpp - reads /proc/cpuinfo, once.
#include "runtime/cpu/CpuModel.h"
#include <fstream>
#include <sys/utsname.h>

static std::string readModel() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const size_t colon = line.find(':'), start = line.find_first_not_of(" \t", colon + 1);
    if (line.starts_with("model name") && colon != line.npos && start != line.npos)
      return line.substr(start, line.find_last_not_of(" \t") + 1 - start);
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

const std::string &logitile::cpuModel() {
  static const std::string model = readModel();
  return model;
}
