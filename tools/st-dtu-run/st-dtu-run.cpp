// Runs the programs of a module on simulated clusters: code generation and
// simulator together, against which tests hold the reference interpreter.
//
// Programs need no plan (tools/KernelProgram.h). One of device code runs as it is.
#include "backends/dtu/codegen/ExecutableBuilder.h"
#include "backends/dtu/codegen/Passes.h"
#include "backends/dtu/isa/Isa.h"
#include "st/InitAll.h"
#include "tools/CommandLine.h"
#include "tools/KernelProgram.h"
#include "tools/st-dtu-run/RunExecutable.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
struct Options {
  cl::opt<std::string> module{cl::Positional, cl::desc("module"), cl::init("-")};
  cl::opt<std::string> inputs{"inputs", cl::desc("safetensors file with states and inputs"),
                              cl::Required};
  cl::opt<std::string> outputs{"outputs", cl::desc("safetensors file for states and outputs"),
                               cl::Required};
  cl::opt<int64_t> shuffles{"shuffles", cl::desc("repetitions with other interleavings"),
                            cl::init(0)};
  cl::opt<std::string> dump{"dump-dtu", cl::desc("file for the generated IR")};
};

/// Gives everything an address of its own.
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
    auto tensor = cast<RankedTensorType>(type);
    int64_t bytes = tensor.getNumElements() *
                    ::st::dtu::byteWidth(
                        dtu::getDType(tensor.getElementType()).value_or(::st::dtu::DType::F64));
    int64_t stride = static_cast<int64_t>(llvm::alignTo(bytes, 64)), offset = end;
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

static bool hasDeviceCode(ModuleOp module) {
  return module.walk([](dtu::ProgramOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static LogicalResult runModule(const Options &options, ModuleOp module) {
  mlir::st::completePrograms(module);
  PassManager passes(module.getContext());
  if (!hasDeviceCode(module))
    passes.addPass(dtu::createConvertToDtu());
  if (failed(passes.run(module)))
    return failure();
  if (!options.dump.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream(options.dump, error) << module;
  }
  FailureOr<::st::proto::Executable> executable = dtu::buildExecutable(module);
  if (failed(executable))
    return failure();
  std::string report;
  absl::Status status =
      ::st::runExecutable(*executable, {options.inputs, options.outputs, options.shuffles}, report);
  if (status.ok()) {
    llvm::errs() << report << "\n";
    return success();
  }
  llvm::errs() << "st-dtu-run: error: " << std::string(status.message()) << "\n";
  return failure();
}

int main(int argc, char **argv) {
  mlir::st::hideLibraryOptions();
  Options options;
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Runs programs on simulated DTU clusters\n");
  DialectRegistry registry;
  mlir::st::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.module, &context);
  return module && succeeded(runModule(options, *module)) ? 0 : 1;
}
