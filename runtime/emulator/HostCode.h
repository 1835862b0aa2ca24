// HostCode.h - LLVM's code generator for this machine, for the emulator: it makes modules of LLVM
// IR that the host can compile.
#pragma once
#include "runtime/emulator/Interface.h"

namespace logitile {
const emulator::abi::HostCompiler &hostCompiler();
} // namespace logitile
