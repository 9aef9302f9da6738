//===- InitAll.h - Registration of everything St has ------------*- C++ -*-===//
//
// Implemented in one translation unit: each upstream header that it needs is
// slow to parse, so tools call these instead of including dialects themselves.
//
//===----------------------------------------------------------------------===//

#ifndef ST_INITALL_H
#define ST_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::st {

/// Registers the dialects and extensions of MLIR and of St, and the external models of St's
/// interfaces.
void registerAllDialects(DialectRegistry &registry);

/// Registers the passes of MLIR and of St. Call once in a process.
void registerAllPasses();

} // namespace mlir::st

#endif // ST_INITALL_H
