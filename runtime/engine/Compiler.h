// Compiler.h - the interface of the compiler to the C interface. Requests.cpp implements it, or
// WithoutCompiler.cpp in the library that only runs plans.
#pragma once
#include "compiler/Target/Machine.h"
#include "runtime/engine/Engine.h"

namespace logitile {
/// Makes an engine with the compiler of this library, or without one.
std::shared_ptr<Engine> makeEngine(const Engine::Options &options);
/// The rates that the cost model uses for a target; none if this library does not have the target.
std::optional<Machine> machineOf(const std::string &target, int64_t threads);
} // namespace logitile
