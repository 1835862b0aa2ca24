// Bytes.cpp - the checksum of files.
// Fields are read and written in Bytes.h.
#include "runtime/plan/Bytes.h"
#include "llvm/Support/xxhash.h"

uint64_t logitile::checksum(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}
