//===- PortableModule.h - Programs in StableHLO's bytecode ------*- C++ -*-===//
//
// A portable artifact of StableHLO is a program in a serialised form that later versions of
// StableHLO can read. JAX passes artifacts to plugins, and `jax.export` writes them. An artifact is
// MLIR bytecode with ops of the dialect vhlo, which are versioned copies of StableHLO's ops, and,
// in sharded programs, with ops of sdy.
//
//===----------------------------------------------------------------------===//
#ifndef ST_DIALECTS_VHLO_PORTABLEMODULE_H
#define ST_DIALECTS_VHLO_PORTABLEMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <array>

namespace mlir::st {

/// The newest version of StableHLO that the reader supports. Producers should write this version.
constexpr std::array<int64_t, 3> kPortableVersion = {1, 17, 0};

/// Returns true for an artifact of any version, also in a file of `jax.export`. Returns false for
/// other MLIR bytecode.
bool isPortableArtifact(StringRef bytes);

/// Reads an artifact of StableHLO 1.0.0 to kPortableVersion, converts it to func, stablehlo and sdy
/// ops, and verifies them. Loads these dialects into the context. The module does not refer to
/// `bytes`. Returns null, with one diagnostic at the buffer's name, if the bytes are damaged, have
/// another version, or contain an op, attribute or type that St does not have.
OwningOpRef<ModuleOp> readPortableModule(llvm::MemoryBufferRef bytes, MLIRContext &context);

} // namespace mlir::st

#endif // ST_DIALECTS_VHLO_PORTABLEMODULE_H
