# Writes the source that names this build: version, LLVM, and a digest of the code of compiler and
# runtime. FILES, VERSION and OUTPUT are given. Run again whenever one of the files changes; writes
# nothing where the digest is the same.
set(digests "")
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "runtime/plan/KernelKey.h"
std::string_view logitile::compilerBuildId() { return "@VERSION@ @digest@"; }
]])
