//===- Logitile.td - the whole dialect, for tablegen -----------------------------------------------------------===//
#ifndef LOGITILE_TD
#define LOGITILE_TD
include "dialect/SpecOps.td"
include "dialect/PlanOps.td"
include "dialect/TileOps.td"
#endif
