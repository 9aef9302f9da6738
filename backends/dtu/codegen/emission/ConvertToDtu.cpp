#include "backends/dtu/codegen/Passes.h"
#include "dialects/St/IR/ModuleFacts.h"

#include "backends/dtu/IR/Translation.h"
#include "backends/dtu/codegen/emission/TaskEmitter.h"
#include "backends/dtu/codegen/products/MatmulPlan.h"
#include "backends/dtu/isa/Validator.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Timing/DtuDescription.h"

#include "mlir/IR/Builders.h"

namespace mlir::dtu {
#define GEN_PASS_DEF_CONVERTTODTU
#include "backends/dtu/codegen/Passes.h.inc"
} // namespace mlir::dtu

using namespace mlir;
using namespace mlir::dtu;

static StringRef str(absl::string_view text) { return {text.data(), text.size()}; }

FailureOr<::st::proto::DtuDescription> mlir::dtu::getDescription(ModuleOp module) {
  std::string name = "dtu-t10";
  if (auto target = module->getAttrOfType<st::TargetAttr>("st.target"))
    name = target.getDevice().str();
  Attribute given = module->getAttr(kDescriptionAttr);
  auto text = dyn_cast_or_null<StringAttr>(given);
  if (given && !text)
    return module.emitError() << kDescriptionAttr << " is " << given << ", expected a string";
  auto description = text ? ::st::parseDtuDescription(text.getValue().str(), name)
                          : ::st::builtinDtuDescription(name);
  if (!description.ok())
    return module.emitError() << str(description.status().message());
  return *description;
}

namespace {
class ConvertToDtuPass : public mlir::dtu::impl::ConvertToDtuBase<ConvertToDtuPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult convert(mlir::st::ProgramOp program, const Machine &machine, KnownTilings &tilings,
                        const ::st::proto::DtuDescription &description,
                        const hw::MachineLimits &limits);
  static Attribute constantsAttr(OpBuilder &builder,
                                 ArrayRef<std::pair<int64_t, DenseElementsAttr>> constants);
};
} // namespace

Attribute
ConvertToDtuPass::constantsAttr(OpBuilder &builder,
                                ArrayRef<std::pair<int64_t, DenseElementsAttr>> constants) {
  SmallVector<Attribute> list;
  for (auto &[offset, value] : constants)
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("data", value),
         builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset))}));
  return builder.getArrayAttr(list);
}

/// The places of the ranks of a program.
static FailureOr<std::vector<::st::DtuPlace>>
placesOf(mlir::st::ProgramOp program, const ::st::proto::DtuDescription &description) {
  std::vector<::st::DtuPlace> places;
  for (int64_t device : program.getDevices()) {
    absl::StatusOr<::st::DtuPlace> place = ::st::dtuPlace(description, device);
    if (!place.ok())
      return program.emitOpError("is on ") << str(place.status().message());
    places.push_back(*place);
  }
  return places;
}

LogicalResult ConvertToDtuPass::convert(mlir::st::ProgramOp program, const Machine &machine,
                                        KnownTilings &tilings,
                                        const ::st::proto::DtuDescription &description,
                                        const hw::MachineLimits &limits) {
  mlir::st::MeshOp mesh = mlir::st::getMesh(program);
  if (!mesh)
    return program.emitOpError("has no mesh");
  FailureOr<std::vector<::st::DtuPlace>> places = placesOf(program, description);
  if (failed(places))
    return failure();
  ::st::DtuRings rings(description, std::move(*places));
  RankTable table(program, mesh);
  SmallVector<std::pair<int64_t, DenseElementsAttr>> constants;
  SmallVector<std::pair<mlir::st::TaskOp, hw::Program>> programs;
  for (auto task : program.getBody().getOps<mlir::st::TaskOp>()) {
    TaskEmitter emitter(task, machine, tilings, table, rings);
    FailureOr<hw::Program> code = emitter.run();
    if (failed(code))
      return failure();
    if (absl::Status status = hw::validate(*code, limits); !status.ok())
      return task.emitOpError("was lowered to invalid code: ") << str(status.message());
    for (const hw::Stream &stream : code->streams)
      numInstructions += stream.instructions.size();
    constants.append(emitter.constants);
    programs.push_back({task, std::move(*code)});
  }
  OpBuilder builder(program.getContext());
  for (auto &[task, code] : programs) {
    Block &body = task.getBody().front();
    while (!body.empty()) {
      body.back().dropAllUses();
      body.back().erase();
    }
    builder.setInsertionPointToStart(&body);
    importProgram(builder, task.getLoc(), code);
  }
  program->setAttr(kRankTableAttr, builder.getDenseI64ArrayAttr(table.getTables()));
  program->setAttr(kTableSizeAttr, builder.getI64IntegerAttr(table.size()));
  program->setAttr(kConstantsAttr, constantsAttr(builder, constants));
  return success();
}

static LogicalResult refuseHost(mlir::st::ProgramOp program, StringRef device) {
  for (auto buffer : program.getOps<mlir::st::BufferOp>())
    if (buffer.isOnHost())
      return buffer.emitOpError("is in the host's memory, to which ")
             << device
             << " has no link; expected host_gbytes_per_second and host_latency_ns in its "
                "description";
  return success();
}

static constexpr mlir::st::FactContract kContract = {
    {mlir::st::Fact::Programs, mlir::st::Fact::Addresses},
    {mlir::st::Fact::TensorOps, mlir::st::Fact::DeviceCode}};

void ConvertToDtuPass::runOnOperation() {
  if (failed(mlir::st::checkFacts(getOperation(), getArgument(), kContract)))
    return signalPassFailure();
  FailureOr<::st::proto::DtuDescription> description = mlir::dtu::getDescription(getOperation());
  if (failed(description))
    return signalPassFailure();
  Machine machine(*description);
  KnownTilings tilings(machine);
  hw::MachineLimits limits = hw::machineLimits(*description);
  // The driver checks that the arena fits the device and prints a table of the memory's uses.
  limits.l3Bytes = int64_t(1) << 60;
  if (limits.hostBytes > 0)
    limits.hostBytes = hw::kNoHostLimit;
  for (auto program : getOperation().getOps<mlir::st::ProgramOp>())
    if (limits.hostBytes == 0 && failed(refuseHost(program, description->name())))
      return signalPassFailure();
  for (auto program : getOperation().getOps<mlir::st::ProgramOp>())
    if (failed(convert(program, machine, tilings, *description, limits)))
      return signalPassFailure();
}
