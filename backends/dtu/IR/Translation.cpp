// Both directions are visitors over Fields.h, which lists each instruction's fields once. An
// attribute has its field's name and is present unless it equals the field's default.
#include "backends/dtu/IR/Translation.h"
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dtu;
namespace isa = ::st::dtu;

static StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

// ---- instruction set -> dialect -----------------------------------------------------

namespace {
/// Turns the fields of one instruction into named attributes.
class AttributeWriter {
public:
  AttributeWriter(OpBuilder &builder, OperationState &state) : builder(builder), state(state) {}

  void reg(const char *key, uint8_t value) { integer(key, value, isa::kZero); }
  void integer(const char *key, int64_t value, int64_t standard) {
    if (value != standard)
      put(key, builder.getI64IntegerAttr(value));
  }
  void flag(const char *key, bool value) {
    if (value)
      put(key, builder.getUnitAttr());
  }
  void bits(const char *key, uint64_t value) { integer(key, static_cast<int64_t>(value), 0); }
  template <typename Enum> void enumeration(const char *key, Enum value, Enum standard) {
    if (value != standard)
      put(key, builder.getStringAttr(str(isa::name(value))));
  }
  void affine(const char *key, const isa::Affine &value) {
    if (!(value == isa::Affine()))
      put(key, attr(value));
  }
  void address(const char *key, const isa::Address &value) { put(key, attr(value)); }
  void view(const char *key, const isa::View &value) {
    put(key, ViewAttr::get(context(), attr(value.address), value.strides));
  }
  void extent(const char *key, const isa::Extent &value) { put(key, attr(value)); }
  void sizes(const char *key, const std::vector<isa::Extent> &value) {
    SmallVector<Attribute> extents;
    for (const isa::Extent &extent : value)
      extents.push_back(attr(extent));
    put(key, builder.getArrayAttr(extents));
  }
  void operand(const char *key, const isa::TileOperand &value) {
    put(key, OperandAttr::get(context(), str(isa::name(value.type)), attr(value.address),
                              value.rowStride, value.colStride));
  }
  void operands(const std::array<isa::TileOperand, 3> &value) {
    constexpr const char *keys[] = {"a", "b", "c"};
    for (auto [key, element] : llvm::zip_equal(keys, value))
      if (!(element == isa::TileOperand()))
        operand(key, element);
  }

private:
  OpBuilder &builder;
  OperationState &state;

  MLIRContext *context() { return builder.getContext(); }
  void put(const char *key, Attribute value) { state.addAttribute(key, value); }
  AffineAttr attr(const isa::Affine &value) {
    SmallVector<int64_t> terms;
    for (const isa::Affine::Term &term : value.terms)
      terms.append({static_cast<int64_t>(term.reg), term.coefficient});
    return AffineAttr::get(context(), value.constant, terms);
  }
  AddressAttr attr(const isa::Address &value) {
    return AddressAttr::get(context(), str(isa::name(value.space)), attr(value.offset),
                            attr(value.core));
  }
  ExtentAttr attr(const isa::Extent &value) {
    return ExtentAttr::get(context(), value.tile, value.reg, value.limit);
  }
};
} // namespace

static void importStream(OpBuilder &builder, Location loc, const isa::Stream &stream) {
  auto op = StreamOp::create(builder, loc, builder.getStringAttr(str(isa::name(stream.engine))),
                             builder.getI64IntegerAttr(stream.first),
                             builder.getI64IntegerAttr(stream.count));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  auto label = stream.labelStarts.begin();
  for (size_t i = 0; i <= stream.instructions.size(); ++i) {
    for (; label != stream.labelStarts.end() && label->first == static_cast<int64_t>(i); ++label)
      LabelOp::create(builder, loc, builder.getStringAttr(stream.labels[label->second]));
    if (i == stream.instructions.size())
      break;
    const isa::Instruction &instruction = stream.instructions[i];
    if (std::holds_alternative<isa::EndLoop>(instruction)) {
      builder.setInsertionPointAfter(builder.getInsertionBlock()->getParentOp());
      continue;
    }
    OperationState state(loc, (Twine("dtu.") + isa::mnemonic(instruction)).str());
    AttributeWriter writer(builder, state);
    std::visit(
        [&](const auto &fields) {
          isa::Fields<std::decay_t<decltype(fields)>>::visit(writer, fields);
        },
        instruction);
    bool isLoop = std::holds_alternative<isa::Loop>(instruction);
    if (isLoop)
      state.addRegion();
    Operation *op = builder.create(state);
    if (isLoop)
      builder.createBlock(&op->getRegion(0));
  }
}

ProgramOp mlir::dtu::importProgram(OpBuilder &builder, Location loc, const isa::Program &program) {
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto op = ProgramOp::create(
      builder, loc, builder.getStringAttr(program.name), number(program.semaphores),
      number(program.barriers), number(program.l1Bytes), number(program.l2Bytes),
      number(program.l3Bytes), number(program.tableSize), number(program.hostBytes));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  for (const isa::Stream &stream : program.streams)
    importStream(builder, loc, stream);
  return op;
}

// ---- dialect -> instruction set -----------------------------------------------------

namespace {
/// Fills the fields of one instruction from an op's attributes; keeps the first error.
class AttributeReader {
public:
  explicit AttributeReader(Operation *op) : op(op) {}

  std::string error;

  void reg(const char *key, uint8_t &value) {
    int64_t number = value;
    integer(key, number, isa::kZero);
    value = toRegister(number);
  }
  void integer(const char *key, int64_t &value, int64_t standard) {
    auto attribute = get<IntegerAttr>(key);
    value = attribute ? attribute.getInt() : standard;
  }
  void flag(const char *key, bool &value) { value = static_cast<bool>(get<UnitAttr>(key)); }
  void bits(const char *key, uint64_t &value) {
    int64_t number = 0;
    integer(key, number, 0);
    value = static_cast<uint64_t>(number);
  }
  template <typename Enum> void enumeration(const char *key, Enum &value, Enum standard) {
    auto attribute = get<StringAttr>(key);
    value = attribute ? toEnum<Enum>(attribute.getValue()) : standard;
  }
  void affine(const char *key, isa::Affine &value) {
    auto attribute = get<AffineAttr>(key);
    value = attribute ? toAffine(attribute) : isa::Affine();
  }
  void address(const char *key, isa::Address &value) {
    if (auto attribute = get<AddressAttr>(key))
      value = toAddress(attribute);
  }
  void view(const char *key, isa::View &value) {
    auto attribute = get<ViewAttr>(key);
    if (!attribute)
      return;
    value.address = toAddress(attribute.getAddress());
    value.strides = attribute.getStrides().vec();
  }
  void extent(const char *key, isa::Extent &value) {
    if (auto attribute = get<ExtentAttr>(key))
      value = toExtent(attribute);
  }
  void sizes(const char *key, std::vector<isa::Extent> &value) {
    auto attribute = get<ArrayAttr>(key);
    if (!attribute)
      return;
    for (Attribute element : attribute) {
      auto extent = dyn_cast<ExtentAttr>(element);
      if (!extent)
        return fail(Twine("expects ") + key + " to be a list of #dtu.extent");
      value.push_back(toExtent(extent));
    }
  }
  void operand(const char *key, isa::TileOperand &value) {
    auto attribute = get<OperandAttr>(key);
    if (!attribute)
      return;
    value = {toAddress(attribute.getAddress()), attribute.getRowStride(), attribute.getColStride(),
             toEnum<isa::DType>(attribute.getType())};
  }
  void operands(std::array<isa::TileOperand, 3> &value) {
    constexpr const char *keys[] = {"a", "b", "c"};
    for (auto [key, element] : llvm::zip_equal(keys, value))
      operand(key, element);
  }

private:
  Operation *op;

  void fail(const Twine &message) {
    if (error.empty())
      error = message.str();
  }
  /// The op's verifier has checked which attributes are required and of which kind.
  template <typename Attr> Attr get(const char *key) {
    return dyn_cast_or_null<Attr>(op->getAttr(key));
  }

  uint8_t toRegister(int64_t number) {
    if (number < 0 || number >= isa::kNumRegisters)
      fail(Twine("names register r") + Twine(number) + ", expected r0 to r" +
           Twine(isa::kNumRegisters - 1));
    return static_cast<uint8_t>(number);
  }
  template <typename Enum> Enum toEnum(StringRef text) {
    auto value = isa::fromName<Enum>(absl::string_view(text.data(), text.size()));
    if (!value)
      fail(Twine("has unknown name '") + text + "'");
    return value.value_or(Enum());
  }
  isa::Affine toAffine(AffineAttr attribute) {
    isa::Affine value;
    value.constant = attribute.getConstant();
    ArrayRef<int64_t> terms = attribute.getTerms();
    for (size_t i = 0; i + 1 < terms.size(); i += 2)
      value.terms.push_back({toRegister(terms[i]), terms[i + 1]});
    return value;
  }
  isa::Address toAddress(AddressAttr attribute) {
    return {toEnum<isa::Space>(attribute.getSpace()), toAffine(attribute.getOffset()),
            toAffine(attribute.getCore())};
  }
  isa::Extent toExtent(ExtentAttr attribute) {
    return {attribute.getTile(), toRegister(attribute.getReg()), attribute.getLimit()};
  }
};
} // namespace

/// The variant index of the instruction that an op's name denotes, or -1.
static int instructionIndex(StringRef name) {
  static const llvm::StringMap<int> indices = [] {
    llvm::StringMap<int> map;
    isa::Instruction instruction;
    for (int i = 0; isa::makeInstruction(i, instruction); ++i)
      map[isa::mnemonic(instruction)] = i;
    return map;
  }();
  auto it = indices.find(name);
  return it == indices.end() ? -1 : it->second;
}

static LogicalResult exportBlock(Block &block, isa::Stream &stream) {
  for (Operation &op : block) {
    int64_t position = stream.instructions.size();
    if (auto label = dyn_cast<LabelOp>(op)) {
      std::string name = label.getName().str();
      auto known = llvm::find(stream.labels, name);
      stream.labelStarts.push_back({position, known - stream.labels.begin()});
      if (known == stream.labels.end())
        stream.labels.push_back(name);
      continue;
    }
    StringRef mnemonic = op.getName().getStringRef();
    int index = mnemonic.consume_front("dtu.") ? instructionIndex(mnemonic) : -1;
    if (index < 0)
      return op.emitOpError("is not an instruction of a dtu.stream");
    isa::Instruction instruction;
    isa::makeInstruction(index, instruction);
    AttributeReader reader(&op);
    std::visit(
        [&](auto &fields) { isa::Fields<std::decay_t<decltype(fields)>>::visit(reader, fields); },
        instruction);
    if (!reader.error.empty())
      return op.emitOpError(reader.error);
    stream.instructions.push_back(std::move(instruction));
    if (auto loop = dyn_cast<LoopOp>(op)) {
      if (failed(exportBlock(loop.getBody().front(), stream)))
        return failure();
      stream.instructions.push_back(isa::EndLoop());
    }
  }
  return success();
}

FailureOr<isa::Program> mlir::dtu::exportProgram(ProgramOp op) {
  isa::Program program;
  program.name = op.getName().str();
  program.semaphores = op.getSemaphores();
  program.barriers = op.getBarriers();
  program.l1Bytes = op.getL1Bytes();
  program.l2Bytes = op.getL2Bytes();
  program.l3Bytes = op.getL3Bytes();
  program.hostBytes = op.getHostBytes();
  program.tableSize = op.getTableSize();
  for (Operation &child : op.getBody().front()) {
    auto streamOp = dyn_cast<StreamOp>(child);
    if (!streamOp)
      return child.emitOpError("is not allowed directly in a dtu.program");
    isa::Stream stream;
    StringRef engineName = streamOp.getEngine();
    auto engine =
        isa::fromName<isa::Engine>(absl::string_view(engineName.data(), engineName.size()));
    if (!engine)
      return streamOp.emitOpError("has unknown engine '") << engineName << "'";
    stream.engine = *engine;
    stream.first = streamOp.getFirst();
    stream.count = streamOp.getCount();
    if (failed(exportBlock(streamOp.getBody().front(), stream)))
      return failure();
    program.streams.push_back(std::move(stream));
  }
  return program;
}
