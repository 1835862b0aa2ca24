// GlobalMemory.cpp - bounds of buffers and the check of their words. Clocks decide what is ordered,
// within a block and between blocks. Only the last read of each block is kept, and the last two
// unordered strong writes, so a race with an earlier access can be missed.
#include "emulator/block/GlobalMemory.h"
#include "emulator/block/Block.h"
#include <algorithm>

namespace logitile::emulator {
namespace {
constexpr uint64_t kFarBytes = uint64_t{1} << 36; // beyond, an address has nothing to do with a buffer
} // namespace

void GlobalMemory::add(std::string name, void *data, size_t bytes, Contents contents) {
  const size_t words = bytes / 4 + 2; // the first and the last may be partly outside
  Buffer buffer{std::move(name), static_cast<uint8_t *>(data), bytes, contents, {}};
  buffer.pages.resize((words + Page::kWords - 1) / Page::kWords);
  buffers.push_back(std::move(buffer));
}

uint64_t GlobalMemory::offsetIn(const Buffer &buffer, const void *address) { return static_cast<const uint8_t *>(address) - buffer.data; }

const std::string &GlobalMemory::nameOf(const Buffer &buffer) { return buffer.name; }

GlobalMemory::Buffer *GlobalMemory::find(const void *address, uint64_t bytes) {
  const auto *byte = static_cast<const uint8_t *>(address);
  auto holds = [&](const Buffer &buffer) {
    return byte >= buffer.data && bytes <= buffer.bytes && byte - buffer.data <= static_cast<ptrdiff_t>(buffer.bytes - bytes);
  };
  if (recent && holds(*recent))
    return recent;
  for (Buffer &buffer : buffers)
    if (holds(buffer))
      return recent = &buffer;
  return nullptr;
}

std::string GlobalMemory::describe(const void *address) const {
  const auto *byte = static_cast<const uint8_t *>(address);
  auto distance = [&](const Buffer &buffer) -> uint64_t {
    const uint8_t *end = buffer.data + buffer.bytes;
    return byte < buffer.data ? buffer.data - byte : byte < end ? 0 : byte - end;
  };
  const auto nearest = std::ranges::min_element(buffers, {}, distance);
  if (nearest == buffers.end() || distance(*nearest) > kFarBytes)
    return "no buffer is near it";
  const std::string name = "'" + nearest->name + "', which has " + std::to_string(nearest->bytes) + " bytes";
  if (byte < nearest->data)
    return std::to_string(nearest->data - byte) + " bytes before the start of " + name;
  return "byte " + std::to_string(byte - nearest->data) + " from the start of " + name;
}

GlobalMemory::Word &GlobalMemory::wordOf(Buffer &buffer, uint64_t index) {
  std::unique_ptr<Page> &page = buffer.pages[index / Page::kWords];
  if (!page)
    page = std::make_unique<Page>();
  return page->words[index % Page::kWords];
}

void GlobalMemory::check(Block &block, const Access &access, Buffer &buffer, uint64_t offset, uint64_t bytes) {
  uint64_t at = offset + reinterpret_cast<uintptr_t>(buffer.data) % 4; // words are those of the machine's addresses
  const uint64_t end = at + bytes;
  while (at < end) {
    const uint64_t index = at / 4, next = std::min(end, (index + 1) * 4);
    checkWord(block, access, buffer, index, static_cast<uint8_t>(((1u << (next - at)) - 1) << at % 4));
    at = next;
  }
}

bool GlobalMemory::isOrdered(Block &block, const Access &access, const Touch &touch) const {
  if (touch.block < firstBlock) // 0 where there is none
    return true;
  if (touch.block == block.id)
    return block.knows(access.thread, touch.actor, touch.time);
  const auto &blocks = access.thread.knowledge.clock->blocks;
  auto found = blocks.find(touch.block);
  return found != blocks.end() && touch.time <= found->second->times[touch.actor];
}

void GlobalMemory::checkWrite(Block &block, const Access &access, const Touched &touched, const Write &write, uint8_t bytes,
                              const uint8_t *word) const {
  const Touch &touch = write.touch;
  if (touch.block == block.id && access.repeats(word, write.bytes & bytes, touch.actor, touch.op))
    return;
  if (!(write.bytes & bytes) || areStrong(write.strength, strengthOf(access.op), touch.block == block.id) ||
      isOrdered(block, access, touch))
    return;
  block.reportRace(access, touched, {touch.actor, touch.op, touch.time, AccessKind::write, touch.block});
}

void GlobalMemory::checkWord(Block &block, const Access &access, Buffer &buffer, uint64_t index, uint8_t bytes) {
  Word &word = wordOf(buffer, index);
  const uint64_t offset = index * 4 - reinterpret_cast<uintptr_t>(buffer.data) % 4;
  const Touched touched{Space::global, offset, buffer.name};
  const bool reads = access.kind != AccessKind::write, writes = access.kind != AccessKind::read;
  if (reads && buffer.contents == Contents::undefined && (bytes & ~word.initialised))
    block.reportUninitialised(access, touched);
  const uint8_t *where = buffer.data + static_cast<int64_t>(offset);
  checkWrite(block, access, touched, {word.write, word.written, word.writeStrength}, bytes, where);
  if (word.other)
    checkWrite(block, access, touched, others[word.other], bytes, where);
  if (!writes)
    return noteRead(block, access, word, bytes);
  const bool readElsewhere = word.severalBlocks && word.read.block >= firstBlock;
  if ((word.readBytes & bytes) && (readElsewhere || !isOrdered(block, access, word.read)) &&
      !areStrong(word.readStrength, strengthOf(access.op), !readElsewhere && word.read.block == block.id))
    block.reportRace(access, touched, {word.read.actor, word.read.op, word.read.time, AccessKind::read, word.read.block});
  noteWrite(block, access, word, bytes);
}

void GlobalMemory::noteWrite(Block &block, const Access &access, Word &word, uint8_t bytes) {
  const Strength strength = strengthOf(access.op);
  if (strength != Strength::weak && word.written && !isOrdered(block, access, word.write)) {
    if (!word.other) {
      word.other = static_cast<uint32_t>(others.size());
      others.emplace_back();
    }
    others[word.other] = {word.write, word.written, word.writeStrength};
  } else if (word.other && (strength == Strength::weak || isOrdered(block, access, others[word.other].touch))) {
    others[word.other].bytes = 0;
  }
  word.write = {block.id, block.now, access.actor, access.op.index};
  word.written = bytes;
  word.initialised |= bytes;
  word.writeStrength = strength;
  word.readBytes = 0;
  word.severalBlocks = false;
}

void GlobalMemory::noteRead(Block &block, const Access &access, Word &word, uint8_t bytes) {
  const Strength strength = strengthOf(access.op);
  word.severalBlocks = word.readBytes && word.read.block >= firstBlock && (word.severalBlocks || word.read.block != block.id);
  const bool isOneOfSeveral = word.readBytes && (word.read.block == block.id || word.severalBlocks);
  word.readBytes = isOneOfSeveral ? word.readBytes | bytes : bytes;
  word.readStrength = isOneOfSeveral ? std::min(word.readStrength, strength) : strength;
  word.read = {block.id, block.now, access.actor, access.op.index};
}
} // namespace logitile::emulator
