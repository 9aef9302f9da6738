#include "dialects/VHLO/Entries.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::vhlo;

/// Much deeper than locations nest. The limit bounds the stack.
static constexpr unsigned kMaxDepth = 1000;

template <class Value, class Read>
Value Entries::get(ArrayRef<EncodedEntry> encoded, SmallVectorImpl<Slot<Value>> &slots,
                   uint64_t index, StringRef what, Read read) {
  if (faults.failed())
    return Value();
  if (index >= slots.size()) {
    faults.report("damaged bytecode: " + what + " " + Twine(index) + " of " + Twine(slots.size()));
    return Value();
  }
  if (slots[index].value)
    return slots[index].value;
  if (slots[index].isActive || depth == kMaxDepth) {
    faults.report("damaged bytecode: " + what + " " + Twine(index) + " holds itself");
    return Value();
  }
  slots[index].isActive = true;
  ++depth;
  Value value = read(encoded[index]);
  --depth;
  slots[index].isActive = false;
  if (!value)
    faults.report("damaged bytecode: " + what + " " + Twine(index) + " of dialect " +
                  encoded[index].dialect);
  return faults.failed() ? Value() : slots[index].value = value;
}

Attribute Entries::getAttribute(uint64_t index) {
  return get(container.attributes, attributes, index, "attribute", [&](const EncodedEntry &entry) {
    EntryReader reader(ByteReader(entry.bytes, container.file, faults), *this);
    if (entry.isText)
      reader.fault("attributes of dialect " + entry.dialect + " in text form are not supported");
    else if (entry.dialect == "builtin")
      return readBuiltinAttribute(reader);
    else if (entry.dialect == "vhlo")
      return readVhloAttribute(reader);
    else if (entry.dialect == "sdy")
      return readSdyAttribute(reader);
    reader.fault("attributes of dialect " + entry.dialect + " are not supported");
    return Attribute();
  });
}

Type Entries::getType(uint64_t index) {
  return get(container.types, types, index, "type", [&](const EncodedEntry &entry) {
    EntryReader reader(ByteReader(entry.bytes, container.file, faults), *this);
    if (entry.isText)
      reader.fault("types of dialect " + entry.dialect + " in text form are not supported");
    else if (entry.dialect == "builtin")
      return readBuiltinType(reader);
    else if (entry.dialect == "vhlo")
      return readVhloType(reader);
    else if (entry.dialect == "stablehlo")
      return readStablehloType(reader);
    reader.fault("types of dialect " + entry.dialect + " are not supported");
    return Type();
  });
}

Attribute EntryReader::optionalAttribute() {
  auto [index, isPresent] = numberAndFlag();
  return isPresent ? entries.getAttribute(index) : Attribute();
}

StringRef EntryReader::string() {
  ArrayRef<StringRef> strings = entries.getContainer().strings;
  uint64_t index = number();
  if (index < strings.size())
    return strings[index];
  fault("damaged bytecode: string " + Twine(index) + " of " + Twine(strings.size()));
  return "";
}

APInt EntryReader::integer(unsigned width) {
  auto truncated = [&](uint64_t word, unsigned bits) { return APInt(64, word).trunc(bits); };
  if (width <= 8)
    return truncated(byte(), width);
  if (width <= 64)
    return truncated(static_cast<uint64_t>(signedNumber()), width);
  SmallVector<int64_t> words = signedNumbers();
  words.resize(llvm::divideCeil(width, 64));
  SmallVector<uint64_t> bits(words.begin(), words.end());
  return APInt(width, bits);
}

Attribute EntryReader::integerOf(Type type) {
  auto integerType = dyn_cast_or_null<IntegerType>(type);
  unsigned width = integerType ? integerType.getWidth() : IndexType::kInternalStorageBitWidth;
  if (!isa_and_nonnull<IntegerType, IndexType>(type) || width == 0)
    fault("damaged bytecode: the type of an integer attribute is not an integer type");
  return failed() ? Attribute() : IntegerAttr::get(type, integer(width));
}

Attribute EntryReader::floatOf(Type type) {
  auto floatType = dyn_cast_or_null<FloatType>(type);
  if (!floatType)
    fault("damaged bytecode: the type of a float attribute is not a float type");
  if (failed())
    return Attribute();
  const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
  APInt bits = integer(APFloat::semanticsSizeInBits(semantics));
  return failed() ? Attribute() : FloatAttr::get(floatType, APFloat(semantics, bits));
}

DictionaryAttr EntryReader::dictionary() {
  SmallVector<NamedAttribute> named;
  for (uint64_t left = count(); left > 0 && !failed(); --left) {
    auto name = attributeOf<StringAttr>("an attribute's name");
    Attribute value = attribute();
    if (failed())
      return {};
    if (name.empty())
      fault("damaged bytecode: an attribute has no name");
    named.emplace_back(name, value);
  }
  llvm::sort(named);
  if (DictionaryAttr::findDuplicate(named, /*isSorted=*/true))
    fault("damaged bytecode: an attribute is given twice");
  return failed() ? DictionaryAttr() : DictionaryAttr::getWithSorted(getContext(), named);
}

/// Booleans packed in bits, lowest bit first. A single byte of equal bits can be a splat.
static Attribute unpackBooleans(RankedTensorType type, ArrayRef<uint8_t> bytes) {
  auto count = static_cast<size_t>(type.getNumElements());
  if (bytes.size() == 1 && count > 8 && (bytes[0] == 0 || bytes[0] == 0xFF))
    return DenseElementsAttr::get(type, bytes[0] != 0);
  SmallVector<bool> values(count);
  if (bytes.size() == llvm::divideCeil(count, 8)) {
    for (auto [i, value] : llvm::enumerate(values))
      value = (bytes[i / 8] >> i % 8 & 1) != 0;
  } else if (bytes.size() == count) {
    llvm::transform(bytes, values.begin(), [](uint8_t byte) { return byte != 0; });
  } else {
    return Attribute();
  }
  return DenseElementsAttr::get(type, ArrayRef<bool>(values));
}

Attribute EntryReader::elementsOf(Type type) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  ArrayRef<uint8_t> bytes = blob();
  if (failed())
    return Attribute();
  Attribute elements;
  bool isSplat = false;
  ArrayRef<char> raw(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (tensor && tensor.hasStaticShape() && tensor.getElementType().isInteger(1))
    elements = unpackBooleans(tensor, bytes);
  else if (tensor && tensor.hasStaticShape() &&
           DenseElementsAttr::isValidRawBuffer(tensor, raw, isSplat))
    elements = DenseElementsAttr::getFromRawBuffer(tensor, raw);
  if (!elements)
    fault("damaged bytecode: " + Twine(bytes.size()) + " bytes do not fill a tensor");
  return elements;
}

Type mlir::vhlo::makeTensorType(EntryReader &reader, ArrayRef<int64_t> shape, Type element) {
  if (reader.failed())
    return Type();
  int64_t elements = 1;
  for (int64_t size : shape)
    if (size == ShapedType::kDynamic)
      reader.fault("a tensor has a dynamic dimension: shapes are static");
    else if (size < 0 || llvm::MulOverflow(elements, size, elements))
      reader.fault("damaged bytecode: a tensor has a dimension of " + Twine(size));
  if (!TensorType::isValidElementType(element))
    reader.fault("damaged bytecode: a tensor has an invalid element type");
  return reader.failed() ? Type() : RankedTensorType::get(shape, element);
}

Type mlir::vhlo::makeComplexType(EntryReader &reader, Type element) {
  if (!isa_and_nonnull<FloatType, IntegerType>(element))
    reader.fault("damaged bytecode: a complex type has an invalid element type");
  return reader.failed() ? Type() : ComplexType::get(element);
}
