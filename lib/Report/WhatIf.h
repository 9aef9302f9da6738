// Times the step on hypothetical devices. Each has one faster part, which shows the cost of that
// part.
#ifndef ST_REPORT_WHATIF_H
#define ST_REPORT_WHATIF_H

#include "lib/Proto/executable.pb.h"
#include "lib/Report/StepFigures.h"
#include "st/Runtime/Client.h"

#include "absl/status/status.h"

#include <functional>
#include <memory>

namespace st {

using MakeClient = std::function<std::unique_ptr<Client>(const ClientOptions &)>;

/// Times the step once for each part of the device that the step uses, the busiest first. Stops
/// when it has simulated as many instructions as take a few minutes. Writes the step times into the
/// figures.
absl::Status computeWhatIf(const proto::Executable &program, const MakeClient &makeClient,
                           StepFigures &figures);

} // namespace st

#endif // ST_REPORT_WHATIF_H
