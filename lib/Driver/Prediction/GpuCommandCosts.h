// The costs of the commands of a program for GPUs.
#ifndef ST_DRIVER_GPUCOMMANDCOSTS_H
#define ST_DRIVER_GPUCOMMANDCOSTS_H

#include "lib/Costs/Costs.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

/// A command with its time. Loops are expanded into their commands.
struct TimedCommand {
  enum Kind { Kernel, Exchange, Send, Receive };
  Kind kind = Kernel;
  bool aside = false, waits = false; ///< as in a CudaCommand
  double us = 0;                     ///< of a kernel; for a message the copy on this device
  double bytes = 0;                  ///< of a message; for an exchange those of a piece
  bool isSame = false;               ///< for an exchange: all members get the same piece
  int64_t first = 0, count = 0;      ///< members of an exchange, in the rank's table
  int64_t peer = 0, channel = 0;     ///< of a message

  /// For a kernel: its name in the program, or the library's computation ("product 512 x 64 x 64
  /// bf16"). `flops` are those of matrix products, `moved` the bytes that it reads and writes.
  enum Work { Loop, Product, Attention, Copy };
  Work work = Loop;
  std::string name;
  double flops = 0, moved = 0;
  int64_t times = 1; ///< in a loop
};

/// The commands of a task; std::nullopt if the trip count of a loop depends on data.
/// InvalidArgument if the task cannot be read.
absl::StatusOr<std::optional<std::vector<TimedCommand>>>
timeCommands(const ::st::proto::Task &task, const ::st::proto::CudaCode &code,
             const ::st::Costs &costs);

} // namespace mlir::st

#endif // ST_DRIVER_GPUCOMMANDCOSTS_H
