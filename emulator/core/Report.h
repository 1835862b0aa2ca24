// Report.h - the emulator's report after a launch: faults of the kernel with their places. The
// memories and the barriers find the faults.
#pragma once
#include "runtime/device/KernelCounters.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace logitile::emulator {
/// One place in a text: of the kernel's IR or of the user's loss.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string text() const;
};

/// Where an instruction comes from: the kernel's own text first, then what it was inlined from, the
/// user's line last.
struct Source {
  std::vector<Place> places;
  std::string operation; // of the kernel's text, such as "logitile.project"; "" where the place is in no operation on tiles
  std::string text() const;
};

enum class Fault {
  race,              // two accesses of one word, one of them a write, that nothing orders
  inFlight,          // an access of memory that an asynchronous copy may still write
  uninitialised,     // a read of bytes that nobody wrote
  outOfBounds,       // an access outside of every buffer
  misaligned,        // an address that is not a multiple of what the instruction says
  divergence,        // lanes of a warp that do not meet at a warp-wide instruction
  barrierDivergence, // threads that do not meet at one barrier
  barrierMisuse,     // a barrier used against its protocol
  proxyFence,        // an access of the asynchronous proxy to what the generic proxy wrote, without a fence of proxies
  misuse,            // another instruction used against its rules
  deadlock,          // no thread can go on
  endless,           // a loop that does not end
  trap,              // a thread ends the kernel, or comes to what its code says nobody reaches
};
const char *nameOf(Fault fault);

enum class Space { none, shared, global };
const char *nameOf(Space space);

/// A thread or engine that is involved in a fault.
struct Party {
  std::string who;         // "thread 33 (warp 1, lane 1)" or "copy engine of thread 33"
  std::string action;      // "write", "read", "waits"
  std::string instruction; // as the kernel's IR calls it
  Source source;
};

/// One fault, seen 'count' times at the same pair of instructions. Copies of an instruction that a
/// compiler has made by unrolling are one instruction, if they have a place.
struct Report {
  Fault fault = Fault::race;
  Space space = Space::none;
  uint64_t address = 0; // offset into shared memory, or into the buffer 'object'
  std::string object;   // name of the global buffer
  std::array<uint32_t, 3> block = {0, 0, 0};
  std::vector<Party> parties;
  std::string detail;
  uint64_t count = 1;
  std::string text() const;
};

using Counters = KernelCounters;

/// Collects reports; the same fault at the same pair of instructions is counted, not repeated.
class Findings {
public:
  /// If there is a report for this fault at these two instructions, counts it once more. Returns
  /// whether there is one.
  bool isKnown(Fault fault, uint32_t op, uint32_t other);
  void add(Report report, uint32_t op, uint32_t other);
  bool isEmpty() const { return reports.empty(); }
  /// Returns the reports. Races come first, because they may cause other faults. Reads of
  /// uninitialised memory come last, because any other fault may cause them.
  std::vector<Report> take();

private:
  std::vector<Report> reports;
  std::map<std::tuple<Fault, uint32_t, uint32_t>, size_t> known;
};

/// JSON: a list of objects with the fields of a report; its text is "text", and parties have
/// "places" as texts.
std::string jsonOf(const std::vector<Report> &reports);
} // namespace logitile::emulator
