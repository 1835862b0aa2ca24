// CopyRequest.h - copies requests of C callers.
#pragma once
#include "compiler/Request.h"
#include "runtime/logitile.h"
#include "runtime/support/Status.h"

namespace logitile {
/// An error where the members of 'given' have impossible values, or do not go together.
Result<Request> copyRequest(const lt_request &given);
} // namespace logitile
