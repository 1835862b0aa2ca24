// Traffic.cpp - sectors of global requests and wavefronts of shared ones. Lanes run one after
// another here, so requests are matched by how often each lane has been at the instruction.
#include "emulator/block/Traffic.h"
#include <algorithm>
#include <bit>

namespace logitile::emulator {
namespace {
constexpr uint32_t kSectorBytes = 32, kBanks = 32;
constexpr uint32_t kSpaces = 2; // global and shared
constexpr uint32_t kMostWords = 64; // of one bank: 32 lanes, each at most across two words of it
constexpr size_t kMostOpen = 64;    // lanes that skip an instruction leave requests open

/// Passes over the banks that lanes [from, to) need: the most distinct words in one bank.
uint32_t wavefronts(const Traffic::Request &request, uint32_t from, uint32_t to) {
  uint64_t words[kBanks][kMostWords];
  std::array<uint8_t, kBanks> counts = {};
  for (uint32_t lane = from; lane < to; ++lane) {
    if (!(request.mask >> lane & 1))
      continue;
    const uint64_t first = request.addresses[lane] / 4, last = (request.addresses[lane] + request.bytes - 1) / 4;
    for (uint64_t word = first; word <= last; ++word) {
      uint64_t *bank = words[word % kBanks];
      uint8_t &count = counts[word % kBanks];
      if (std::find(bank, bank + count, word) == bank + count)
        bank[count++] = word;
    }
  }
  return *std::max_element(counts.begin(), counts.end());
}
} // namespace

void Traffic::reset(uint32_t warps, uint32_t ops, Counters &into) {
  opCount = ops;
  counters = &into;
  queues.clear();
  queues.resize(static_cast<size_t>(warps) * ops * kSpaces);
}

void Traffic::note(Space space, uint32_t warp, uint32_t op, uint32_t lane, uint32_t live, uint64_t address, uint64_t bytes) {
  // An asynchronous copy asks both memories.
  std::unique_ptr<Queue> &queue = queues[(static_cast<size_t>(warp) * opCount + op) * kSpaces + (space == Space::shared)];
  if (!queue)
    queue = std::make_unique<Queue>(Queue{space, {}, 0, {}});
  const uint64_t turn = std::max(queue->lanes[lane], queue->counted);
  queue->lanes[lane] = turn + 1;
  if (turn - queue->counted == queue->open.size())
    queue->open.emplace_back();
  Request &request = queue->open[turn - queue->counted];
  request.mask |= 1u << lane;
  request.bytes = bytes;
  request.addresses[lane] = address;
  while (!queue->open.empty() && (queue->open.front().mask == live || queue->open.size() > kMostOpen))
    countFirst(*queue);
}

void Traffic::countFirst(Queue &queue) {
  if (queue.space == Space::shared)
    countShared(queue.open.front());
  else
    countGlobal(queue.open.front());
  queue.open.pop_front();
  ++queue.counted;
}

void Traffic::finish() {
  for (std::unique_ptr<Queue> &queue : queues)
    while (queue && !queue->open.empty())
      countFirst(*queue);
}

void Traffic::countShared(const Request &request) {
  // Lanes with 8 and 16 bytes are served in halves and quarters of a warp.
  const uint32_t lanes = request.bytes <= 4 ? 32 : request.bytes <= 8 ? 16 : 8;
  for (uint32_t from = 0; from < 32; from += lanes) {
    const uint32_t passes = wavefronts(request, from, from + lanes);
    counters->sharedWavefronts += passes;
    counters->bankConflicts += passes ? passes - 1 : 0;
  }
}

void Traffic::countGlobal(const Request &request) {
  std::vector<uint64_t> sectors;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (request.mask >> lane & 1)
      for (uint64_t sector = request.addresses[lane] / kSectorBytes; sector <= (request.addresses[lane] + request.bytes - 1) / kSectorBytes;
           ++sector)
        sectors.push_back(sector);
  std::sort(sectors.begin(), sectors.end());
  counters->globalSectors += std::unique(sectors.begin(), sectors.end()) - sectors.begin();
}
} // namespace logitile::emulator
