//===- Container.h - The tables of MLIR's bytecode --------------*- C++ -*-===//
//
// Portable artifacts of StableHLO 1.0 and later use version 6 of MLIR's bytecode: tables of
// strings, op names, attributes, types and properties, and the ops. MLIR documents the format in
// docs/BytecodeFormat.md. MLIR's own reader trusts the counts in a file and aborts on damaged ones;
// this reader checks them.
//
//===----------------------------------------------------------------------===//
#ifndef ST_DIALECTS_VHLO_CONTAINER_H
#define ST_DIALECTS_VHLO_CONTAINER_H

#include "dialects/VHLO/ByteReader.h"

#include <optional>

namespace mlir::vhlo {

/// The encoded form of an attribute or a type: the dialect's own encoding, or text.
struct EncodedEntry {
  StringRef dialect;
  ArrayRef<uint8_t> bytes;
  bool isText;
};

/// The tables of a file. Attributes, types and ops are still encoded. Refers to the file's bytes.
struct Container {
  /// The writer of the file: "StableHLO_v1.17.0".
  StringRef producer;
  const uint8_t *file = nullptr;
  SmallVector<StringRef> strings;
  /// Names with their dialects, such as "vhlo.add_v1".
  SmallVector<std::string> opNames;
  SmallVector<EncodedEntry> attributes, types;
  SmallVector<ArrayRef<uint8_t>> properties;
  ArrayRef<uint8_t> ops;
};

/// Numbers of the sections.
enum class SectionId : unsigned {
  String,
  Dialect,
  AttributeAndType,
  AttributeAndTypeOffset,
  Ops,
  Resource,
  ResourceOffset,
  DialectVersions,
  Properties
};

/// Reads the tables. Reports a fault and returns std::nullopt if they are damaged or of another
/// version.
std::optional<Container> readContainer(ArrayRef<uint8_t> bytes, FaultSink &faults);

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_CONTAINER_H
