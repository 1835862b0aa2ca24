// SharedMemory.h - a block's shared memory, with the last writer and the readers of each word. It
// decides which accesses are errors. The files of the instructions make the accesses.
#pragma once
#include "emulator/block/Order.h"
#include <array>
#include <optional>

namespace logitile::emulator {
class Block;

/// One access of memory by a thread, or by an engine that works for the thread.
struct Access {
  Thread &thread;
  uint32_t actor;
  const Op &op;
  AccessKind kind;
  /// For a plain store: its address, and the bytes that it stores. Null for other accesses.
  const uint8_t *address = nullptr, *value = nullptr;
  bool isAsync = false; // through the asynchronous proxy

  /// Whether this store writes the same values as an earlier store by a lane of the same warp, at
  /// the same instruction. 'actor' and 'op' are those of the earlier store, 'word' is the memory
  /// that it has left, and 'bytes' is the mask of bytes to compare. CUDA programming guide, "SIMT
  /// architecture": if lanes of a warp store to one place with one instruction, one of the stores
  /// succeeds. If their values are equal, it makes no difference which one.
  bool repeats(const uint8_t *word, uint8_t bytes, uint32_t actor, uint32_t op) const;
};

class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Kernels use shared addresses as 32-bit integers. So the addresses of the window fit into 32
  /// bits. The window starts at a multiple of its size.
  static constexpr uint32_t kWindowBytes = 256 * 1024;
  /// CUDA programming guide, table of limits: 228 KiB per multiprocessor on sm_90, of which the
  /// system uses 1 KiB.
  static constexpr uint32_t kMaxBytes = 227 * 1024;

  bool isValid() const { return window != nullptr; }
  uint8_t *base() const { return window; }
  uint32_t offsetOf(const void *address) const { return static_cast<uint32_t>(static_cast<const uint8_t *>(address) - window); }
  /// Whether an address is in the window. The address may be beyond the block's shared memory.
  bool isNear(const void *address) const;
  bool contains(const void *address, uint64_t bytes) const;

  /// Prepares for the next block: no byte counts as written, and all bytes are poison.
  void reset(uint32_t bytes, uint32_t warps);
  void check(Block &block, const Access &access, uint32_t offset, uint32_t bytes);

private:
  struct Write {
    uint32_t time, actor, op;
    uint8_t bytes = 0; // a mask; 0: there is no write
    Strength strength;
    bool isAsync = false;
  };
  /// The kinds of readers. Each kind has its own times.
  enum Reader : uint32_t { threads, products, bulkCopies, kReaders };
  static uint32_t actorOf(const Actors &actors, Reader reader, uint32_t warp, uint32_t lane);
  struct Word {
    Write write;         // the last one
    uint8_t initialised; // mask of the bytes that have been written
    std::array<uint32_t, kReaders> readers; // masks of the warps that have read the word since the write
    uint32_t other; // index in 'others' of a strong write that is not ordered before the last one, also strong; 0: none yet
  };
  struct Read {
    uint32_t time, op;
    uint32_t lanes;      // index in 'laneTimes', once several lanes have read the word; 0: none yet
    uint8_t lane, bytes; // lane: kSeveral if more than one lane has read; bytes: a mask
    Strength strength;   // of the weakest read
  };
  /// For each lane of a warp, the time at which it last read a word, plus 1; 0: it has not read it.
  using LaneTimes = std::array<uint32_t, 32>;
  static constexpr uint8_t kSeveral = 0xff;

  void checkWrites(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  void checkReads(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  /// A lane of 'warp' whose read is not ordered before the access; none if all reads are ordered.
  std::optional<uint32_t> unorderedLane(const Block &block, const Access &access, Reader reader, const Read &read, uint32_t warp) const;
  void checkReadsOf(Block &block, const Access &access, Reader reader, uint32_t word, uint8_t bytes);
  void noteSeveral(Read &read);
  void noteRead(Block &block, const Access &access, uint32_t word, uint8_t bytes);
  void noteWrite(Block &block, const Access &access, uint32_t word, uint8_t bytes);

  uint8_t *window = nullptr;
  uint32_t size = 0, warps = 0;
  std::vector<Word> words;
  std::array<std::vector<Read>, kReaders> reads; // by Reader: one per word and warp; empty before the first read
  std::vector<LaneTimes> laneTimes;
  std::vector<Write> others;
};
} // namespace logitile::emulator
