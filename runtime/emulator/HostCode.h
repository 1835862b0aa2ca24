// HostCode.h - LLVM's code generator for this machine, for the emulator: it compiles LLVM IR for
// the host.
#pragma once
#include "runtime/emulator/Interface.h"

namespace logitile {
const emulator::abi::HostCompiler &hostCompiler();
} // namespace logitile
