// GlobalMemory.h - the buffers that kernels may access, and the last writer and readers of each
// word. It outlives launches: memory that one launch wrote is initialised for the next.
#pragma once
#include "emulator/core/Fiber.h"
#include "emulator/block/Order.h"
#include "emulator/block/SharedMemory.h"
#include <deque>
#include <memory>

namespace logitile::emulator {
struct Touched;

/// Whether global memory is initialised when it is added.
enum class Contents { defined, undefined };

class GlobalMemory {
public:
  /// Adds a buffer of 'bytes' bytes at 'data', with a name. A buffer with undefined contents must
  /// be written before it is read.
  void add(std::string name, void *data, size_t bytes, Contents contents = Contents::defined);

  struct Buffer;
  /// The buffer that holds all of these bytes, or null.
  Buffer *find(const void *address, uint64_t bytes);
  /// A text about an address outside of all buffers: the nearest buffer, and the distance from it.
  std::string describe(const void *address) const;
  static uint64_t offsetIn(const Buffer &buffer, const void *address);
  static const std::string &nameOf(const Buffer &buffer);

  /// Accesses of a launch are ordered after those of earlier ones.
  void startLaunch() {
    firstBlock = nextBlock;
    releases.clear();
  }
  uint32_t startBlock() { return nextBlock++; }
  /// The linear index, in its launch, of the block with a number of 'startBlock'.
  uint32_t linearIndexOf(uint32_t block) const { return block - firstBlock; }
  void check(Block &block, const Access &access, Buffer &buffer, uint64_t offset, uint64_t bytes);

  Releases releases; // of the launch
  KeptStacks stacks; // beside the buffers, local memory

private:
  struct Touch {
    uint32_t block, time, actor, op;
  };
  /// The last write and the last read of one word; reads by several blocks are kept as such.
  struct Word {
    Touch write, read;
    uint32_t other; // where another write is that is not ordered before the last one, as both are strong; 0: nowhere yet
    uint8_t written, initialised, readBytes;
    Strength writeStrength, readStrength; // of reads the weakest
    bool severalBlocks;
  };
  struct Write {
    Touch touch;
    uint8_t bytes = 0; // 0: there is none
    Strength strength;
  };
  struct Page;
  Word &wordOf(Buffer &buffer, uint64_t index);
  bool isOrdered(Block &block, const Access &access, const Touch &touch) const;
  void checkWrite(Block &block, const Access &access, const Touched &touched, const Write &write, uint8_t bytes,
                  const uint8_t *word) const;
  void noteWrite(Block &block, const Access &access, Word &word, uint8_t bytes);
  void noteRead(Block &block, const Access &access, Word &word, uint8_t bytes);
  void checkWord(Block &block, const Access &access, Buffer &buffer, uint64_t index, uint8_t bytes);

  std::deque<Buffer> buffers;
  std::deque<Write> others = {Write()}; // the first stands for none
  Buffer *recent = nullptr;
  uint32_t firstBlock = 1, nextBlock = 1;
};

/// Words come in pages, so that a large buffer costs what kernels touch of it.
struct GlobalMemory::Page {
  static constexpr uint64_t kWords = 1024;
  std::array<Word, kWords> words;
};

struct GlobalMemory::Buffer {
  std::string name;
  uint8_t *data;
  size_t bytes;
  Contents contents;
  std::vector<std::unique_ptr<Page>> pages;
};
} // namespace logitile::emulator
