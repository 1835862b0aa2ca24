// SizeText.h - numbers of bytes in messages. No MLIR or LLVM here: the runtime includes it.
#pragma once
#include <cstdint>
#include <string>

namespace logitile {
/// "2.9 MiB (3032704 bytes)"; "100 bytes" below 1 KiB. The size in MiB is rounded up, so
/// that it is enough if a user takes it as a budget.
std::string sizeText(int64_t bytes);
} // namespace logitile
