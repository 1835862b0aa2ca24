// Fiber.cpp - the switch saves the registers that the calling convention requires a callee to keep.
// Floating point modes are shared.
#include "emulator/core/Fiber.h"
#include <sys/mman.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "the emulator's fiber switch is written for x86-64 Linux; add one for this machine in Fiber.cpp"
#endif

// The jump instead of a return keeps the predictor of returns from missing at each switch: 3 ns
// instead of 8.
asm(R"(
.text
.globl logitileSwitchFiber
.hidden logitileSwitchFiber
.type logitileSwitchFiber,@function
logitileSwitchFiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size logitileSwitchFiber,.-logitileSwitchFiber
)");

namespace logitile::emulator {
namespace {
constexpr size_t kPage = 4096;
constexpr size_t kOwnBytes = 128 * 1024; // numbers that compiled code keeps, and the emulator's functions
constexpr size_t kStackBytes = FiberStacks::kLocalBytes + kOwnBytes;
constexpr size_t kStride = kStackBytes + kPage;

// Stacks whose tops lie a power of two apart share the same few cache sets: half the speed. So tops
// differ.
size_t colour(uint32_t fiber) { return (fiber * 576) % kPage & ~size_t{63}; }
} // namespace

FiberStacks::FiberStacks(uint32_t count) : totalBytes(count * kStride) {
  void *mapped = mmap(nullptr, totalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  memory = static_cast<uint8_t *>(mapped);
  for (uint32_t i = 0; i < count; ++i)
    mprotect(memory + i * kStride, kPage, PROT_NONE);
}

FiberStacks::~FiberStacks() {
  if (memory)
    munmap(memory, totalBytes);
}

void *FiberStacks::start(uint32_t fiber, void (*function)()) {
  auto **top = reinterpret_cast<void **>(memory + (fiber + 1) * kStride - colour(fiber));
  *--top = nullptr; // where the return address would be: the alignment where a function starts
  *--top = reinterpret_cast<void *>(function);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  return top;
}

size_t FiberStacks::left(uint32_t fiber, const void *address) const {
  const uint8_t *low = memory + fiber * kStride + kPage + kOwnBytes, *byte = static_cast<const uint8_t *>(address);
  return byte > low ? byte - low : 0;
}

bool FiberStacks::holds(uint32_t fiber, const void *address, size_t bytes) const {
  const uint8_t *low = memory + fiber * kStride + kPage, *byte = static_cast<const uint8_t *>(address);
  return byte >= low && byte + bytes <= low + kStackBytes;
}

FiberStacks &KeptStacks::of(uint32_t count) {
  if (stacks && stacks->isValid() && count <= held)
    return *stacks;
  stacks.reset();
  stacks = std::make_unique<FiberStacks>(count);
  held = count;
  return *stacks;
}
} // namespace logitile::emulator
