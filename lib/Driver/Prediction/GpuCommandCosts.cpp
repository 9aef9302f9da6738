#include "lib/Driver/Prediction/GpuCommandCosts.h"

#include "absl/strings/str_cat.h"
#include "lib/Costs/ElementWidth.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace mlir::st;
namespace proto = ::st::proto;
using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

namespace {
class CommandTimer {
public:
  CommandTimer(const proto::CudaCode &code, const ::st::Costs &costs,
               std::vector<TimedCommand> &out)
      : code(code), costs(costs), out(out) {}

  /// Returns false if the trip count of a loop depends on data.
  bool add(const Commands &commands);

private:
  bool addLoop(const proto::CudaLoop &loop);
  void time(const proto::CudaLaunch &launch, TimedCommand &timed) const;
  void time(const proto::CudaProduct &product, TimedCommand &timed) const;
  void time(const proto::CudaAttention &attention, TimedCommand &timed) const;
  void time(const proto::CudaCopy &copy, TimedCommand &timed) const;
  double timeOfBytes(double bytes) const;

  const proto::CudaCode &code;
  const ::st::Costs &costs;
  std::vector<TimedCommand> &out;
};
} // namespace

/// Tensor cores process f32 as TF32 at half the rate of 16 bits (NVIDIA's data sheets of the A100
/// and the H100), so this counts twice the operations in 16 bits.
static void useTensorCores(proto::OpWork &work) {
  work.set_type(proto::BF16);
  work.set_flops(2 * work.flops());
}

double CommandTimer::timeOfBytes(double bytes) const {
  proto::OpWork work;
  work.set_read_bytes(bytes);
  return costs.op(work).device;
}

static const char *nameOf(proto::ElementType type) {
  return type == proto::BF16  ? "bf16"
         : type == proto::F16 ? "f16"
         : type == proto::F64 ? "f64"
                              : "f32";
}

/// Sets the time from the costs of `work`.
static void setWork(const ::st::Costs &costs, const proto::OpWork &work, TimedCommand &timed) {
  timed.us = costs.op(work).device;
  timed.flops = work.flops();
  timed.moved = work.read_bytes() + work.written_bytes();
}

void CommandTimer::time(const proto::CudaLaunch &launch, TimedCommand &timed) const {
  const proto::CudaKernel &kernel = code.kernels(static_cast<int>(launch.kernel()));
  timed.name = kernel.name();
  timed.moved = kernel.bytes();
  timed.us = timeOfBytes(kernel.bytes());
  if (kernel.product_flops() == 0)
    return;
  // For products fused with other ops only the number of operations is known; they run at the rate
  // of large products.
  timed.work = TimedCommand::Attention;
  timed.flops = kernel.product_flops();
  timed.us = std::max(timed.us,
                      kernel.product_flops() / costs.fastestProduct(kernel.product_type()) * 1e6);
}

void CommandTimer::time(const proto::CudaCopy &copy, TimedCommand &timed) const {
  timed.work = TimedCommand::Copy;
  timed.name = "copy";
  timed.moved = 2.0 * static_cast<double>(copy.row_bytes()) * static_cast<double>(copy.rows());
  timed.us = timeOfBytes(timed.moved);
}

void CommandTimer::time(const proto::CudaProduct &product, TimedCommand &timed) const {
  const int64_t batch = std::accumulate(product.batch().begin(), product.batch().end(), int64_t(1),
                                        std::multiplies<>());
  const auto m = static_cast<double>(product.m()), n = static_cast<double>(product.n()),
             k = static_cast<double>(product.k()), count = static_cast<double>(batch);
  proto::OpWork work;
  work.set_kind(proto::OpWork::PRODUCT);
  work.set_type(product.type());
  work.set_m(product.m());
  work.set_n(product.n());
  work.set_k(product.k());
  work.set_batch(batch);
  work.set_flops(2 * m * n * k * count);
  const double results = m * n * count * ::st::widthOf(product.d_type());
  work.set_read_bytes((m * k + k * n) * count * ::st::widthOf(product.type()) +
                      (product.has_addend() ? results : 0) +
                      (product.activation() == proto::CudaProduct::GELU_GRADIENT ? results : 0));
  work.set_written_bytes(
      results +
      (product.activation() == proto::CudaProduct::GELU && product.has_aux() ? results : 0));
  timed.work = TimedCommand::Product;
  timed.name = absl::StrCat("product ", batch == 1 ? "" : absl::StrCat(batch, " x "), product.m(),
                            " x ", product.n(), " x ", product.k(), " ", nameOf(product.type()));
  if (product.tf32())
    useTensorCores(work);
  setWork(costs, work, timed);
  timed.flops = 2 * m * n * k * count;
}

/// Attention has two products, its gradient five; a causal mask halves each.
void CommandTimer::time(const proto::CudaAttention &attention, TimedCommand &timed) const {
  const auto heads = static_cast<double>(attention.batch() * attention.heads()),
             rows = static_cast<double>(attention.rows()),
             columns = static_cast<double>(attention.columns()),
             depth = static_cast<double>(attention.depth()),
             width = static_cast<double>(attention.width());
  const bool isGradient = attention.has_d_o();
  proto::OpWork work;
  work.set_kind(proto::OpWork::PRODUCT);
  work.set_type(attention.type());
  work.set_m(attention.rows());
  work.set_n(attention.columns());
  work.set_k(attention.depth());
  work.set_batch(attention.batch() * attention.heads());
  const double deep = isGradient ? 3 : 1, wide = isGradient ? 2 : 1;
  work.set_flops(2 * heads * rows * columns * (deep * depth + wide * width) *
                 (attention.causal() ? 0.5 : 1));
  const auto group = static_cast<double>(std::max<int64_t>(attention.k().group(), 1));
  const double bytes = heads * ::st::widthOf(attention.type()) * (depth + width);
  work.set_read_bytes(bytes * (rows + columns / group));
  work.set_written_bytes(isGradient ? bytes * (rows + columns) : 0);
  timed.work = TimedCommand::Attention;
  timed.name = isGradient ? "attention's gradient" : "attention";
  setWork(costs, work, timed);
}

bool CommandTimer::addLoop(const proto::CudaLoop &loop) {
  if (loop.has_predicate())
    return false;
  const size_t first = out.size();
  if (!add(loop.body()))
    return false;
  const std::vector<TimedCommand> body(out.begin() + static_cast<ptrdiff_t>(first), out.end());
  const bool isAlone = std::all_of(body.begin(), body.end(), [](const TimedCommand &command) {
    return command.kind == TimedCommand::Kernel;
  });
  out.resize(first);
  if (isAlone) {
    for (TimedCommand command : body) {
      command.aside = command.waits = false;
      command.us *= static_cast<double>(loop.trips());
      command.times *= loop.trips();
      out.push_back(std::move(command));
    }
    return true;
  }
  for (int64_t trip = 0; trip < loop.trips(); ++trip)
    out.insert(out.end(), body.begin(), body.end());
  return true;
}

bool CommandTimer::add(const Commands &commands) {
  for (const proto::CudaCommand &command : commands) {
    // Later steps skip these.
    if (command.left_by_update())
      continue;
    if (command.has_loop()) {
      if (!addLoop(command.loop()))
        return false;
      continue;
    }
    TimedCommand timed;
    timed.aside = command.aside();
    timed.waits = command.waits();
    auto setMessage = [&](const auto &message, TimedCommand::Kind kind) {
      timed.kind = kind;
      timed.bytes = static_cast<double>(message.bytes());
      timed.us = timeOfBytes(2 * timed.bytes);
      timed.peer = message.peer();
      timed.channel = message.channel();
    };
    if (command.has_launch())
      time(command.launch(), timed);
    else if (command.has_product())
      time(command.product(), timed);
    else if (command.has_attention())
      time(command.attention(), timed);
    else if (command.has_copy())
      time(command.copy(), timed);
    else if (command.has_index()) {
      timed.name = "index";
      timed.us = timeOfBytes(0);
    } else if (command.has_send())
      setMessage(command.send(), TimedCommand::Send);
    else if (command.has_receive())
      setMessage(command.receive(), TimedCommand::Receive);
    else if (command.has_exchange()) {
      timed.kind = TimedCommand::Exchange;
      timed.bytes = static_cast<double>(command.exchange().bytes());
      timed.isSame = command.exchange().from_stride() == 0;
      timed.first = command.exchange().first();
      timed.count = command.exchange().count();
    }
    out.push_back(std::move(timed));
  }
  return true;
}

absl::StatusOr<std::optional<std::vector<TimedCommand>>>
mlir::st::timeCommands(const proto::Task &task, const proto::CudaCode &code,
                       const ::st::Costs &costs) {
  proto::CudaProgram program;
  if (!program.ParseFromString(task.program()))
    return absl::InvalidArgumentError(absl::StrCat("task \"", task.name(), "\" is not a program"));
  std::vector<TimedCommand> commands;
  if (!CommandTimer(code, costs, commands).add(program.commands()))
    return std::nullopt;
  return commands;
}
