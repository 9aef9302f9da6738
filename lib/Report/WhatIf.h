// Times the step on machines that are faster in one respect, to show the cost of each resource.
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

/// Times the step once for each part of the device that the step keeps busy, the busiest first.
/// Stops when it has simulated the instructions of a few minutes. Writes the step times into the
/// figures.
absl::Status askWhatIf(const proto::Executable &program, const MakeClient &makeClient,
                       StepFigures &figures);

} // namespace st

#endif // ST_REPORT_WHATIF_H
