#include "lib/Hlo/HloTextParser.h"

#include "lib/Hlo/HloImporter.h"
#include "lib/Hlo/HloTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static constexpr int kDeepestShape = 64;

/// `{1,0:T(8,128)S(1)}`: the order of dimensions, and attributes of their storage.
static LogicalResult readLayout(HloTextCursor &cursor, hlo::Shape &shape) {
  // A brace after a space begins a computation.
  if (!cursor.takeAdjacent("{"))
    return success();
  while (cursor.peek() != ':' && cursor.peek() != '}') {
    int64_t dim = 0;
    if (failed(cursor.readInteger(dim)))
      return failure();
    shape.mutable_layout()->add_minor_to_major(dim);
    if (!cursor.take(","))
      break;
  }
  StringRef rest;
  while (cursor.take(":") || cursor.take(","))
    if (failed(cursor.readValueText(rest)))
      return failure();
  return cursor.expect("}");
}

/// The rest of a shape whose element type has been read.
static LogicalResult readArrayShape(HloTextCursor &cursor, size_t start, StringRef element,
                                    hlo::Shape &shape) {
  std::optional<HloElement> type = elementNamed(element);
  if (!type)
    return cursor.failAt(start, "unknown element type \"" + element + "\"");
  shape.set_element_type(static_cast<int32_t>(*type));
  auto readDim = [&]() -> LogicalResult {
    if (cursor.peek() == '<' || cursor.peek() == '?')
      return cursor.fail("a dimension of dynamic size cannot be imported");
    int64_t size = 0;
    if (failed(cursor.readInteger(size)))
      return failure();
    shape.add_dimensions(size);
    return success();
  };
  if (failed(cursor.readList("[", "]", readDim)))
    return failure();
  return readLayout(cursor, shape);
}

static LogicalResult readShape(HloTextCursor &cursor, hlo::Shape &shape, int depth) {
  if (depth > kDeepestShape)
    return cursor.fail("tuples nest too deep");
  if (cursor.peek() == '(') {
    shape.set_element_type(static_cast<int32_t>(HloElement::Tuple));
    return cursor.readList("(", ")",
                           [&] { return readShape(cursor, *shape.add_tuple_shapes(), depth + 1); });
  }
  size_t start = cursor.here();
  StringRef element;
  if (failed(cursor.readName(element, "a shape")))
    return failure();
  return readArrayShape(cursor, start, element, shape);
}

LogicalResult mlir::st::readHloShape(HloTextCursor &cursor, hlo::Shape &shape) {
  return readShape(cursor, shape, 0);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
class HloTextParser {
public:
  HloTextParser(StringRef text, StringRef name, MLIRContext *context)
      : cursor(text, name, context), module(std::make_unique<hlo::Module>()) {}
  std::unique_ptr<hlo::Module> run();

private:
  using Names = llvm::StringMap<int64_t>;
  LogicalResult readHeader();
  LogicalResult readAliases();
  LogicalResult readAlias();
  LogicalResult readDonor();
  LogicalResult readTable();
  LogicalResult readComputation();
  LogicalResult readInstruction(hlo::Computation &computation, Names &names);
  LogicalResult readOperands(hlo::Instruction &at, const Names &names);
  LogicalResult readOperand(hlo::Instruction &at, const Names &names);

  HloTextCursor cursor;
  std::unique_ptr<hlo::Module> module;
  Names computations;
  int64_t nextId = 1;
};
} // namespace

/// `{0}: (1, {}, may-alias)`: a result that shares the memory of a parameter.
LogicalResult HloTextParser::readAlias() {
  hlo::InputOutputAlias::Entry &entry = *module->mutable_input_output_alias()->add_entries();
  int64_t parameter = 0;
  StringRef kind;
  if (failed(cursor.readIntegers("{", "}", [&](int64_t i) { entry.add_output_shape_index(i); })) ||
      failed(cursor.expect(":")) || failed(cursor.expect("(")) ||
      failed(cursor.readInteger(parameter)) || failed(cursor.expect(",")) ||
      failed(cursor.readIntegers("{", "}", [&](int64_t i) { entry.add_parameter_shape_index(i); })))
    return failure();
  entry.set_parameter_number(parameter);
  if (cursor.take(",") && failed(cursor.readName(kind, "a kind of alias")))
    return failure();
  return cursor.expect(")");
}

/// `(1, {})`: a parameter whose memory may be reused.
LogicalResult HloTextParser::readDonor() {
  hlo::BufferDonor::Entry &entry = *module->mutable_buffer_donor()->add_entries();
  int64_t parameter = 0;
  if (failed(cursor.expect("(")) || failed(cursor.readInteger(parameter)) ||
      failed(cursor.expect(",")) ||
      failed(cursor.readIntegers("{", "}", [&](int64_t i) { entry.add_parameter_shape_index(i); })))
    return failure();
  entry.set_parameter_number(parameter);
  return cursor.expect(")");
}

LogicalResult HloTextParser::readHeader() {
  StringRef name;
  if (failed(cursor.expect("HloModule")) || failed(cursor.readName(name, "the module's name")))
    return failure();
  module->set_name(name.str());
  while (cursor.take(",")) {
    StringRef attribute;
    if (failed(cursor.readName(attribute, "an attribute's name")) || failed(cursor.expect("=")))
      return failure();
    if (attribute == "input_output_alias") {
      if (failed(cursor.readList("{", "}", [&] { return readAlias(); })))
        return failure();
    } else if (attribute == "buffer_donor") {
      if (failed(cursor.readList("{", "}", [&] { return readDonor(); })))
        return failure();
    } else if (attribute == "frontend_attributes") {
      if (failed(readFrontendAttributes(cursor, *module->mutable_frontend_attributes())))
        return failure();
    } else if (failed(cursor.skipValue())) {
      return failure();
    }
  }
  return success();
}

/// Tables of places in sources: numbered rows of strings and braces.
LogicalResult HloTextParser::readTable() {
  while (llvm::isDigit(cursor.peek())) {
    int64_t number = 0;
    if (failed(cursor.readInteger(number)) || failed(cursor.skipValue()))
      return failure();
  }
  return success();
}

LogicalResult HloTextParser::readComputation() {
  bool isEntry = cursor.take("ENTRY ");
  size_t start = cursor.here();
  StringRef name;
  if (failed(cursor.readName(name, "a computation's name")))
    return failure();
  if (!isEntry && (name == "FileNames" || name == "FunctionNames" || name == "FileLocations" ||
                   name == "StackFrames"))
    return readTable();
  hlo::Computation &computation = *module->add_computations();
  computation.set_name(name.str());
  computation.set_id(nextId++);
  if (isEntry)
    module->set_entry_id(computation.id());
  // The instructions repeat the shapes of parameters and result.
  hlo::Shape result;
  if (cursor.peek() == '(' && failed(cursor.readList("(", ")", [&]() -> LogicalResult {
        StringRef parameter;
        hlo::Shape shape;
        return success(succeeded(cursor.readName(parameter, "a parameter's name")) &&
                       succeeded(cursor.expect(":")) && succeeded(readHloShape(cursor, shape)));
      })))
    return failure();
  if (cursor.take("->") && failed(readHloShape(cursor, result)))
    return failure();
  if (failed(cursor.expect("{")))
    return failure();
  Names names;
  while (!cursor.take("}"))
    if (failed(readInstruction(computation, names)))
      return failure();
  while (cursor.take(","))
    if (failed(cursor.skipValue()))
      return failure();
  if (computation.root_id() == 0)
    return cursor.failAt(start, "computation \"" + name + "\" has no ROOT");
  if (!computations.try_emplace(name, computation.id()).second)
    return cursor.failAt(start, "computation \"" + name + "\" appears twice");
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// `%name`, or the operand's shape before it.
LogicalResult HloTextParser::readOperand(hlo::Instruction &at, const Names &names) {
  StringRef name;
  hlo::Shape shape;
  if (cursor.peek() == '(' && failed(readHloShape(cursor, shape)))
    return failure();
  size_t start = cursor.here();
  if (failed(cursor.readName(name, "an operand")))
    return failure();
  if (cursor.peek() == '[') {
    if (failed(readArrayShape(cursor, start, name, shape)))
      return failure();
    start = cursor.here();
    if (failed(cursor.readName(name, "an operand")))
      return failure();
  }
  auto found = names.find(name);
  if (found == names.end())
    return cursor.failAt(start, "\"" + name + "\" is used before its definition");
  at.add_operand_ids(found->second);
  return success();
}

LogicalResult HloTextParser::readOperands(hlo::Instruction &at, const Names &names) {
  if (at.opcode() == "parameter") {
    int64_t number = 0;
    if (failed(cursor.expect("(")) || failed(cursor.readInteger(number)))
      return failure();
    at.set_parameter_number(number);
    return cursor.expect(")");
  }
  if (at.opcode() == "constant") {
    *at.mutable_literal()->mutable_shape() = at.shape();
    // Elements are in the order of the dimensions, independent of the layout.
    at.mutable_literal()->mutable_shape()->clear_layout();
    return success(succeeded(cursor.expect("(")) &&
                   succeeded(readHloLiteral(cursor, *at.mutable_literal())) &&
                   succeeded(cursor.expect(")")));
  }
  return cursor.readList("(", ")", [&] { return readOperand(at, names); });
}

LogicalResult HloTextParser::readInstruction(hlo::Computation &computation, Names &names) {
  bool isRoot = cursor.take("ROOT ");
  size_t start = cursor.here();
  hlo::Instruction &at = *computation.add_instructions();
  StringRef name, opcode;
  if (failed(cursor.readName(name, "an instruction's name")) || failed(cursor.expect("=")) ||
      failed(readHloShape(cursor, *at.mutable_shape())) ||
      failed(cursor.readName(opcode, "an opcode")))
    return failure();
  at.set_name(name.str());
  at.set_opcode(opcode.str());
  at.set_id(nextId++);
  if (failed(readOperands(at, names)))
    return failure();
  HloAttributeReader attributes(cursor, computations, at);
  while (cursor.take(","))
    if (failed(attributes.read()))
      return failure();
  attributes.finish();
  if (isRoot && computation.root_id() != 0)
    return cursor.failAt(start, "computation \"" + computation.name() + "\" has two ROOTs");
  if (isRoot)
    computation.set_root_id(at.id());
  if (!names.try_emplace(name, at.id()).second)
    return cursor.failAt(start, "instruction \"" + name + "\" appears twice");
  return success();
}

std::unique_ptr<hlo::Module> HloTextParser::run() {
  if (failed(readHeader()))
    return nullptr;
  while (!cursor.atEnd())
    if (failed(readComputation()))
      return nullptr;
  if (module->entry_id() == 0) {
    (void)cursor.fail("expected an ENTRY computation");
    return nullptr;
  }
  return std::move(module);
}

std::unique_ptr<hlo::Module> mlir::st::parseHloText(StringRef text, StringRef name,
                                                    MLIRContext *context) {
  return HloTextParser(text, name, context).run();
}
