//===- ChloOps.h - The chlo dialect -----------------------------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_CHLOOPS_H
#define ST_DIALECTS_STABLEHLO_CHLOOPS_H

#include "dialects/StableHLO/StableHLOOps.h"

#include "dialects/StableHLO/ChloDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/StableHLO/ChloOps.h.inc"

#endif // ST_DIALECTS_STABLEHLO_CHLOOPS_H
