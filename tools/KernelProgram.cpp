#include "tools/KernelProgram.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

int64_t mlir::st::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  // Complex numbers are the widest.
  Type element = tensor.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 128;
  return tensor.getNumElements() * static_cast<int64_t>(llvm::divideCeil(bits, 8));
}

namespace {
/// Gives each value a separate address.
class TrivialPlan {
public:
  explicit TrivialPlan(mlir::st::ProgramOp program)
      : program(program), builder(program.getContext()) {}

  void run() {
    for (Operation &op : program.getBody().front())
      if (auto type =
              op.getAttrOfType<TypeAttr>(isa<mlir::st::BufferOp>(op) ? "type" : "local_type");
          type && !op.hasAttr("address"))
        op.setAttr("address", take(type.getValue(), slotsOf(&op), isOnHost(&op) ? hostEnd : end));
    for (auto task : program.getBody().getOps<mlir::st::TaskOp>())
      for (Operation &op : task.getBody().front())
        if (op.getNumResults() > 0 && !op.hasAttr("st.addresses"))
          plan(&op);
  }

private:
  mlir::st::ProgramOp program;
  Builder builder;
  int64_t end = 0, hostEnd = 0;

  static bool isOnHost(Operation *storage) {
    auto buffer = dyn_cast<mlir::st::BufferOp>(storage);
    return buffer && buffer.isOnHost();
  }

  int64_t slotsOf(Operation *op) {
    if (auto buffer = dyn_cast<mlir::st::BufferOp>(op))
      return buffer.getSlots();
    auto input = dyn_cast<mlir::st::InputOp>(op);
    return input && input.getMicroDim() >= 0 ? mlir::st::getMesh(program).getMicro() : 1;
  }

  mlir::st::AddressAttr take(Type type, int64_t slots, int64_t &end) {
    int64_t stride = static_cast<int64_t>(llvm::alignTo(mlir::st::tensorBytes(type), 64));
    int64_t offset = end;
    end += stride * slots;
    return mlir::st::AddressAttr::get(program.getContext(), offset, slots > 1 ? stride : 0, slots);
  }

  void plan(Operation *op) {
    SmallVector<Attribute> addresses;
    for (Value result : op->getResults())
      addresses.push_back(take(result.getType(), 1, end));
    if (auto read = dyn_cast<mlir::st::ReadOp>(op)) {
      Operation *storage = SymbolTable::lookupSymbolIn(program, read.getSourceAttr());
      if (!isOnHost(storage))
        addresses[0] = storage->getAttr("address");
    }
    if (isa<stablehlo::ReshapeOp>(op))
      addresses[0] = cast<ArrayAttr>(op->getOperand(0).getDefiningOp()->getAttr("st.addresses"))[0];
    op->setAttr("st.addresses", builder.getArrayAttr(addresses));
  }
};
} // namespace

/// Turns function @main into a program whose inputs and outputs are its arguments and results.
static void wrapFunction(ModuleOp module, func::FuncOp function) {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  auto mesh = mlir::st::MeshOp::create(builder, loc, "mesh", builder.getStrArrayAttr({"t"}),
                                       ArrayRef<int64_t>{1}, 1);
  auto meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  auto program = mlir::st::ProgramOp::create(builder, loc, "group0", ArrayRef<int64_t>{0},
                                             ArrayRef<int64_t>{0}, 0, mesh.getSymName());
  builder.createBlock(&program.getBody());
  auto replicated = [&](Type type) {
    return mlir::st::ShardingAttr::getReplicated(meshName, cast<RankedTensorType>(type).getRank());
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    std::string name = "arg" + std::to_string(i);
    mlir::st::InputOp::create(builder, loc, name, name, "batch", type, replicated(type), type, -1,
                              {});
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    std::string name = "result" + std::to_string(i);
    mlir::st::OutputOp::create(builder, loc, name, name, "metric", type, replicated(type), type,
                               {});
  }
  auto task = mlir::st::TaskOp::create(builder, loc, "main", "forward", 0);
  Block *body = builder.createBlock(&task.getBody(), {}, {builder.getIndexType()}, {loc});
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    argument.replaceAllUsesWith(mlir::st::ReadOp::create(builder, loc, argument.getType(),
                                                         "arg" + std::to_string(i), Value()));
  Operation *terminator = function.getBody().front().getTerminator();
  body->getOperations().splice(body->end(), function.getBody().front().getOperations(),
                               function.getBody().front().begin(), terminator->getIterator());
  for (auto [i, result] : llvm::enumerate(terminator->getOperands()))
    mlir::st::WriteOp::create(builder, loc, result, "result" + std::to_string(i), Value(), {});
  function.erase();
}

static void addSchedule(mlir::st::ProgramOp program) {
  if (!program.getBody().getOps<mlir::st::ScheduleOp>().empty())
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
  SmallVector<Attribute> tasks;
  SmallVector<int64_t> microBatches;
  for (auto task : program.getBody().getOps<mlir::st::TaskOp>())
    for (int64_t mb = 0, end = task.isPerMicroBatch() ? mlir::st::getMesh(program).getMicro() : 1;
         mb < end; ++mb) {
      tasks.push_back(FlatSymbolRefAttr::get(task.getSymNameAttr()));
      microBatches.push_back(mb);
    }
  mlir::st::ScheduleOp::create(builder, program.getLoc(), builder.getStringAttr("sequential"),
                               builder.getArrayAttr(tasks),
                               builder.getDenseI64ArrayAttr(microBatches));
}

void mlir::st::completePrograms(ModuleOp module) {
  if (auto function = module.lookupSymbol<func::FuncOp>("main"))
    wrapFunction(module, function);
  for (auto program : module.getOps<ProgramOp>()) {
    addSchedule(program);
    TrivialPlan(program).run();
  }
}
