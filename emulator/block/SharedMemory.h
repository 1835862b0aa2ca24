// SharedMemory.h - a block's shared memory, and the last writer and readers of each word. This file
// decides what is an error; instructions make the accesses.
#pragma once
#include "emulator/block/Order.h"
#include <array>
#include <optional>

namespace logitile::emulator {
class Block;

/// One access of memory by a thread, or by an engine on behalf of it.
struct Access {
  Thread &thread;
  uint32_t actor;
  const Op &op;
  AccessKind kind;
  /// Of a plain store: where it goes and what it stores; null of others.
  const uint8_t *address = nullptr, *value = nullptr;
  bool isAsync = false; // through the asynchronous proxy

  /// CUDA programming guide, "SIMT architecture": of the lanes of a warp that store to one place by
  /// one instruction, one succeeds. With equal values nobody can tell which. 'word' holds what an
  /// earlier store of 'actor' at 'op' of the same block has left.
  bool repeats(const uint8_t *word, uint8_t bytes, uint32_t actor, uint32_t op) const;
};

class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Kernels take shared addresses as 32-bit integers, so the window lies where those suffice, at a
  /// multiple of its size.
  static constexpr uint32_t kWindowBytes = 256 * 1024;
  /// CUDA programming guide, table of limits: 228 KiB per multiprocessor on sm_90, 1 KiB of it the
  /// system's.
  static constexpr uint32_t kMaxBytes = 227 * 1024;

  bool isValid() const { return window != nullptr; }
  uint8_t *base() const { return window; }
  uint32_t offsetOf(const void *address) const { return static_cast<uint32_t>(static_cast<const uint8_t *>(address) - window); }
  /// Whether an address is in the window, even beyond what the block has.
  bool isNear(const void *address) const;
  bool contains(const void *address, uint64_t bytes) const;

  /// For the next block: nothing is written, all bytes are poison.
  void reset(uint32_t bytes, uint32_t warps);
  void check(Block &block, const Access &access, uint32_t offset, uint32_t bytes);

private:
  struct Write {
    uint32_t time, actor, op;
    uint8_t bytes = 0; // 0: there is none
    Strength strength;
    bool isAsync = false;
  };
  /// Who reads, as each kind has its own times.
  enum Reader : uint32_t { threads, products, bulkCopies, kReaders };
  static uint32_t actorOf(const Actors &actors, Reader reader, uint32_t warp, uint32_t lane);
  struct Word {
    Write write;         // the last one
    uint8_t initialised; // bytes
    std::array<uint32_t, kReaders> readers; // warps with a read since the write
    uint32_t other; // where another write is that is not ordered before the last one, as both are strong; 0: nowhere yet
  };
  struct Read {
    uint32_t time, op;
    uint32_t lanes;      // where the times of all lanes are, once several have read the word; 0: nowhere yet
    uint8_t lane, bytes; // kSeveral where more than one lane has read
    Strength strength;   // the weakest
  };
  /// When each lane of a warp has read a word, plus 1; 0: it has not.
  using LaneTimes = std::array<uint32_t, 32>;
  static constexpr uint8_t kSeveral = 0xff;

  void checkWrites(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  void checkReads(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  /// A lane of 'warp' whose read nothing orders before the access; none where all are ordered.
  std::optional<uint32_t> unorderedLane(const Block &block, const Access &access, Reader reader, const Read &read, uint32_t warp) const;
  void checkReadsOf(Block &block, const Access &access, Reader reader, uint32_t word, uint8_t bytes);
  void noteSeveral(Read &read);
  void noteRead(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  void noteWrite(Block &block, const Access &access, uint32_t word, uint8_t bytes);

  uint8_t *window = nullptr;
  uint32_t size = 0, warps = 0;
  std::vector<Word> words;
  std::array<std::vector<Read>, kReaders> reads; // one per word and warp; empty before the first
  std::vector<LaneTimes> laneTimes;
  std::vector<Write> others;
};
} // namespace logitile::emulator
