// Report.cpp - the text of reports, and counting of repeated ones. It does not decide what is a
// fault.
#include "emulator/core/Report.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cstdio>
#include <iterator>

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
  case Fault::proxyFence:
    return "proxy-fence";
  case Fault::misuse:
    return "misuse";
  case Fault::deadlock:
    return "deadlock";
  case Fault::endless:
    return "endless";
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
    text += "\n  " + party.action + " by " + party.who + ", '" + party.instruction + "'" +
            (party.source.operation.empty() ? "" : " of " + party.source.operation) + " at " + party.source.text();
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

namespace {
constexpr int kLastRank = 3;
int rankOf(const Report &report) {
  switch (report.fault) {
  case Fault::race:
    return 0;
  case Fault::inFlight:
    return 1;
  case Fault::uninitialised:
    return kLastRank;
  default:
    return 2;
  }
}

/// The same for copies of the same instructions; "" where an instruction has no place, so that
/// nothing tells copies.
std::string instructionsOf(const Report &report) {
  std::string text = std::string(nameOf(report.fault)) + nameOf(report.space) + report.object;
  for (const Party &party : report.parties) {
    if (party.source.places.empty())
      return {};
    text += "\n" + party.action + party.instruction + party.source.operation + party.source.text();
  }
  return text;
}
} // namespace

std::vector<Report> Findings::take() {
  std::vector<Report> taken;
  std::map<std::string, size_t> numbers;
  for (Report &report : reports) {
    const std::string instructions = instructionsOf(report);
    auto [found, isNew] = numbers.try_emplace(instructions, taken.size());
    if (isNew || instructions.empty())
      taken.push_back(std::move(report));
    else
      taken[found->second].count += report.count;
  }
  reports.clear();
  known.clear();
  std::vector<Report> ordered;
  for (int rank = 0; rank <= kLastRank; ++rank)
    std::ranges::copy_if(taken, std::back_inserter(ordered), [&](const Report &report) { return rankOf(report) == rank; });
  return ordered;
}

std::string jsonOf(const std::vector<Report> &reports) {
  namespace json = llvm::json;
  json::Array array;
  for (const Report &report : reports) {
    json::Array parties;
    for (const Party &party : report.parties) {
      json::Array places;
      for (const Place &place : party.source.places)
        places.push_back(json::fixUTF8(place.text()));
      parties.push_back(json::Object{{"who", party.who},
                                     {"action", party.action},
                                     {"instruction", party.instruction},
                                     {"operation", party.source.operation},
                                     {"places", std::move(places)}});
    }
    array.push_back(json::Object{{"kind", nameOf(report.fault)},
                                 {"space", nameOf(report.space)},
                                 {"object", report.object},
                                 {"address", static_cast<int64_t>(report.address)},
                                 {"block", json::Array{report.block[0], report.block[1], report.block[2]}},
                                 {"detail", report.detail},
                                 {"count", static_cast<int64_t>(report.count)},
                                 {"parties", std::move(parties)},
                                 {"text", json::fixUTF8(report.text())}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(array));
  return text;
}
} // namespace logitile::emulator
