// Files that contain a portable artifact.
#ifndef ST_DIALECTS_VHLO_EXPORTEDFILE_H
#define ST_DIALECTS_VHLO_EXPORTEDFILE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::vhlo {

/// The artifact in a flatbuffer of `jax.export`. Empty if the bytes are not such a file.
StringRef findExportedArtifact(StringRef file);

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_EXPORTEDFILE_H
