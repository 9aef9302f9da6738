//===- OpTable.h - The ops of a portable artifact ---------------*- C++ -*-===//
//
// One row for each op that an artifact can contain: the name of the op in St and, for each
// attribute in the order of the encoding (sorted by name), its conversion to an attribute of St's
// op.
//
//===----------------------------------------------------------------------===//
#ifndef ST_DIALECTS_VHLO_OPTABLE_H
#define ST_DIALECTS_VHLO_OPTABLE_H

#include "dialects/VHLO/Entries.h"

#include "mlir/IR/OperationSupport.h"

namespace mlir::vhlo {

/// A row of the table.
struct OpRow {
  /// The op's name with its dialect, such as "vhlo.add_v1".
  StringLiteral name;
  /// St's op. Empty if the reader has a special case for it.
  StringLiteral target;
  /// A list of `name:form`, separated by spaces. Without a form the attribute stays as it is.
  /// Forms:
  ///   dims       tensor of one dimension to array of i64
  ///   bools      tensor of booleans to array of bool
  ///   flag       boolean to unit attribute
  ///   symbol     string to symbol name
  ///   symbols    array of strings to array of symbol names
  ///   channel    number to `channel_handle`; none for 0
  ///   direction  number to direction of propagation
  ///   part       a member of a structure such as `dimension_numbers`
  ///   optional   the encoding allows an absent attribute
  /// A `?` at the end: the reader drops the attribute if it has its default value.
  StringLiteral attributes;
};

/// The row of an op, or null.
const OpRow *findOp(StringRef name);

/// Reads the attributes of an op and appends them, converted, to `attributes`. Returns false, with
/// a fault, if they are damaged.
bool readOpAttributes(const OpRow &row, EntryReader reader, NamedAttrList &attributes);

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_OPTABLE_H
