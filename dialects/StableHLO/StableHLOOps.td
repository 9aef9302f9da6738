//===- StableHLOOps.td - All ops of stablehlo --------------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOOPS_TD
#define ST_DIALECTS_STABLEHLO_STABLEHLOOPS_TD

include "dialects/StableHLO/CollectiveOps.td"
include "dialects/StableHLO/ControlFlowOps.td"
include "dialects/StableHLO/DataMovementOps.td"
include "dialects/StableHLO/ElementwiseOps.td"
include "dialects/StableHLO/LinearAlgebraOps.td"
include "dialects/StableHLO/NormalizationOps.td"
include "dialects/StableHLO/ReductionOps.td"

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOOPS_TD
