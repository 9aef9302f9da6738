#include "lib/Driver/GpuCommandCosts.h"

#include "absl/strings/str_cat.h"

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

  /// False where how often a loop runs depends on data.
  bool add(const Commands &commands);

private:
  bool addLoop(const proto::CudaLoop &loop);
  double timeOf(const proto::CudaLaunch &launch) const;
  double timeOf(const proto::CudaProduct &product) const;
  double timeOf(const proto::CudaAttention &attention) const;
  double timeOfBytes(double bytes) const;

  const proto::CudaCode &code;
  const ::st::Costs &costs;
  std::vector<TimedCommand> &out;
};
} // namespace

static double widthOf(proto::ElementType type) {
  return type == proto::F16 || type == proto::BF16 ? 2 : type == proto::F64 ? 8 : 4;
}

/// Tensor cores take f32 as TF32 at half of the rate of 16 bits (NVIDIA's data sheets of the A100
/// and the H100): the same time as twice the operations in 16 bits.
static void useTensorCores(proto::OpWork &work) {
  work.set_type(proto::BF16);
  work.set_flops(2 * work.flops());
}

double CommandTimer::timeOfBytes(double bytes) const {
  proto::OpWork work;
  work.set_read_bytes(bytes);
  return costs.op(work).device;
}

double CommandTimer::timeOf(const proto::CudaLaunch &launch) const {
  const proto::CudaKernel &kernel = code.kernels(static_cast<int>(launch.kernel()));
  double time = timeOfBytes(kernel.bytes());
  if (kernel.product_flops() == 0)
    return time;
  // Of products that share a kernel with what is between them only the number of operations is
  // known: they run at the rate of large ones.
  return std::max(time, kernel.product_flops() / costs.fastestProduct(kernel.product_type()) * 1e6);
}

double CommandTimer::timeOf(const proto::CudaProduct &product) const {
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
  const double results = m * n * count * widthOf(product.d_type());
  work.set_read_bytes((m * k + k * n) * count * widthOf(product.type()) +
                      (product.has_addend() ? results : 0) +
                      (product.activation() == proto::CudaProduct::GELU_GRADIENT ? results : 0));
  work.set_written_bytes(
      results +
      (product.activation() == proto::CudaProduct::GELU && product.has_aux() ? results : 0));
  if (product.tf32())
    useTensorCores(work);
  return costs.op(work).device;
}

/// Two products, backward five; half of each where a row sees the columns up to itself alone.
double CommandTimer::timeOf(const proto::CudaAttention &attention) const {
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
  const double bytes =
      heads * widthOf(attention.type()) * (rows * (depth + width) + columns * (depth + width));
  work.set_read_bytes(bytes);
  work.set_written_bytes(isGradient ? bytes : 0);
  return costs.op(work).device;
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
    TimedCommand all;
    for (const TimedCommand &command : body)
      all.us += command.us * static_cast<double>(loop.trips());
    out.push_back(all);
    return true;
  }
  for (int64_t trip = 0; trip < loop.trips(); ++trip)
    out.insert(out.end(), body.begin(), body.end());
  return true;
}

bool CommandTimer::add(const Commands &commands) {
  for (const proto::CudaCommand &command : commands) {
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
      timed.us = timeOf(command.launch());
    else if (command.has_product())
      timed.us = timeOf(command.product());
    else if (command.has_attention())
      timed.us = timeOf(command.attention());
    else if (command.has_copy())
      timed.us = timeOfBytes(2.0 * static_cast<double>(command.copy().row_bytes()) *
                             static_cast<double>(command.copy().rows()));
    else if (command.has_index())
      timed.us = timeOfBytes(0);
    else if (command.has_send())
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
    out.push_back(timed);
  }
  return true;
}

absl::StatusOr<std::optional<std::vector<TimedCommand>>>
mlir::st::timeCommands(const proto::Task &task, const proto::CudaCode &code,
                       const ::st::Costs &costs) {
  proto::CudaProgram program;
  if (!program.ParseFromString(task.program()))
    return absl::InvalidArgumentError(absl::StrCat("task \"", task.name(), "\" is no program"));
  std::vector<TimedCommand> commands;
  if (!CommandTimer(code, costs, commands).add(program.commands()))
    return std::nullopt;
  return commands;
}
