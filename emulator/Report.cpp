// Report.cpp - the text of reports, and counting of repeated ones. Not: what is a fault.
#include "emulator/Report.h"
#include <cstdio>

namespace logitile::emulator {
std::string Place::text() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }

std::string Source::text() const {
  if (places.empty())
    return "unknown location";
  std::string text = places.front().text();
  for (size_t i = 1; i < places.size(); ++i)
    text += ", from " + places[i].text();
  return text;
}

const char *nameOf(Fault fault) {
  switch (fault) {
  case Fault::race:
    return "race";
  case Fault::inFlight:
    return "in-flight";
  case Fault::uninitialised:
    return "uninitialised";
  case Fault::outOfBounds:
    return "out-of-bounds";
  case Fault::misaligned:
    return "misaligned";
  case Fault::divergence:
    return "divergence";
  case Fault::barrierDivergence:
    return "barrier-divergence";
  case Fault::barrierMisuse:
    return "barrier-misuse";
  case Fault::deadlock:
    return "deadlock";
  case Fault::trap:
    return "trap";
  }
  return "";
}

const char *nameOf(Space space) { return space == Space::shared ? "shared" : space == Space::global ? "global" : "no memory"; }

std::string Report::text() const {
  std::string text = std::string(nameOf(fault)) + " in block (" + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " +
                     std::to_string(block[2]) + ")";
  if (space != Space::none) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    text += std::string(", ") + nameOf(space) + " memory " + object + offset;
  }
  if (!detail.empty())
    text += ": " + detail;
  for (const Party &party : parties)
    text += "\n  " + party.action + " by " + party.who + ", '" + party.instruction + "' at " + party.source.text();
  if (count > 1)
    text += "\n  seen " + std::to_string(count) + " times";
  return text;
}

bool Findings::isKnown(Fault fault, uint32_t op, uint32_t other) {
  auto found = known.find({fault, op, other});
  if (found == known.end())
    return false;
  ++reports[found->second].count;
  return true;
}

void Findings::add(Report report, uint32_t op, uint32_t other) {
  known[{report.fault, op, other}] = reports.size();
  reports.push_back(std::move(report));
}
} // namespace logitile::emulator
