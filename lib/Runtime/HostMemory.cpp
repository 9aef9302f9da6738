#include "lib/Runtime/HostMemory.h"

#include "absl/strings/str_format.h"

#include <fstream>
#include <limits>
#include <string>
#include <sys/sysinfo.h>

namespace st {

double arenaBytes(const proto::Executable &program) {
  double bytes = 0;
  for (const proto::Group &group : program.groups())
    bytes += static_cast<double>(group.arena_bytes() + program.cuda().scratch_bytes()) *
             group.device_ids_size();
  return bytes;
}

double hostArenaBytes(const proto::Executable &program) {
  double bytes = 0;
  for (const proto::Group &group : program.groups())
    bytes += static_cast<double>(group.host_arena_bytes()) * group.device_ids_size();
  return bytes;
}

bool fitsFreeMemory(const proto::Executable &program, int64_t processes) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  double kibibytes = 0;
  while (file >> name >> kibibytes && name != "MemAvailable:")
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  constexpr double kKibibyte = 1 << 10;
  return name == "MemAvailable:" && arenaBytes(program) + hostArenaBytes(program) <=
                                        kibibytes * kKibibyte * static_cast<double>(processes);
}

absl::Status checkHostMemory(const proto::Executable &program) {
  if (program.target() == "cuda" && program.cuda().gpu().chip() != "host")
    return absl::OkStatus(); // arenas are on GPUs
  struct sysinfo info;
  if (::sysinfo(&info) != 0)
    return absl::OkStatus();
  const double memory =
      (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
  const double needed = arenaBytes(program) + hostArenaBytes(program);
  constexpr double kGibibyte = 1 << 30;
  if (needed <= memory)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("the devices' memories need %.1f GiB, but this machine has %.1f GiB; "
                      "--timing-only needs none",
                      needed / kGibibyte, memory / kGibibyte));
}

} // namespace st
