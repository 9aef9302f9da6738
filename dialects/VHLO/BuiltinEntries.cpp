// Decodes the attributes and types of the builtin dialect that occur in portable artifacts.
#include "dialects/VHLO/Entries.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeRange.h"

using namespace mlir;
using namespace mlir::vhlo;

namespace {
enum class AttributeCode : uint64_t {
  Array,
  Dictionary,
  String,
  StringWithType,
  FlatSymbolRef,
  SymbolRef,
  Type,
  Unit,
  Integer,
  Float,
  CallSiteLoc,
  FileLineColLoc,
  FusedLoc,
  FusedLocWithMetadata,
  NameLoc,
  UnknownLoc,
  DenseResource,
  DenseArray,
  DenseElements,
  DenseStrings,
  Sparse,
  Distinct,
  FileLineColRange
};

enum class TypeCode : uint64_t {
  Integer,
  Index,
  Function,
  BFloat16,
  Float16,
  Float32,
  Float64,
  Float80,
  Float128,
  Complex,
  MemRef,
  MemRefWithSpace,
  None,
  RankedTensor,
  RankedTensorWithEncoding,
  Tuple,
  // LLVM 22 does not write the following codes; jaxlib's newer MLIR does.
  Float8E5M2 = 22,
  Float8E4M3,
  Float8E4M3FN,
  Float8E5M2FNUZ,
  Float8E4M3FNUZ,
  Float8E4M3B11FNUZ,
  Float8E3M4,
  Float4E2M1FN,
  Float6E2M3FN,
  Float6E3M2FN,
  Float8E8M0FNU
};
} // namespace

static Location readLocation(EntryReader &reader) {
  auto loc = reader.attributeOf<LocationAttr>("a location");
  return loc ? Location(loc) : UnknownLoc::get(reader.getContext());
}

static Attribute readFusedLoc(EntryReader &reader, bool hasMetadata) {
  SmallVector<Location> locs;
  for (uint64_t left = reader.count(); left > 0 && !reader.failed(); --left)
    locs.push_back(readLocation(reader));
  Attribute metadata = hasMetadata ? reader.attribute() : Attribute();
  return reader.failed() ? Attribute()
                         : Attribute(FusedLoc::get(locs, metadata, reader.getContext()));
}

/// A file and up to four numbers: start line, start column, end line, end column.
static Attribute readFileRange(EntryReader &reader) {
  auto file = reader.attributeOf<StringAttr>("the name of a file");
  SmallVector<uint64_t> n = reader.list<uint64_t>([&] { return reader.number(); });
  if (n.size() > 4)
    reader.fault("damaged bytecode: a location has " + Twine(n.size()) + " numbers");
  if (reader.failed())
    return Attribute();
  auto at = [&](size_t i) { return static_cast<unsigned>(n[i]); };
  switch (n.size()) {
  case 0:
    return FileLineColRange::get(file);
  case 1:
    return FileLineColRange::get(file, at(0));
  case 2:
    return FileLineColLoc::get(file, at(0), at(1));
  case 3:
    return FileLineColRange::get(file, at(0), at(1), at(2));
  default:
    return FileLineColRange::get(file, at(0), at(1), at(2), at(3));
  }
}

static Attribute readLocation(EntryReader &reader, AttributeCode code) {
  MLIRContext *context = reader.getContext();
  switch (code) {
  case AttributeCode::CallSiteLoc: {
    Location callee = readLocation(reader), caller = readLocation(reader);
    return CallSiteLoc::get(callee, caller);
  }
  case AttributeCode::FileLineColLoc: {
    auto file = reader.attributeOf<StringAttr>("the name of a file");
    auto line = static_cast<unsigned>(reader.number());
    auto column = static_cast<unsigned>(reader.number());
    return reader.failed() ? Attribute() : Attribute(FileLineColLoc::get(file, line, column));
  }
  case AttributeCode::FileLineColRange:
    return readFileRange(reader);
  case AttributeCode::FusedLoc:
    return readFusedLoc(reader, /*hasMetadata=*/false);
  case AttributeCode::FusedLocWithMetadata:
    return readFusedLoc(reader, /*hasMetadata=*/true);
  case AttributeCode::NameLoc: {
    auto name = reader.attributeOf<StringAttr>("a location's name");
    Location child = readLocation(reader);
    return reader.failed() ? Attribute() : Attribute(NameLoc::get(name, child));
  }
  default:
    return UnknownLoc::get(context);
  }
}

Attribute mlir::vhlo::readBuiltinAttribute(EntryReader &reader) {
  MLIRContext *context = reader.getContext();
  uint64_t number = reader.number();
  switch (auto code = static_cast<AttributeCode>(number)) {
  case AttributeCode::Array: {
    SmallVector<Attribute> elements = reader.attributes();
    return reader.failed() ? Attribute() : ArrayAttr::get(context, elements);
  }
  case AttributeCode::Dictionary:
    return reader.dictionary();
  case AttributeCode::String:
    return StringAttr::get(context, reader.string());
  case AttributeCode::FlatSymbolRef: {
    auto name = reader.attributeOf<StringAttr>("a symbol");
    return name ? FlatSymbolRefAttr::get(name) : FlatSymbolRefAttr();
  }
  case AttributeCode::Type: {
    Type type = reader.type();
    return type ? TypeAttr::get(type) : TypeAttr();
  }
  case AttributeCode::Unit:
    return UnitAttr::get(context);
  case AttributeCode::Integer:
    return reader.integerOf(reader.type());
  case AttributeCode::Float:
    return reader.floatOf(reader.type());
  case AttributeCode::DenseElements:
    return reader.elementsOf(reader.type());
  case AttributeCode::CallSiteLoc:
  case AttributeCode::FileLineColLoc:
  case AttributeCode::FileLineColRange:
  case AttributeCode::FusedLoc:
  case AttributeCode::FusedLocWithMetadata:
  case AttributeCode::NameLoc:
  case AttributeCode::UnknownLoc:
    return readLocation(reader, code);
  default:
    reader.fault("builtin attribute of code " + Twine(number) + " is not supported");
    return Attribute();
  }
}

Type mlir::vhlo::readBuiltinType(EntryReader &reader) {
  MLIRContext *context = reader.getContext();
  uint64_t number = reader.number();
  switch (static_cast<TypeCode>(number)) {
  case TypeCode::Integer: {
    uint64_t value = reader.number(), width = value >> 2, signedness = value & 3;
    if (width == 0 || width > IntegerType::kMaxWidth || signedness > IntegerType::Unsigned)
      reader.fault("damaged bytecode: an integer type of " + Twine(width) + " bits");
    return reader.failed()
               ? Type()
               : IntegerType::get(context, static_cast<unsigned>(width),
                                  static_cast<IntegerType::SignednessSemantics>(signedness));
  }
  case TypeCode::Index:
    return IndexType::get(context);
  case TypeCode::Function: {
    SmallVector<Type> inputs = reader.types(), results = reader.types();
    return reader.failed() ? Type() : FunctionType::get(context, inputs, results);
  }
  case TypeCode::BFloat16:
    return BFloat16Type::get(context);
  case TypeCode::Float16:
    return Float16Type::get(context);
  case TypeCode::Float32:
    return Float32Type::get(context);
  case TypeCode::Float64:
    return Float64Type::get(context);
  case TypeCode::Float8E5M2:
    return Float8E5M2Type::get(context);
  case TypeCode::Float8E4M3:
    return Float8E4M3Type::get(context);
  case TypeCode::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TypeCode::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TypeCode::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TypeCode::Float8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case TypeCode::Float8E3M4:
    return Float8E3M4Type::get(context);
  case TypeCode::Float4E2M1FN:
    return Float4E2M1FNType::get(context);
  case TypeCode::Float6E2M3FN:
    return Float6E2M3FNType::get(context);
  case TypeCode::Float6E3M2FN:
    return Float6E3M2FNType::get(context);
  case TypeCode::Float8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case TypeCode::Complex:
    return makeComplexType(reader, reader.type());
  case TypeCode::None:
    return NoneType::get(context);
  case TypeCode::RankedTensor: {
    SmallVector<int64_t> shape = reader.signedNumbers();
    return makeTensorType(reader, shape, reader.type());
  }
  case TypeCode::Tuple: {
    SmallVector<Type> types = reader.types();
    return reader.failed() ? Type() : TupleType::get(context, types);
  }
  default:
    reader.fault("builtin type of code " + Twine(number) + " is not supported");
    return Type();
  }
}
