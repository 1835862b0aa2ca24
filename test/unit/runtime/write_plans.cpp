// write_plans.cpp - saves hand-made plans into the folder that is given, for tests in C and Python.
#include "runtime/plan/PlanFile.h"
#include "test/unit/runtime/RuntimePlans.h"
#include <filesystem>
#include <fstream>
using namespace logitile;
using namespace logitile::test;
using Gradients = PlanOptions::Gradients;

int main(int count, char **arguments) {
  if (count != 2)
    return 1;
  const std::pair<const char *, PlanOptions> plans[] = {{"forward", {Gradients::None, 8, 0, 1, true, false, true}},
                                                        {"early", {Gradients::Early, 8, 3, 1}},
                                                        {"split", {Gradients::Split, 8, 2, 1}}};
  for (const auto &[name, options] : plans) {
    std::ofstream file(std::filesystem::path(arguments[1]) / (std::string(name) + ".plan"), std::ios::binary);
    file << writePlan(makePlan(options), CallRules{Reduction::Mean, "target", -100, false});
    if (!file.flush())
      return 1;
  }
  return 0;
}
