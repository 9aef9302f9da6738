#include "dialects/VHLO/ModuleReader.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/RefusedOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/VHLO/OpTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::vhlo;

/// The limit for nested regions, as for text.
static constexpr unsigned kMaxDepth = 256;

namespace {
/// The parts of an op that follow its location.
enum OpParts : uint8_t {
  kAttributes = 0x01,
  kResults = 0x02,
  kOperands = 0x04,
  kSuccessors = 0x08,
  kRegions = 0x10,
  kUseListOrders = 0x20,
  kProperties = 0x40
};

/// The values, by number, that ops can use in a region isolated from above. The values of a nested
/// region follow those of the regions around it.
struct Scope {
  SmallVector<Value> values;
};

/// A region whose values are being defined.
struct OpenRegion {
  /// The number of its next value, and the number after its last value.
  size_t next, end;
};

class ModuleReader {
public:
  explicit ModuleReader(Entries &entries)
      : entries(entries), faults(entries.getFaults()), context(faults.getContext()) {}

  OwningOpRef<ModuleOp> read();

private:
  void readBlock(EntryReader &reader, Block &block, Scope &scope, OpenRegion &region,
                 unsigned depth);
  void readArguments(EntryReader &reader, Block &block, Scope &scope, OpenRegion &region);
  void readOp(EntryReader &reader, Block &block, Scope &scope, OpenRegion &region, unsigned depth);
  /// Reads the parts of an op. Returns true if its regions are isolated from above.
  bool readState(EntryReader &reader, const OpRow &row, uint8_t parts, const Scope &scope,
                 OperationState &state);
  void readRegions(EntryReader &reader, Operation *op, bool isIsolated, Scope &scope,
                   unsigned depth);
  void readRegion(EntryReader &reader, Region &region, Scope &scope, unsigned depth);
  void readOperands(EntryReader &reader, const Scope &scope, OperationState &state);
  void readAttributes(EntryReader &reader, const OpRow &row, uint8_t parts, OperationState &state);
  void skipUseListOrders(EntryReader &reader, size_t numValues);
  void define(ValueRange values, Scope &scope, OpenRegion &region);
  /// Creates the op. For a cast between types, forwards the operands and returns null.
  Operation *create(const OpRow &row, OperationState &state, Block &block, Scope &scope,
                    OpenRegion &region);
  void refuse(StringRef name);
  OperationName getTarget(const OpRow &row, Block &block);

  Entries &entries;
  FaultSink &faults;
  MLIRContext *context;
};
} // namespace

OwningOpRef<ModuleOp> ModuleReader::read() {
  const Container &container = entries.getContainer();
  EntryReader reader(ByteReader(container.ops, container.file, faults), entries);
  Block top;
  Scope scope;
  OpenRegion region = {0, 0};
  readBlock(reader, top, scope, region, 0);
  if (!faults.failed() && (!llvm::hasSingleElement(top) || !isa<ModuleOp>(top.front())))
    faults.report("expected one module");
  if (faults.failed())
    return nullptr;
  auto module = cast<ModuleOp>(top.front());
  module->remove();
  return module;
}

void ModuleReader::define(ValueRange values, Scope &scope, OpenRegion &region) {
  // No op uses results of the top level.
  if (region.end == 0)
    return;
  if (values.size() > region.end - region.next)
    return faults.report("damaged bytecode: a region has more values than it declares");
  for (Value value : values)
    scope.values[region.next++] = value;
}

void ModuleReader::readArguments(EntryReader &reader, Block &block, Scope &scope,
                                 OpenRegion &region) {
  for (uint64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    auto [index, hasLoc] = reader.numberAndFlag();
    Type type = entries.getType(index);
    Location loc = UnknownLoc::get(context);
    if (hasLoc)
      if (auto given = reader.attributeOf<LocationAttr>("a location"))
        loc = given;
    if (type)
      block.addArgument(type, loc);
  }
  if (!reader.failed())
    define(block.getArguments(), scope, region);
}

void ModuleReader::readBlock(EntryReader &reader, Block &block, Scope &scope, OpenRegion &region,
                             unsigned depth) {
  auto [numOps, hasArguments] = reader.numberAndFlag();
  if (hasArguments) {
    readArguments(reader, block, scope, region);
    if (!reader.failed() && reader.byte() != 0)
      skipUseListOrders(reader, block.getNumArguments());
  }
  for (; numOps > 0 && !reader.failed(); --numOps)
    readOp(reader, block, scope, region, depth);
}

/// The order of a value's use list has no meaning here.
void ModuleReader::skipUseListOrders(EntryReader &reader, size_t numValues) {
  uint64_t orders = numValues > 1 ? reader.count() : 1;
  for (; orders > 0 && !reader.failed(); --orders) {
    if (numValues > 1)
      reader.number();
    auto [numbers, isPairs] = reader.numberAndFlag();
    for (; numbers > 0 && !reader.failed(); --numbers)
      reader.number();
  }
}

void ModuleReader::readOperands(EntryReader &reader, const Scope &scope, OperationState &state) {
  for (uint64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    uint64_t index = reader.number();
    if (index >= scope.values.size() || !scope.values[index])
      return reader.fault("damaged bytecode: value " + Twine(index) +
                          " is used before it is defined");
    state.operands.push_back(scope.values[index]);
  }
}

void ModuleReader::readAttributes(EntryReader &reader, const OpRow &row, uint8_t parts,
                                  OperationState &state) {
  if (parts & kAttributes) {
    auto dictionary = reader.attributeOf<DictionaryAttr>("attributes");
    if (dictionary)
      state.attributes = NamedAttrList(dictionary);
  }
  if (!(parts & kProperties))
    return;
  ArrayRef<ArrayRef<uint8_t>> properties = entries.getContainer().properties;
  uint64_t index = reader.number();
  if (index >= properties.size())
    return reader.fault("damaged bytecode: properties " + Twine(index) + " of " +
                        Twine(properties.size()));
  readOpAttributes(row, EntryReader(reader.within(properties[index]), entries), state.attributes);
}

OperationName ModuleReader::getTarget(const OpRow &row, Block &block) {
  if (!row.target.empty())
    return OperationName(row.target, context);
  bool endsFunction = isa_and_nonnull<func::FuncOp>(block.getParentOp());
  return OperationName(endsFunction ? func::ReturnOp::getOperationName()
                                    : stablehlo::ReturnOp::getOperationName(),
                       context);
}

static bool makesToken(const OpRow &row) {
  return row.name == "vhlo.after_all_v1" || row.name == "vhlo.create_token_v1";
}

/// A token is sharded like a number, but its tensor has a dimension.
static Attribute shardTokens(Attribute attribute, TypeRange types) {
  auto given = dyn_cast_or_null<sdy::TensorShardingPerValueAttr>(attribute);
  if (!given || given.getShardings().size() != types.size())
    return attribute;
  MLIRContext *const context = given.getContext();
  SmallVector<sdy::TensorShardingAttr> shardings(given.getShardings());
  for (auto [sharding, type] : llvm::zip_equal(shardings, types))
    if (type == getTokenType(context) && sharding.getDims().empty())
      sharding = sdy::TensorShardingAttr::get(context, sharding.getMesh(),
                                              {ArrayAttr::get(context, {})}, {false}, {-1},
                                              sharding.getReplicated(), sharding.getUnreduced());
  return sdy::TensorShardingPerValueAttr::get(context, shardings);
}

static void shardTokens(OperationState &state) {
  const auto shard = [&](StringRef name, TypeRange types) {
    if (Attribute attribute = state.attributes.get(name))
      state.attributes.set(name, shardTokens(attribute, types));
  };
  shard("in_shardings", ValueRange(state.operands).getTypes());
  shard("out_shardings", state.types);
}

Operation *ModuleReader::create(const OpRow &row, OperationState &state, Block &block, Scope &scope,
                                OpenRegion &region) {
  // The types are already St's, so a cast converts nothing.
  if (row.name == "builtin.unrealized_conversion_cast") {
    if (TypeRange(state.types) != TypeRange(ValueRange(state.operands)) || !state.regions.empty())
      faults.report(row.name + ": damaged bytecode: it changes a type");
    else
      define(state.operands, scope, region);
    return nullptr;
  }
  if (makesToken(row)) {
    RankedTensorType token = getTokenType(context);
    if (TypeRange(state.types) != TypeRange(token) || !state.regions.empty()) {
      faults.report(row.name + ": damaged bytecode: it creates no token");
      return nullptr;
    }
    state.operands.clear();
    state.attributes.set("value", DenseElementsAttr::get(token, ArrayRef<bool>()));
  }
  if (row.name == "sdy.manual_computation")
    shardTokens(state);
  auto info = state.name.getRegisteredInfo();
  auto emit = [&] { return emitError(faults.getLoc()) << "'" << state.name << "': "; };
  if (!info || failed(info->verifyInherentAttrs(state.attributes, emit))) {
    if (!info)
      faults.report("op '" + state.name.getStringRef() + "' is not registered");
    faults.setFailed();
    return nullptr;
  }
  Operation *op = Operation::create(state);
  block.push_back(op);
  define(op->getResults(), scope, region);
  return op;
}

/// Reports the reason if St does not support any version of this StableHLO op.
void ModuleReader::refuse(StringRef name) {
  StringRef op = name;
  StringRef reason =
      op.consume_front("vhlo.") ? stablehlo::whyRefused(op.rsplit("_v").first) : StringRef();
  faults.report("op '" + name + (reason.empty() ? "' is not supported" : "' is refused: ") +
                reason);
}

void ModuleReader::readOp(EntryReader &reader, Block &block, Scope &scope, OpenRegion &region,
                          unsigned depth) {
  ArrayRef<std::string> names = entries.getContainer().opNames;
  uint64_t index = reader.number();
  uint8_t parts = reader.byte();
  auto loc = reader.attributeOf<LocationAttr>("a location");
  if (reader.failed())
    return;
  if (index >= names.size())
    return reader.fault("damaged bytecode: op " + Twine(index) + " of " + Twine(names.size()));
  const OpRow *row = findOp(names[index]);
  if (!row)
    return refuse(names[index]);

  OperationState state(loc, getTarget(*row, block));
  bool isIsolated = readState(reader, *row, parts, scope, state);
  if (reader.failed())
    return;
  if (Operation *op = create(*row, state, block, scope, region))
    if (op->getNumRegions() > 0)
      readRegions(reader, op, isIsolated, scope, depth + 1);
}

bool ModuleReader::readState(EntryReader &reader, const OpRow &row, uint8_t parts,
                             const Scope &scope, OperationState &state) {
  readAttributes(reader, row, parts, state);
  if (parts & kResults)
    state.addTypes(reader.types());
  if (parts & kOperands)
    readOperands(reader, scope, state);
  if (parts & kSuccessors)
    reader.fault(row.name + ": damaged bytecode: a branch");
  if (!reader.failed() && parts & kUseListOrders)
    skipUseListOrders(reader, state.types.size());
  if (reader.failed() || !(parts & kRegions))
    return false;
  auto [numRegions, isIsolated] = reader.numberAndFlag();
  if (numRegions > reader.size())
    reader.fault("damaged bytecode: " + Twine(numRegions) + " regions");
  for (; !reader.failed() && numRegions > 0; --numRegions)
    state.addRegion();
  return isIsolated;
}

void ModuleReader::readRegions(EntryReader &reader, Operation *op, bool isIsolated, Scope &scope,
                               unsigned depth) {
  if (depth > kMaxDepth)
    return reader.fault("regions nest more than " + Twine(kMaxDepth) + " deep");
  if (!isIsolated) {
    for (Region &region : op->getRegions())
      readRegion(reader, region, scope, depth);
    return;
  }
  auto [id, content] = reader.section();
  if (!reader.failed() && id != unsigned(SectionId::Ops))
    reader.fault("damaged bytecode: expected a section of ops");
  Scope inner;
  EntryReader section(reader.within(content), entries);
  for (Region &region : op->getRegions())
    readRegion(section, region, inner, depth);
}

void ModuleReader::readRegion(EntryReader &reader, Region &region, Scope &scope, unsigned depth) {
  uint64_t numBlocks = reader.count();
  if (numBlocks == 0 || reader.failed())
    return;
  if (numBlocks > 1)
    return reader.fault("damaged bytecode: a region of " + Twine(numBlocks) + " blocks");
  uint64_t numValues = reader.count();
  if (reader.failed())
    return;
  OpenRegion open = {scope.values.size(), scope.values.size() + numValues};
  scope.values.resize(open.end);
  readBlock(reader, region.emplaceBlock(), scope, open, depth);
  scope.values.resize(open.end - numValues);
}

OwningOpRef<ModuleOp> mlir::vhlo::readModule(Entries &entries) {
  return ModuleReader(entries).read();
}
