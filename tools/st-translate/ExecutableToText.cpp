//===- ExecutableToText.cpp - st-translate --executable-to-text -----------===//
//
// Prints a training binary as text: the states, inputs and schedule of each device group, and the
// instructions of each task in the syntax of docs/dtu-isa.md.
//
//===----------------------------------------------------------------------===//

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Runtime/Program/Payload.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "lib/Support/StatusMacros.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/st-translate/CudaCommands.h"
#include "tools/st-translate/Translations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

#include "absl/strings/str_cat.h"

namespace proto = st::proto;

namespace mlir::st {
namespace {

class ExecutablePrinter {
public:
  explicit ExecutablePrinter(llvm::raw_ostream &os) : os(os) {}

  absl::Status print(const proto::Executable &program);

private:
  void printGroup(const proto::Group &group);
  void printState(const proto::State &state);
  void printInput(const proto::Input &input);
  void printSchedule(const proto::Group &group);
  absl::Status printTask(const proto::Executable &program, const proto::Task &task);
  void printType(const proto::TensorType &type);
  void printSlice(const proto::Slice &slice);

  llvm::raw_ostream &os;
};

} // namespace

static StringRef text(const std::string &string) { return string; }

void ExecutablePrinter::printType(const proto::TensorType &type) {
  os << "tensor<";
  for (int64_t size : type.shape())
    os << size << "x";
  os << StringRef(proto::ElementType_Name(type.element())).lower() << ">";
}

/// Prints the number of parts of each split dimension of the tensor or of a reshaped view.
void ExecutablePrinter::printSlice(const proto::Slice &slice) {
  if (slice.rows() != 0)
    os << " rows " << slice.first_row() << " to " << slice.first_row() + slice.rows() - 1;
  if (slice.view_size() != 0) {
    os << " as ";
    llvm::interleave(slice.view(), os, "x");
  }
  if (llvm::any_of(slice.counts(), [](int64_t count) { return count != 1; })) {
    os << " in ";
    llvm::interleave(slice.counts(), os, " x ");
    os << " parts";
  }
}

void ExecutablePrinter::printState(const proto::State &state) {
  os << "  state \"" << text(state.name()) << "\" " << text(state.role()) << " ";
  printType(state.global());
  printSlice(state.slice());
  os << " at " << state.offset();
  switch (state.init().kind()) {
  case proto::Initializer::ONES:
    os << ", ones";
    break;
  case proto::Initializer::CONSTANT:
    os << ", all " << state.init().value();
    break;
  case proto::Initializer::NORMAL:
    os << llvm::formatv(", normal of deviation {0} from stream {1}", state.init().stddev(),
                        state.init_stream());
    if (state.init().has_zero_row())
      os << ", row " << state.init().zero_row() << " zero";
    break;
  default:
    os << ", zeros";
  }
  os << "\n";
}

void ExecutablePrinter::printInput(const proto::Input &input) {
  os << "  input \"" << text(input.name()) << "\" " << text(input.role()) << " ";
  printType(input.global());
  printSlice(input.slice());
  os << " at " << input.offset();
  if (input.micro_dim() >= 0)
    os << ", micro-batches of dimension " << input.micro_dim() << " every " << input.micro_stride();
  os << "\n";
}

void ExecutablePrinter::printSchedule(const proto::Group &group) {
  os << "  schedule [";
  llvm::interleaveComma(group.schedule(), os, [&](const proto::ScheduleEntry &entry) {
    os << text(group.tasks(entry.task()).name()) << "(" << entry.micro_batch() << ")";
  });
  os << "]\n";
}

void ExecutablePrinter::printGroup(const proto::Group &group) {
  os << "\ngroup \"" << text(group.name()) << "\" stages [";
  llvm::interleaveComma(group.stages(), os);
  os << "] ranks " << group.first_rank() << " to "
     << group.first_rank() + group.device_ids_size() - 1 << " on devices [";
  llvm::interleaveComma(group.device_ids(), os);
  os << "]\n  arena " << group.arena_bytes() << " bytes";
  for (const proto::MemoryClass &part : group.memory())
    if (part.name() != "host")
      os << ", " << text(part.name()) << " " << part.bytes();
  os << "\n";
  if (group.host_arena_bytes() > 0)
    os << "  on the host " << group.host_arena_bytes() << " bytes\n";
  for (const proto::State &state : group.states())
    printState(state);
  for (const proto::Input &input : group.inputs())
    printInput(input);
  for (const proto::Output &output : group.outputs()) {
    os << "  output \"" << text(output.name()) << "\" " << text(output.role()) << " ";
    printType(output.global());
    os << " at " << output.offset() << "\n";
  }
  for (const proto::ConstantData &constant : group.constants())
    os << "  constant of " << constant.data().size() << " bytes at " << constant.offset() << "\n";
  for (int rank = 0; group.table_size() > 0 && rank < group.device_ids_size(); ++rank) {
    os << "  rank_table " << rank << " [";
    llvm::interleaveComma(ArrayRef<int64_t>(group.rank_tables().data() + rank * group.table_size(),
                                            group.table_size()),
                          os);
    os << "]\n";
  }
  printSchedule(group);
}

absl::Status ExecutablePrinter::printTask(const proto::Executable &executable,
                                          const proto::Task &task) {
  os << "\n  task \"" << text(task.name()) << "\" " << text(task.phase()) << " of stage "
     << task.stage() << "\n";
  if (executable.target() == "cuda") {
    printCudaTask(os, executable.cuda(), task);
    return absl::OkStatus();
  }
  auto program = ::st::dtu::decode(task.program());
  if (!program.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("task \"", task.name(), "\": ", program.status().message()));
  os << ::st::dtu::printProgram(*program);
  return absl::OkStatus();
}

absl::Status ExecutablePrinter::print(const proto::Executable &program) {
  const std::string &device =
      program.target() == "cuda" ? program.cuda().gpu().name() : program.dtu().name();
  os << "executable for " << text(program.target()) << " \"" << text(device) << "\", format "
     << program.format_version() << ", micro-batches " << program.micro_batches() << "\n";
  if (!program.summary().empty())
    os << text(program.summary()) << "\n";
  if (const proto::ModelInfo &model = program.model(); !model.model_type().empty())
    os << llvm::formatv("model {0}, task {1}, batch {2}, sequence {3}, vocabulary {4}\n",
                        model.model_type(), model.task(), model.batch(), model.sequence(),
                        model.vocabulary());
  if (!program.optimizer().kind().empty())
    os << llvm::formatv("optimizer {0}, learning rate {1}\n", program.optimizer().kind(),
                        program.optimizer().learning_rate());
  printCudaCode(os, program.cuda());
  for (const proto::Group &group : program.groups()) {
    printGroup(group);
    for (const proto::Task &task : group.tasks())
      ST_RETURN_IF_ERROR(printTask(program, task));
  }
  return absl::OkStatus();
}

static LogicalResult executableToText(llvm::SourceMgr &source, llvm::raw_ostream &os) {
  const llvm::MemoryBuffer *file = source.getMemoryBuffer(source.getMainFileID());
  auto fail = [&](const absl::Status &status) {
    llvm::errs() << oneLine((file->getBufferIdentifier() + ": error: ").str() +
                            std::string(status.message()))
                 << "\n";
    return failure();
  };
  auto payload = ::st::findPayload({file->getBufferStart(), file->getBufferSize()});
  if (!payload.ok())
    return fail(payload.status());
  auto program = ::st::parseExecutable(*payload);
  if (!program.ok())
    return fail(program.status());
  absl::Status printed = ExecutablePrinter(os).print(*program);
  return printed.ok() ? success() : fail(printed);
}

void registerExecutableToText() {
  static TranslateRegistration registration(
      "executable-to-text", "print the contents of a training binary, including its instructions",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return executableToText(*source, os);
      });
}

} // namespace mlir::st
