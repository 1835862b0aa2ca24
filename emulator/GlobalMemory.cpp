// GlobalMemory.cpp - bounds of buffers and the check of their words. Blocks of one launch are never ordered; within a
// block its clocks decide. Of the reads of one block only the last is kept, so a race with an earlier one can be missed.
#include "emulator/GlobalMemory.h"
#include "emulator/Block.h"
#include <algorithm>

namespace logitile::emulator {
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
  const Buffer *nearest = nullptr;
  const auto *byte = static_cast<const uint8_t *>(address);
  for (const Buffer &buffer : buffers)
    if (buffer.data <= byte && (!nearest || nearest->data < buffer.data))
      nearest = &buffer;
  if (!nearest)
    return "no buffer lies below it";
  return "byte " + std::to_string(byte - nearest->data) + " from the start of '" + nearest->name + "', which has " +
         std::to_string(nearest->bytes) + " bytes";
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
  return touch.block == block.id && block.knows(access.thread, touch.actor, touch.time);
}

void GlobalMemory::checkWord(Block &block, const Access &access, Buffer &buffer, uint64_t index, uint8_t bytes) {
  Word &word = wordOf(buffer, index);
  const uint64_t offset = index * 4 - reinterpret_cast<uintptr_t>(buffer.data) % 4;
  const Touched touched{Space::global, offset, buffer.name};
  const bool reads = access.kind != AccessKind::write, writes = access.kind != AccessKind::read;
  if (reads && buffer.contents == Contents::undefined && (bytes & ~word.initialised))
    block.reportUninitialised(access, touched);
  const bool bothAtomic = word.atomic && access.kind == AccessKind::atomic;
  if ((word.written & bytes) && !bothAtomic && !isOrdered(block, access, word.write))
    block.reportRace(access, touched, {word.write.actor, word.write.op, word.write.time, AccessKind::write, word.write.block});
  const bool readElsewhere = word.severalBlocks && word.read.block >= firstBlock;
  if (writes && (word.readBytes & bytes) && (readElsewhere || !isOrdered(block, access, word.read)))
    block.reportRace(access, touched, {word.read.actor, word.read.op, word.read.time, AccessKind::read, word.read.block});
  const Touch touch{block.id, block.now, access.actor, access.op.index};
  if (writes) {
    word.write = touch;
    word.written = bytes;
    word.initialised |= bytes;
    word.atomic = access.kind == AccessKind::atomic;
    word.readBytes = 0;
    word.severalBlocks = false;
    return;
  }
  word.severalBlocks = word.readBytes && word.read.block >= firstBlock && (word.severalBlocks || word.read.block != block.id);
  word.readBytes = word.read.block == block.id || word.severalBlocks ? word.readBytes | bytes : bytes;
  word.read = touch;
}
} // namespace logitile::emulator
