//===- Logitile.td - the whole dialect, for tablegen -----------------------------------------------------------===//
#ifndef LOGITILE_TD
#define LOGITILE_TD
include "dialect/operations/ScheduleOps.td"
include "dialect/operations/TileOps.td"
include "dialect/operations/HoleOps.td"
#endif
