// OwnFolder.h - where this library lies, for the files that belong beside it.
#pragma once
#include <string>

namespace logitile {
/// The path of a file in the folder of the library that this code is in; the name alone where that
/// cannot be found out.
std::string besideLibrary(const std::string &name);
} // namespace logitile
