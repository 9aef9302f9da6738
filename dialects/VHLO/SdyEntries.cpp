// Attributes of the sdy dialect. Some of them occur only inside other attributes and have no class
// in St: the reader decodes those to builtin attributes.
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/VHLO/Entries.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::vhlo;

namespace {
enum class AttributeCode : uint64_t {
  ManualAxes,
  MeshAxis,
  Mesh,
  SubAxisInfo,
  AxisRef,
  DimensionSharding,
  TensorSharding,
  ShardingPerValue,
  DimMapping,
  TensorMapping,
  ShardingRule,
  AxisRefList,
  AxisRefLists,
  AllToAllParam,
  AllToAllParams,
  TensorShardingUnreduced,
  ShardingPerValueUnreduced,
  TensorShardingReduction
};
} // namespace

static SmallVector<StringAttr> readNames(EntryReader &reader) {
  return reader.list<StringAttr>([&] { return reader.attributeOf<StringAttr>("an axis"); });
}

static ArrayAttr readArray(EntryReader &reader) {
  SmallVector<Attribute> elements = reader.attributes();
  return reader.failed() ? ArrayAttr() : ArrayAttr::get(reader.getContext(), elements);
}

static Attribute readMeshAxis(EntryReader &reader) {
  Builder b(reader.getContext());
  StringRef name = reader.string();
  int64_t size = reader.signedNumber();
  return b.getArrayAttr({b.getStringAttr(name), b.getI64IntegerAttr(size)});
}

static Attribute readMesh(EntryReader &reader) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (uint64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    auto axis = reader.attributeOf<ArrayAttr>("an axis of a mesh");
    if (!axis || axis.size() != 2 || !isa<StringAttr>(axis[0]) || !isa<IntegerAttr>(axis[1])) {
      reader.fault("damaged bytecode: expected an axis of a mesh");
      break;
    }
    names.push_back(cast<StringAttr>(axis[0]));
    sizes.push_back(cast<IntegerAttr>(axis[1]).getValue().getSExtValue());
  }
  SmallVector<int64_t> devices = reader.signedNumbers();
  if (reader.failed())
    return Attribute();
  auto emit = [&] { return emitError(reader.getLoc()); };
  if (failed(sdy::MeshAttr::verify(emit, names, sizes, devices))) {
    reader.getFaults().setFailed();
    return Attribute();
  }
  return sdy::MeshAttr::get(reader.getContext(), names, sizes, devices);
}

/// An axis, or a part of one as "a:(1)2".
static Attribute readAxis(EntryReader &reader) {
  std::string name = reader.string().str();
  if (Attribute part = reader.optionalAttribute()) {
    if (auto text = dyn_cast<StringAttr>(part))
      name += text.getValue();
    else
      reader.fault("damaged bytecode: expected a part of an axis");
  }
  return StringAttr::get(reader.getContext(), name);
}

static Attribute readSubAxis(EntryReader &reader) {
  int64_t before = reader.signedNumber(), size = reader.signedNumber();
  return StringAttr::get(reader.getContext(), ":(" + Twine(before) + ")" + Twine(size));
}

/// Reads a dimension's axes, whether it is open, and its priority or -1.
static Attribute readDimension(EntryReader &reader) {
  Builder b(reader.getContext());
  SmallVector<StringAttr> axes = readNames(reader);
  bool isClosed = reader.byte() != 0;
  // An optional number. The flag is true if it is present.
  auto [priority, hasPriority] = reader.numberAndFlag();
  if (reader.failed())
    return Attribute();
  return b.getArrayAttr({b.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())),
                         b.getBoolAttr(!isClosed),
                         b.getI64IntegerAttr(hasPriority ? static_cast<int64_t>(priority) : -1)});
}

static Attribute readSharding(EntryReader &reader, bool hasUnreduced, bool hasReduction) {
  SmallVector<ArrayAttr> dims;
  SmallVector<bool> open;
  SmallVector<int64_t> priorities;
  auto mesh = reader.attributeOf<FlatSymbolRefAttr>("the name of a sharding's mesh");
  for (uint64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    auto dim = reader.attributeOf<ArrayAttr>("the sharding of a dimension");
    if (!dim || dim.size() != 3 || !isa<ArrayAttr>(dim[0]) || !isa<BoolAttr>(dim[1]) ||
        !isa<IntegerAttr>(dim[2])) {
      reader.fault("damaged bytecode: expected the sharding of a dimension");
      break;
    }
    dims.push_back(cast<ArrayAttr>(dim[0]));
    open.push_back(cast<BoolAttr>(dim[1]).getValue());
    priorities.push_back(cast<IntegerAttr>(dim[2]).getValue().getSExtValue());
  }
  SmallVector<StringAttr> replicated = readNames(reader);
  SmallVector<StringAttr> unreduced = hasUnreduced ? readNames(reader) : SmallVector<StringAttr>();
  if (hasReduction && reader.signedNumber() != 0)
    reader.fault("a sharding is unreduced by something else than a sum: not supported");
  return reader.failed()
             ? Attribute()
             : Attribute(sdy::TensorShardingAttr::get(reader.getContext(), mesh, dims, open,
                                                      priorities, replicated, unreduced));
}

static Attribute readShardings(EntryReader &reader) {
  auto shardings = reader.list<sdy::TensorShardingAttr>(
      [&] { return reader.attributeOf<sdy::TensorShardingAttr>("a sharding"); });
  return reader.failed()
             ? Attribute()
             : Attribute(sdy::TensorShardingPerValueAttr::get(reader.getContext(), shardings));
}

/// A factor of a rule: i to z, then z_1, z_2, ...
static std::string nameFactor(EntryReader &reader, int64_t factor) {
  constexpr int64_t kLetters = 'z' - 'i' + 1;
  if (factor < 0)
    reader.fault("damaged bytecode: factor " + Twine(factor) + " of a sharding rule");
  if (factor >= kLetters)
    return ("z_" + Twine(factor - kLetters + 1)).str();
  return std::string(1, static_cast<char>('i' + factor));
}

/// The factors that one dimension has: "ij".
static Attribute readDimMapping(EntryReader &reader) {
  std::string text;
  for (int64_t factor : reader.signedNumbers())
    text += nameFactor(reader, factor);
  return StringAttr::get(reader.getContext(), text);
}

/// A list of texts, joined: "i, j".
static std::string readTexts(EntryReader &reader) {
  auto texts = reader.list<StringRef>([&] {
    auto text = reader.attributeOf<StringAttr>("a part of a sharding rule");
    return text ? text.getValue() : StringRef();
  });
  return llvm::join(texts, ", ");
}

/// A rule's text, as Shardy prints it: `([i, j])->([i, j]) {i=8, j=4} need_replication={j},
/// custom`.
static Attribute readShardingRule(EntryReader &reader) {
  std::string text, sizes;
  for (auto [i, size] : llvm::enumerate(reader.signedNumbers()))
    sizes += (i == 0 ? "" : ", ") + nameFactor(reader, static_cast<int64_t>(i)) + "=" +
             std::to_string(size);
  text = "(" + readTexts(reader) + ")->(";
  text += readTexts(reader) + ")";
  if (!sizes.empty())
    text += " {" + sizes + "}";
  for (StringRef kind : {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    SmallVector<std::string> factors;
    for (int64_t factor : reader.signedNumbers())
      factors.push_back(nameFactor(reader, factor));
    if (!factors.empty())
      text += (" " + kind + "={" + llvm::join(factors, ", ") + "}").str();
  }
  if (reader.byte() != 0)
    text += ", custom";
  return reader.failed() ? Attribute()
                         : Attribute(sdy::OpShardingRuleAttr::get(reader.getContext(), text));
}

Attribute mlir::vhlo::readSdyAttribute(EntryReader &reader) {
  MLIRContext *context = reader.getContext();
  uint64_t number = reader.number();
  switch (static_cast<AttributeCode>(number)) {
  case AttributeCode::ManualAxes: {
    SmallVector<StringAttr> axes = readNames(reader);
    return reader.failed() ? Attribute() : Attribute(sdy::ManualAxesAttr::get(context, axes));
  }
  case AttributeCode::MeshAxis:
    return readMeshAxis(reader);
  case AttributeCode::Mesh:
    return readMesh(reader);
  case AttributeCode::SubAxisInfo:
    return readSubAxis(reader);
  case AttributeCode::AxisRef:
    return readAxis(reader);
  case AttributeCode::DimensionSharding:
    return readDimension(reader);
  case AttributeCode::TensorSharding:
    return readSharding(reader, /*hasUnreduced=*/false, /*hasReduction=*/false);
  case AttributeCode::TensorShardingUnreduced:
    return readSharding(reader, /*hasUnreduced=*/true, /*hasReduction=*/false);
  case AttributeCode::TensorShardingReduction:
    return readSharding(reader, /*hasUnreduced=*/true, /*hasReduction=*/true);
  case AttributeCode::ShardingPerValue:
  case AttributeCode::ShardingPerValueUnreduced:
    return readShardings(reader);
  case AttributeCode::DimMapping:
    return readDimMapping(reader);
  case AttributeCode::TensorMapping:
    return StringAttr::get(context, "[" + readTexts(reader) + "]");
  case AttributeCode::ShardingRule:
    return readShardingRule(reader);
  case AttributeCode::AxisRefList:
  case AttributeCode::AxisRefLists:
    return readArray(reader);
  default:
    reader.fault("sdy attribute of code " + Twine(number) + " is not supported");
    return Attribute();
  }
}
