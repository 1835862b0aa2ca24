# Writes the source that holds the runtime's own GPU kernels as texts. PTX, IR and OUTPUT are given.
file(READ ${PTX} ptx)
file(READ ${IR} ir)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "runtime/gpu/OwnKernels.h"
std::string_view logitile::gpu::ownKernelsPtx() { return R"KERNELS(@ptx@)KERNELS"; }
std::string_view logitile::gpu::ownKernelsIr() { return R"KERNELS(@ir@)KERNELS"; }
]])
