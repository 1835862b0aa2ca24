// CopyRequest.h - copies requests of C callers.
#pragma once
#include "compiler/Request.h"
#include "runtime/logitile.h"
#include "runtime/support/Status.h"

namespace logitile {
/// A copy of 'given'. An error if its members have impossible values, or contradict each other.
Result<Request> copyRequest(const lt_request &given);
} // namespace logitile
