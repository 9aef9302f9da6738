// Syntax of axes in shardings and collectives.
#ifndef ST_DIALECTS_SDY_AXISASSEMBLY_H
#define ST_DIALECTS_SDY_AXISASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::sdy {

/// Parses `{"a", "b":(1)2, ?}`. The question mark is allowed only if `open` is given.
ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<StringAttr> &axes, bool *open);

/// Prints an axis, or a part of one, as parseAxes reads it.
void printAxis(AsmPrinter &printer, StringRef axis);

/// Operands of collectives: axes, `{"a", "b"}`; axes of each dimension, `[{"a"}, {}]`; and axes
/// that move to another dimension, `[{"a"}: 0->1]`. A move is an array of the axes and the two
/// dimensions.
/// The generic form of an op has them as attributes: `#sdy<axis_ref_list{"a"}>`.
ParseResult parseAxisList(AsmParser &parser, ArrayAttr &axes);
void printAxisList(OpAsmPrinter &printer, Operation *op, ArrayAttr axes);
ParseResult parseAxisLists(AsmParser &parser, ArrayAttr &lists);
void printAxisLists(OpAsmPrinter &printer, Operation *op, ArrayAttr lists);
ParseResult parseAxisMoves(AsmParser &parser, ArrayAttr &moves);
void printAxisMoves(OpAsmPrinter &printer, Operation *op, ArrayAttr moves);

} // namespace mlir::sdy

#endif // ST_DIALECTS_SDY_AXISASSEMBLY_H
