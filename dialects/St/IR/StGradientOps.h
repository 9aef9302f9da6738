//===- StGradientOps.h - Gradients that a user defines ----------*- C++ -*-===//

#ifndef ST_DIALECTS_ST_IR_STGRADIENTOPS_H
#define ST_DIALECTS_ST_IR_STGRADIENTOPS_H

#include "dialects/St/IR/StDialect.h"

#define GET_OP_CLASSES
#include "dialects/St/IR/StGradientOps.h.inc"

#endif // ST_DIALECTS_ST_IR_STGRADIENTOPS_H
