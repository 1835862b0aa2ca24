// OwnFolder.h - the folder of this library, in which other files of the installation are.
#pragma once
#include <string>

namespace logitile {
/// The path of a file in the folder of the library that contains this code. If the folder is
/// unknown, the name alone.
std::string besideLibrary(const std::string &name);
} // namespace logitile
