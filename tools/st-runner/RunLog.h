// The configuration at the beginning of a run's log.
#ifndef ST_RUNNER_RUNLOG_H
#define ST_RUNNER_RUNLOG_H

#include "lib/Proto/executable.pb.h"
#include "tools/st-runner/Flags.h"
#include "tools/st-runner/Settings.h"

#include <string>
#include <vector>

namespace st {

/// The flags that st-compile stored in a training binary; none if the file is not one, which the
/// reader of its program reports.
std::vector<proto::RunFlag> defaultFlagsOf(const std::string &binary);

/// A line per flag: "--name=value  # source", or "# --name is not set".
std::string printFlags(const Settings &settings);

/// The block between kConfigurationBegin and kConfigurationEnd:
///
///   # version 0.1, program format 3
///   # binary 1a2b3c4d, program 5e6f7a8b
///   # device dtu-t10 9abcdef0
///   # data 600 bytes, 12345678: tokens.bin
///   --lr=0.0001  # binary
///
/// Hashes are CRC-32s. For a file of more than 256 MiB, the hash covers its length and 4096 evenly
/// spaced blocks of 64 KiB.
std::string printConfiguration(const proto::Executable &program, const RunRequest &request,
                               const std::string &binary);

/// A one-line error unless the replayed log has the same versions, binary, device and data.
absl::Status checkReplay(const std::string &configuration, const std::string &log);

} // namespace st

#endif // ST_RUNNER_RUNLOG_H
