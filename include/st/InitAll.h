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

/// Registers upstream's dialects and extensions, and St's own with the external
/// models of its interfaces.
void registerAllDialects(DialectRegistry &registry);

/// Registers upstream's passes and St's own. Call once in a process.
void registerAllPasses();

} // namespace mlir::st

#endif // ST_INITALL_H
