// BulkCopies.cpp - cp.async.bulk and cp.async.bulk.tensor. A copy to shared memory finishes when no
// thread can go on without it, one from shared memory when its thread waits for its group, or ends.
#include "emulator/block/BulkCopies.h"
#include "emulator/block/Access.h"
#include "emulator/block/Cluster.h"
#include "emulator/core/Families.h"
#include "emulator/core/Numbers.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
constexpr uint32_t kPieceBytes = 16, kTensorAlignment = 128, kMapAlignment = 64;

[[noreturn]] void misuse(Thread &thread, const Op &op, std::string detail) {
  thread.block->fail(thread.block->describe(Fault::misuse, thread, op, "copies", std::move(detail)));
}

uint32_t swizzled(uint32_t offset, uint32_t span) { return offset ^ (offset >> 7 & (span / 16 - 1)) << 4; }

void fillOutside(const Tile &tile, uint8_t *to) {
  std::memset(to, 0, kPieceBytes);
  for (uint32_t i = 0; tile.fillsWithNan && i < kPieceBytes; ++i) // the quiet NaN with all bits set but its sign
    to[i] = i % tile.elementBytes == tile.elementBytes - 1 ? 0x7f : 0xff;
}

// ---- operands -----------------------------------------------------------------------------------

Tile tileOf(Thread &thread, const Op &op, const Slot *frame, uint32_t mapSlot, uint32_t shared) {
  Block &block = *thread.block;
  const uint32_t rank = op.instruction.modifiers[0];
  const auto *where = get<const uint8_t *>(frame, mapSlot);
  if (reinterpret_cast<uintptr_t>(where) % kMapAlignment)
    misuse(thread, op, "the address of its tensor map is no multiple of 64");
  if (!block.stacks.holds(thread.fiber, where, sizeof(TensorMap)) && !block.launch.global.find(where, sizeof(TensorMap)))
    misuse(thread, op, "its tensor map is neither a parameter nor in a buffer");
  TensorMap map;
  std::memcpy(&map, where, sizeof map);
  if (map.mark != TensorMap::kMark)
    misuse(thread, op, "its operand is not a tensor map");
  if (map.rank != rank)
    misuse(thread, op, "it has " + std::to_string(rank) + " coordinates, but its tensor map " + std::to_string(map.rank) + " dimensions");
  Tile tile;
  tile.global = map.address;
  tile.rank = rank;
  tile.elementBytes = bytesOf(map.type);
  tile.shared = shared;
  tile.span = map.span;
  tile.fillsWithNan = map.fillsWithNan;
  tile.type = map.type;
  for (uint32_t i = 0; i < rank; ++i) {
    tile.sizes[i] = uint64_t{map.lastIndices[i]} + 1;
    tile.strides[i] = i ? map.strides[i - 1] : tile.elementBytes;
    tile.box[i] = map.box[i];
    tile.at[i] = get<int32_t>(frame, mapSlot + 1 + i);
  }
  return tile;
}

Tile linearTile(Thread &thread, const Op &op, uint8_t *global, uint32_t bytes, uint32_t shared) {
  if (!bytes || bytes % kPieceBytes)
    misuse(thread, op, std::to_string(bytes) + " bytes are no multiple of 16");
  requireAligned(thread, op, Space::global, global, kPieceBytes);
  Tile tile;
  tile.global = global;
  tile.sizes[0] = tile.box[0] = bytes;
  tile.strides[0] = 1;
  tile.shared = shared;
  return tile;
}

uint32_t sharedOffset(Thread &thread, const Op &op, const Slot *frame, uint32_t slot, uint32_t alignment) {
  const auto *address = get<const uint8_t *>(frame, slot);
  requireAligned(thread, op, Space::shared, address, alignment);
  return thread.block->shared.offsetOf(address);
}

/// Both check accesses of a copy: what its thread knows orders them, until somebody waits for the
/// copy.
void checkShared(Block &block, const Access &access, const Tile &tile) {
  touchSharedOf(block, access, block.shared.base() + tile.shared, tile.bytes());
  Counters &counters = block.launch.counters;
  (access.kind == AccessKind::write ? counters.sharedWriteBytes : counters.sharedReadBytes) += tile.bytes();
}
void checkGlobal(const Access &access, const Tile &tile) {
  uint64_t bytes = 0;
  for (const Piece &piece : piecesOf(tile))
    if (piece.bytes) {
      touchGlobal(access, piece.global, piece.bytes);
      bytes += piece.bytes;
    }
  Counters &counters = access.thread.block->launch.counters;
  (access.kind == AccessKind::read ? counters.globalReadBytes : counters.globalWriteBytes) += bytes;
}

// ---- loads --------------------------------------------------------------------------------------

/// The part of a copy that goes to 'block', where the mbarrier lies at 'mbarrierOffset'.
void issueLoadTo(Block &block, Thread &thread, const Op &op, const Tile &tile, uint32_t mbarrierOffset) {
  const Access ofMbarrier{thread, thread.linear, op, AccessKind::read};
  touchSharedOf(block, ofMbarrier, block.shared.base() + mbarrierOffset, 8);
  const Mbarrier &mbarrier = findMbarrier(block, thread, op, mbarrierOffset);
  if (!mbarrier.isFenced)
    block.reportProxyFence(ofMbarrier, {Space::shared, mbarrierOffset, {}},
                           {mbarrier.initThread, mbarrier.initOp, mbarrier.initTime, AccessKind::write});
  const uint32_t engine = block.actors.landingOf(mbarrier.landing);
  checkShared(block, {thread, engine, op, AccessKind::write, nullptr, nullptr, true}, tile);
  std::memset(block.shared.base() + tile.shared, 0xff, tile.bytes()); // whoever reads too early computes with NaN
  block.loads.push_back({tile, mbarrierOffset, engine, block.now++, &thread, &op});
}

/// A copy to the blocks of the cluster that 'mask' has bits of; to the own one without.
void issueLoad(Thread &thread, const Op &op, const Tile &tile, uint32_t mbarrier, std::optional<uint16_t> mask) {
  Block &own = *thread.block;
  const uint32_t blocks = mask ? *mask : 1u << own.rank;
  if (!blocks || blocks >> own.cluster.size())
    misuse(thread, op, "its mask of blocks is " + std::to_string(blocks) + " in a cluster of " + std::to_string(own.cluster.size()));
  Block &first = own.cluster.at(std::countr_zero(blocks));
  const uint32_t engine = own.actors.landingOf(findMbarrier(first, thread, op, mbarrier).landing);
  checkGlobal({thread, engine, op, AccessKind::read, nullptr, nullptr, true}, tile);
  for (uint32_t left = blocks; left; left &= left - 1) {
    Block &block = own.cluster.at(std::countr_zero(left));
    issueLoadTo(liveBlockAt(thread, op, block.shared.base()), thread, op, tile, mbarrier);
  }
}

std::optional<uint16_t> maskOf(const Slot *frame, bool hasClusterForm, uint32_t maskSlot) {
  const bool isMulticast = hasClusterForm && (get<uint8_t>(frame, maskSlot + 2) & 1);
  return isMulticast ? std::optional(get<uint16_t>(frame, maskSlot)) : std::nullopt;
}

// ---- stores -------------------------------------------------------------------------------------

void readSource(Block &block, BulkStores::Store &store) {
  store.isRead = true;
  for (const Piece &piece : piecesOf(store.tile)) {
    const uint8_t *from = block.shared.base() + piece.shared + piece.skip;
    store.bytes.insert(store.bytes.end(), from, from + piece.bytes);
  }
}

template <typename Number> void addNumbers(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += sizeof(Number)) {
    Number sum, term;
    std::memcpy(&sum, to + i, sizeof sum);
    std::memcpy(&term, from + i, sizeof term);
    sum += term;
    std::memcpy(to + i, &sum, sizeof sum);
  }
}

template <float (*decode)(uint16_t), uint16_t (*encode)(float)> void addHalves(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 2) {
    uint16_t sum, term;
    std::memcpy(&sum, to + i, 2);
    std::memcpy(&term, from + i, 2);
    sum = encode(decode(sum) + decode(term));
    std::memcpy(to + i, &sum, 2);
  }
}

using Add = void (*)(uint8_t *to, const uint8_t *from, uint32_t bytes);
/// Null where the emulator does not know it.
Add adderOf(TensorType type) {
  switch (type) {
  case TensorType::u32:
  case TensorType::i32:
    return addNumbers<uint32_t>;
  case TensorType::u64:
    return addNumbers<uint64_t>;
  case TensorType::f32:
    return addNumbers<float>;
  case TensorType::f16:
    return addHalves<fromF16, toF16>;
  case TensorType::bf16:
    return addHalves<fromBf16, toBf16>;
  default:
    return nullptr;
  }
}

void write(const BulkStores::Store &store) {
  const uint8_t *from = store.bytes.data();
  for (const Piece &piece : piecesOf(store.tile)) {
    if (store.adds && piece.bytes)
      adderOf(store.tile.type)(piece.global, from, piece.bytes);
    else if (piece.bytes)
      std::memcpy(piece.global, from, piece.bytes);
    from += piece.bytes;
  }
}

void issueStore(Thread &thread, const Op &op, const Tile &tile, bool adds) {
  Block &block = *thread.block;
  checkShared(block, {thread, block.actors.bulkReadsOf(thread.linear), op, AccessKind::read, nullptr, nullptr, true}, tile);
  checkGlobal({thread, block.actors.bulkWritesOf(thread.linear), op, adds ? AccessKind::atomic : AccessKind::write, nullptr, nullptr, true},
              tile);
  thread.bulk.stores.push_back({tile, adds, block.now, &op});
}

void readGroups(Thread &thread, size_t most) {
  BulkStores &bulk = thread.bulk;
  if (bulk.groups.size() <= most)
    return;
  const uint32_t time = bulk.groups[bulk.groups.size() - most - 1];
  for (BulkStores::Store &store : bulk.stores)
    if (store.time <= time && !store.isRead)
      readSource(*thread.block, store);
  thread.knowledge.bulkReads = std::max(thread.knowledge.bulkReads, time);
}

void writeGroups(Thread &thread, size_t most) {
  BulkStores &bulk = thread.bulk;
  for (; bulk.groups.size() > most; bulk.groups.pop_front()) {
    const uint32_t time = bulk.groups.front();
    for (; !bulk.stores.empty() && bulk.stores.front().time <= time; bulk.stores.pop_front())
      write(bulk.stores.front());
    thread.knowledge.bulkWrites = std::max(thread.knowledge.bulkWrites, time);
  }
}
} // namespace

std::vector<Piece> piecesOf(const Tile &tile) {
  std::vector<Piece> pieces;
  const int64_t perPiece = kPieceBytes / tile.elementBytes;
  for (uint32_t row = 0; row < tile.rows(); ++row) {
    uint8_t *start = tile.global;
    bool isInside = true;
    for (uint32_t i = 1, rest = row; i < tile.rank; rest /= tile.box[i++]) {
      const int64_t index = tile.at[i] + rest % tile.box[i];
      isInside &= index >= 0 && index < static_cast<int64_t>(tile.sizes[i]);
      start += index * static_cast<int64_t>(tile.strides[i]);
    }
    for (uint32_t byte = 0; byte < tile.rowBytes(); byte += kPieceBytes) {
      const int64_t first = tile.at[0] + byte / tile.elementBytes, last = static_cast<int64_t>(tile.sizes[0]) - first;
      const int64_t from = std::clamp<int64_t>(-first, 0, perPiece), to = isInside ? std::clamp<int64_t>(last, from, perPiece) : from;
      pieces.push_back({swizzled(tile.shared + row * tile.rowBytes() + byte, tile.span), start + (first + from) * tile.elementBytes,
                        static_cast<uint32_t>(from) * tile.elementBytes, static_cast<uint32_t>(to - from) * tile.elementBytes});
    }
  }
  return pieces;
}

void landLoad(Block &block, size_t which) {
  const BulkLoad load = block.loads[which];
  block.loads.erase(block.loads.begin() + which);
  for (const Piece &piece : piecesOf(load.tile)) {
    uint8_t *to = block.shared.base() + piece.shared;
    fillOutside(load.tile, to);
    if (piece.bytes)
      std::memcpy(to + piece.skip, piece.global, piece.bytes);
  }
  completeBytes(block, load);
}

void endBulkCopies(Thread &thread) {
  BulkStores &bulk = thread.bulk;
  for (const BulkStores::Store &store : bulk.stores)
    if (!store.isRead)
      misuse(thread, *store.op, "its thread ends before the copy has read shared memory; wait for its group first");
  for (const BulkStores::Store &store : bulk.stores)
    write(store);
  bulk.stores.clear();
}

void loadTensor(Thread &thread, const Op &op, Slot *frame) {
  const auto [rank, hasClusterForm, unused, order] = op.instruction.modifiers;
  const uint32_t shared = sharedOffset(thread, op, frame, 0, kTensorAlignment), mbarrier = sharedOffset(thread, op, frame, 1, 8);
  issueLoad(thread, op, tileOf(thread, op, frame, 2, shared), mbarrier, maskOf(frame, hasClusterForm, 3 + rank));
}

void loadBytes(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t shared = sharedOffset(thread, op, frame, 0, kPieceBytes), mbarrier = sharedOffset(thread, op, frame, 1, 8);
  issueLoad(thread, op, linearTile(thread, op, get<uint8_t *>(frame, 2), get<uint32_t>(frame, 3), shared), mbarrier,
            maskOf(frame, op.instruction.modifiers[0], 4));
}

void storeTensor(Thread &thread, const Op &op, Slot *frame) {
  const Tile tile = tileOf(thread, op, frame, 1, sharedOffset(thread, op, frame, 0, kTensorAlignment));
  const bool adds = op.instruction.modifiers[1];
  if (adds && !adderOf(tile.type))
    misuse(thread, op, "the emulator does not know how to add elements of this type");
  issueStore(thread, op, tile, adds);
}

void storeBytes(Thread &thread, const Op &op, Slot *frame) {
  const uint32_t shared = sharedOffset(thread, op, frame, 1, kPieceBytes);
  issueStore(thread, op, linearTile(thread, op, get<uint8_t *>(frame, 0), get<uint32_t>(frame, 2), shared), false);
}

void commitBulk(Thread &thread, const Op &, Slot *) { thread.bulk.groups.push_back(thread.block->now++); }

void waitBulk(Thread &thread, const Op &op, Slot *frame) {
  const auto most = get<uint32_t>(frame, 0);
  readGroups(thread, most);
  if (!op.instruction.modifiers[0])
    writeGroups(thread, most);
}
} // namespace logitile::emulator
