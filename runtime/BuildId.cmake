# Writes the source that names this compiler: version, LLVM, and a digest of the archives of the compiler.
# DIALECT, COMPILER, VERSION and OUTPUT are given. Run again whenever an archive changes; writes nothing where the digest is the same.
set(digests "")
foreach(archive ${DIALECT} ${COMPILER})
  file(SHA256 ${archive} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "runtime/KernelKey.h"
std::string_view logitile::compilerBuildId() { return "@VERSION@ @digest@"; }
]])
