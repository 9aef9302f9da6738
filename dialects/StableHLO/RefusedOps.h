// StableHLO ops that St does not support.
#ifndef ST_DIALECTS_STABLEHLO_REFUSEDOPS_H
#define ST_DIALECTS_STABLEHLO_REFUSEDOPS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::stablehlo {

/// The reason to refuse the op of this name (without the dialect's name). Empty if St has the op.
llvm::StringRef whyRefused(llvm::StringRef name);

} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_REFUSEDOPS_H
