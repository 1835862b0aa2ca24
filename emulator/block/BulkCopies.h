// BulkCopies.h - unfinished copies of the asynchronous proxy between global and shared memory, and
// the groups of each thread. The instructions are in BulkCopies.cpp.
#pragma once
#include "emulator/core/Instruction.h"
#include "emulator/core/TensorMap.h"
#include <deque>
#include <vector>

namespace logitile::emulator {
/// A box of a tensor in global memory, dense in shared memory.
struct Tile {
  uint8_t *global = nullptr; // of element 0 of the tensor
  uint32_t rank = 1, elementBytes = 1;
  std::array<uint64_t, 5> sizes = {1, 1, 1, 1, 1}, strides = {}; // strides in bytes
  std::array<uint32_t, 5> box = {1, 1, 1, 1, 1};
  std::array<int64_t, 5> at = {}; // of the box in the tensor
  uint32_t shared = 0;            // offset
  uint32_t span = 16;
  bool fillsWithNan = false;
  TensorType type = TensorType::u8;

  uint32_t rowBytes() const { return box[0] * elementBytes; }
  uint32_t rows() const { return box[1] * box[2] * box[3] * box[4]; }
  uint32_t bytes() const { return rowBytes() * rows(); }
};

/// Up to 16 bytes of a tile. Those outside of the tensor are before 'skip' or from 'skip' + 'bytes'
/// on.
struct Piece {
  uint32_t shared; // offset of the 16 bytes
  uint8_t *global; // of the bytes inside
  uint32_t skip, bytes;
};
/// The pieces of a tile, in its order in global memory.
std::vector<Piece> piecesOf(const Tile &tile);

/// A copy to shared memory that has not landed.
struct BulkLoad {
  Tile tile;
  uint32_t mbarrier, engine, time; // of the block whose shared memory it goes to
  Thread *thread;                  // that asked for it, perhaps of another block
  const Op *op;
};

/// Copies from shared memory of one thread.
struct BulkStores {
  struct Store {
    Tile tile;
    bool adds;
    uint32_t time;
    const Op *op;
    std::vector<uint8_t> bytes = {}; // once the source has been read: of a box outside of its tensor, none
    bool isRead = false;
  };
  std::deque<Store> stores;
  std::deque<uint32_t> groups; // the time of each commit that nobody has waited for
};
} // namespace logitile::emulator
