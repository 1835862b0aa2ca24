// SharedMemory.cpp - the happens-before check of shared memory, word by word with masks of bytes.
// For writes to different bytes of one word only the last is kept, for unordered strong ones the
// last two. So a race with an earlier access can be missed, but nothing correct is reported.
#include "emulator/block/SharedMemory.h"
#include "emulator/block/Block.h"
#include <algorithm>
#include <sys/mman.h>

namespace logitile::emulator {
namespace {
Touched touchedWord(uint32_t index) { return {Space::shared, index * 4ull, {}}; }
} // namespace

uint32_t SharedMemory::actorOf(const Actors &actors, Reader reader, uint32_t warp, uint32_t lane) {
  const uint32_t thread = warp * 32 + lane;
  return reader == products ? actors.productEngineOf(warp) : reader == bulkCopies ? actors.bulkReadsOf(thread) : thread;
}

SharedMemory::SharedMemory() {
  void *mapped = mmap(nullptr, 2 * kWindowBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  auto *low = static_cast<uint8_t *>(mapped);
  window = low + (-reinterpret_cast<uintptr_t>(low) & (kWindowBytes - 1));
  if (window > low)
    munmap(low, window - low);
  if (const size_t rest = low + kWindowBytes - window)
    munmap(window + kWindowBytes, rest);
}

SharedMemory::~SharedMemory() {
  if (window)
    munmap(window, kWindowBytes);
}

bool SharedMemory::isNear(const void *address) const {
  const auto *byte = static_cast<const uint8_t *>(address);
  return byte >= window && byte < window + kWindowBytes;
}

bool SharedMemory::contains(const void *address, uint64_t bytes) const {
  return isNear(address) && bytes <= size && offsetOf(address) <= size - bytes;
}

void SharedMemory::reset(uint32_t bytes, uint32_t warpCount) {
  size = bytes;
  warps = warpCount;
  words.assign((bytes + 3) / 4, Word{});
  for (std::vector<Read> &ofKind : reads)
    ofKind.clear();
  laneTimes.resize(1); // the first stands for none
  others.resize(1);
  std::memset(window, 0xff, bytes);
}

void SharedMemory::check(Block &block, const Access &access, uint32_t offset, uint32_t bytes) {
  const uint32_t end = offset + bytes;
  while (offset < end) {
    const uint32_t word = offset / 4, next = std::min(end, (word + 1) * 4);
    const auto mask = static_cast<uint8_t>(((1u << (next - offset)) - 1) << offset % 4);
    checkWrites(block, access, word, mask);
    if (access.kind != AccessKind::read)
      checkReads(block, access, word, mask);
    if (access.kind == AccessKind::read && access.thread.block == &block)
      noteRead(block, access, word, mask);
    else if (access.kind != AccessKind::read)
      noteWrite(block, access, word, mask);
    offset = next;
  }
}

void SharedMemory::checkWrites(Block &block, const Access &access, uint32_t index, uint8_t bytes) {
  const Word &word = words[index];
  if (access.kind != AccessKind::write && (bytes & ~word.initialised))
    block.reportUninitialised(access, touchedWord(index));
  auto check = [&](const Write &write) {
    if ((write.bytes & bytes) && access.isAsync && !write.isAsync && block.knows(access.thread, write.actor, write.time) &&
        !block.isFenced(access.thread, write.actor, write.time))
      block.reportProxyFence(access, touchedWord(index), {write.actor, write.op, write.time, AccessKind::write});
    if ((write.bytes & bytes) && !areStrong(write.strength, strengthOf(access.op), true) &&
        !block.knows(access.thread, write.actor, write.time) && !access.repeats(window + index * 4, bytes, write.actor, write.op))
      block.reportRace(access, touchedWord(index), {write.actor, write.op, write.time, AccessKind::write});
  };
  check(word.write);
  if (word.other)
    check(others[word.other]);
}

std::optional<uint32_t> SharedMemory::unorderedLane(const Block &block, const Access &access, Reader reader, const Read &read,
                                                    uint32_t warp) const {
  auto isKnown = [&](uint32_t lane, uint32_t time) {
    return block.knows(access.thread, actorOf(block.actors, reader, warp, lane), time);
  };
  if (read.lane != kSeveral)
    return isKnown(read.lane, read.time) ? std::nullopt : std::optional<uint32_t>(read.lane);
  const LaneTimes &times = laneTimes[read.lanes];
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (times[lane] && !isKnown(lane, times[lane] - 1))
      return lane;
  return std::nullopt;
}

void SharedMemory::checkReads(Block &block, const Access &access, uint32_t index, uint8_t bytes) {
  for (Reader reader : {threads, products, bulkCopies})
    checkReadsOf(block, access, reader, index, bytes);
}

void SharedMemory::checkReadsOf(Block &block, const Access &access, Reader reader, uint32_t index, uint8_t bytes) {
  for (uint32_t left = words[index].readers[reader]; left; left &= left - 1) {
    const uint32_t warp = std::countr_zero(left);
    const Read &read = reads[reader][index * warps + warp];
    if (!(read.bytes & bytes) || areStrong(read.strength, strengthOf(access.op), true))
      continue;
    if (const std::optional<uint32_t> lane = unorderedLane(block, access, reader, read, warp))
      block.reportRace(access, touchedWord(index),
                       {actorOf(block.actors, reader, warp, *lane), read.op, read.time, AccessKind::read});
  }
}

/// A second lane reads: from now on every lane has a time of its own, for each comes to the next
/// barrier at another time.
void SharedMemory::noteSeveral(Read &read) {
  if (!read.lanes) {
    read.lanes = laneTimes.size();
    laneTimes.emplace_back();
  }
  laneTimes[read.lanes].fill(0);
  laneTimes[read.lanes][read.lane] = read.time + 1;
  read.lane = kSeveral;
}

void SharedMemory::noteRead(Block &block, const Access &access, uint32_t index, uint8_t bytes) {
  const uint32_t warp = access.thread.warpIndex, bit = 1u << warp;
  Word &word = words[index];
  const Engine engine = block.actors.engineOf(access.actor);
  const Reader reader = engine == Engine::products ? products : engine == Engine::bulkReads ? bulkCopies : threads;
  if (reads[reader].empty())
    reads[reader].resize(words.size() * warps);
  Read &read = reads[reader][index * warps + warp];
  const auto lane = static_cast<uint8_t>(reader == products ? 0 : access.thread.lane);
  if (!(word.readers[reader] & bit)) {
    read.lane = lane;
    read.bytes = 0;
    read.strength = Strength::device;
  } else if (read.lane != lane && read.lane != kSeveral) {
    noteSeveral(read);
  }
  if (read.lane == kSeveral)
    laneTimes[read.lanes][lane] = block.now + 1;
  read.bytes |= bytes;
  read.strength = std::min(read.strength, strengthOf(access.op));
  read.time = block.now;
  read.op = access.op.index;
  word.readers[reader] |= bit;
}

void SharedMemory::noteWrite(Block &block, const Access &access, uint32_t index, uint8_t bytes) {
  Word &word = words[index];
  const Strength strength = strengthOf(access.op);
  if (strength != Strength::weak && word.write.bytes && !block.knows(access.thread, word.write.actor, word.write.time)) {
    if (!word.other) {
      word.other = static_cast<uint32_t>(others.size());
      others.emplace_back();
    }
    others[word.other] = word.write;
  } else if (word.other && (strength == Strength::weak || block.knows(access.thread, others[word.other].actor, others[word.other].time))) {
    others[word.other].bytes = 0;
  }
  word.write = {block.now, access.actor, access.op.index, bytes, strength, access.isAsync};
  word.initialised |= bytes;
  word.readers.fill(0);
}
} // namespace logitile::emulator
