//===- Entries.h - Attributes and types of a portable artifact --*- C++ -*-===//
//
// Each dialect has its own encoding of attributes and types. The reader decodes them directly to
// builtin, stablehlo and sdy attributes and types; it creates none of vhlo.
//
//===----------------------------------------------------------------------===//
#ifndef ST_DIALECTS_VHLO_ENTRIES_H
#define ST_DIALECTS_VHLO_ENTRIES_H

#include "dialects/VHLO/Container.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::vhlo {

/// The attributes and types of a container, decoded on first use.
class Entries {
public:
  Entries(const Container &container, FaultSink &faults)
      : container(container), faults(faults), attributes(container.attributes.size()),
        types(container.types.size()) {}

  /// Null, with a fault, if the index is out of range or the entry is damaged.
  Attribute getAttribute(uint64_t index);
  Type getType(uint64_t index);

  const Container &getContainer() const { return container; }
  FaultSink &getFaults() const { return faults; }

private:
  /// `value` is null until it is decoded. `isActive` is true during the decoding: an entry that
  /// contains itself is damaged.
  template <class Value> struct Slot {
    Value value;
    bool isActive = false;
  };
  template <class Value, class Read>
  Value get(ArrayRef<EncodedEntry> encoded, SmallVectorImpl<Slot<Value>> &slots, uint64_t index,
            StringRef what, Read read);

  const Container &container;
  FaultSink &faults;
  SmallVector<Slot<Attribute>> attributes;
  SmallVector<Slot<Type>> types;
  unsigned depth = 0;
};

/// Reads the parts of an encoded entry: numbers, and references to other entries and strings.
class EntryReader : public ByteReader {
public:
  EntryReader(const ByteReader &bytes, Entries &entries) : ByteReader(bytes), entries(entries) {}

  MLIRContext *getContext() const { return getFaults().getContext(); }
  Location getLoc() const { return getFaults().getLoc(); }

  Attribute attribute() { return entries.getAttribute(number()); }
  Type type() { return entries.getType(number()); }
  /// An attribute of one kind. Null, with a fault, if it is of another kind.
  template <class Kind> Kind attributeOf(StringRef what) {
    auto kind = dyn_cast_or_null<Kind>(attribute());
    if (!kind)
      fault("damaged bytecode: expected " + what);
    return kind;
  }
  /// An attribute that may be absent.
  Attribute optionalAttribute();
  StringRef string();
  /// A list whose elements `readOne` reads.
  template <class Element, class Read> SmallVector<Element> list(Read readOne) {
    SmallVector<Element> elements;
    for (uint64_t left = count(); left > 0 && !failed(); --left)
      elements.push_back(readOne());
    return elements;
  }
  SmallVector<Attribute> attributes() {
    return list<Attribute>([&] { return attribute(); });
  }
  SmallVector<Type> types() {
    return list<Type>([&] { return type(); });
  }
  SmallVector<int64_t> signedNumbers() {
    return list<int64_t>([&] { return signedNumber(); });
  }
  /// Unique names and their values.
  DictionaryAttr dictionary();
  /// A number of bytes, then the bytes.
  ArrayRef<uint8_t> blob() { return bytes(number()); }
  /// An integer of `width` bits.
  APInt integer(unsigned width);
  /// A number of a type. Null, with a fault, if the type is not a number type.
  Attribute integerOf(Type type);
  Attribute floatOf(Type type);
  /// The elements of a tensor. Null, with a fault, if the bytes do not fill it.
  Attribute elementsOf(Type type);

private:
  Entries &entries;
};

/// Decode an entry of a dialect. Null, with a fault, if its code is unknown or not supported.
Attribute readBuiltinAttribute(EntryReader &reader);
Type readBuiltinType(EntryReader &reader);
Attribute readVhloAttribute(EntryReader &reader);
Type readVhloType(EntryReader &reader);
Attribute readSdyAttribute(EntryReader &reader);

/// The type of a token. Side effects have the order of the program's ops, so a token carries
/// nothing. It becomes a tensor without elements, which JAX passes for the tokens of a function.
RankedTensorType getTokenType(MLIRContext *context);
/// Reads a type of the StableHLO dialect. Only regions of sdy contain one: the token.
Type readStablehloType(EntryReader &reader);

/// Create a type after checking its parts. Null, with a fault, if a part is not valid.
Type makeTensorType(EntryReader &reader, ArrayRef<int64_t> shape, Type element);
Type makeComplexType(EntryReader &reader, Type element);

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_ENTRIES_H
