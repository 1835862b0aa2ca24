// BulkCopies.h - unfinished copies of the asynchronous proxy between global and shared memory, and
// the groups of copies of each thread. The instructions are in BulkCopies.cpp.
#pragma once
#include "emulator/core/Instruction.h"
#include "emulator/core/TensorMap.h"
#include <deque>
#include <vector>

namespace logitile::emulator {
/// The two places of a copy: a box of a tensor in global memory, and the same elements without gaps
/// in shared memory.
struct Tile {
  uint8_t *global = nullptr; // address of element 0 of the tensor
  uint32_t rank = 1, elementBytes = 1;
  std::array<uint64_t, 5> sizes = {1, 1, 1, 1, 1}, strides = {}; // strides in bytes
  std::array<uint32_t, 5> box = {1, 1, 1, 1, 1};
  std::array<int64_t, 5> at = {}; // place of the box in the tensor
  uint32_t shared = 0;            // offset of the first byte in shared memory
  uint32_t span = 16;
  bool fillsWithNan = false;
  TensorType type = TensorType::u8;

  uint32_t rowBytes() const { return box[0] * elementBytes; }
  uint32_t rows() const { return box[1] * box[2] * box[3] * box[4]; }
  uint32_t bytes() const { return rowBytes() * rows(); }
};

/// 16 bytes of a tile. Those inside the tensor are 'bytes' bytes, after the first 'skip' bytes. All
/// others are outside.
struct Piece {
  uint32_t shared; // offset of the 16 bytes
  uint8_t *global; // address of the bytes inside the tensor
  uint32_t skip, bytes;
};
/// The pieces of a tile, in the order that its elements have in global memory.
std::vector<Piece> piecesOf(const Tile &tile);

/// A copy to shared memory that has not landed.
struct BulkLoad {
  Tile tile;
  uint32_t mbarrier, engine, time; // all three are those of the block to which the copy goes
  Thread *thread;                  // that issued the copy; possibly of another block
  const Op *op;
};

/// One thread's copies from shared memory.
struct BulkStores {
  struct Store {
    Tile tile;
    bool adds;
    uint32_t time;
    const Op *op;
    std::vector<uint8_t> bytes = {}; // of the source, once it has been read; only those inside the tensor
    bool isRead = false;
  };
  std::deque<Store> stores;
  std::deque<uint32_t> groups; // the time of each commit whose group has not been waited for
};
} // namespace logitile::emulator
