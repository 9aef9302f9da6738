#include "lib/Runtime/Processes/StragglerWatch.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Runtime/Report.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace st {
namespace {

constexpr absl::string_view kPurpose = "the computing times of its devices";
// Windows in a row in which a straggler is slow.
constexpr int64_t kWindows = 2;

using HostName = std::array<char, 64>;

HostName ownHost() {
  HostName name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name;
}

double lowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Array> absl::Span<uint8_t> bytesOf(Array &values) {
  return {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(values[0])};
}

std::string describe(const Straggler &straggler) {
  return absl::StrCat("process ", straggler.process, " on ", escapeControls(straggler.host),
                      straggler.devices.size() == 1 ? " (device " : " (devices ",
                      printRanges(straggler.devices), ")");
}

} // namespace

struct StragglerWatch::Medians {
  HostName host;
  std::vector<double> seconds; ///< of its ranks, ascending
};

absl::Status checkStragglerOptions(const StragglerOptions &options) {
  if (options.factor != 0 && (!(options.factor > 1) || !std::isfinite(options.factor)))
    return absl::InvalidArgumentError(
        absl::StrCat("--straggler-factor=", options.factor, ": expected a number above 1, or 0"));
  if (options.window < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--straggler-window=", options.window, ": expected 1 or more steps"));
  return absl::OkStatus();
}

std::string StragglerReport::describeChanges() const {
  std::string text;
  for (const Straggler &straggler : begun)
    absl::StrAppendFormat(&text,
                          "straggler: %s computes %.1f times as long as other processes with the "
                          "same work, over %d steps\n",
                          describe(straggler), straggler.slowdown, steps);
  for (const Straggler &straggler : recovered)
    absl::StrAppend(&text, "straggler: ", describe(straggler),
                    " computes as fast as other processes again\n");
  return text;
}

StragglerWatch::StragglerWatch(const proto::Executable &program, Communicator &communicator,
                               const StragglerOptions &options)
    : program(program), communicator(communicator), options(options) {
  int64_t numRanks = 0;
  for (const proto::Group &group : program.groups())
    numRanks += group.device_ids_size();
  // A process holds neighbouring ranks, at least one.
  for (int64_t rank = 0; rank < numRanks; ++rank)
    if (communicator.processOf(rank) == static_cast<int64_t>(firstRanks.size()))
      firstRanks.push_back(rank);
  firstRanks.push_back(numRanks);
  times.resize(countRanks(communicator.process()));
}

absl::StatusOr<std::optional<StragglerReport>>
StragglerWatch::after(absl::Span<const double> seconds) {
  if (options.factor == 0 || communicator.numProcesses() == 1 || seconds.empty())
    return std::nullopt;
  const auto first = static_cast<size_t>(firstRanks[static_cast<size_t>(communicator.process())]);
  for (size_t i = 0; i < times.size(); ++i)
    times[i].push_back(seconds[first + i]);
  return static_cast<int64_t>(times.front().size()) < options.window
             ? std::optional<StragglerReport>()
             : endWindow();
}

absl::StatusOr<std::optional<StragglerReport>> StragglerWatch::endWindow() {
  Medians own = {ownHost(), {}};
  for (std::vector<double> &of : times) {
    own.seconds.push_back(lowerMedian(std::move(of)));
    of.clear();
  }
  if (communicator.process() != 0) {
    const Peer first = {0, kAgreementChannel, kPurpose};
    ST_RETURN_IF_ERROR(communicator.send(bytesOf(own.host), first));
    ST_RETURN_IF_ERROR(communicator.send(bytesOf(own.seconds), first));
    return std::nullopt;
  }
  std::vector<Medians> all = {std::move(own)};
  for (int64_t process = 1; process < communicator.numProcesses(); ++process) {
    Medians &medians = all.emplace_back();
    medians.seconds.resize(countRanks(process));
    const Peer from = {process, kAgreementChannel, kPurpose};
    ST_RETURN_IF_ERROR(communicator.receive(bytesOf(medians.host), from));
    ST_RETURN_IF_ERROR(communicator.receive(bytesOf(medians.seconds), from));
    medians.host.back() = '\0';
  }
  return compare(all);
}

// The slowdown of each process that holds ranks of the group.
std::map<StragglerWatch::Key, Straggler>
StragglerWatch::compareGroup(int64_t group, const std::vector<Medians> &processes) const {
  const proto::Group &ranks = program.groups(static_cast<int>(group));
  std::map<Key, Straggler> found;
  std::vector<double> means;
  for (int64_t process = 0; process < communicator.numProcesses(); ++process) {
    const Medians &medians = processes[static_cast<size_t>(process)];
    const int64_t first = firstRanks[static_cast<size_t>(process)];
    Straggler straggler = {process, medians.host.data(), {}, 0};
    for (int64_t i = 0; i < static_cast<int64_t>(medians.seconds.size()); ++i) {
      const int64_t inGroup = first + i - ranks.first_rank();
      if (inGroup < 0 || inGroup >= ranks.device_ids_size())
        continue;
      straggler.devices.push_back(ranks.device_ids(static_cast<int>(inGroup)));
      straggler.slowdown += medians.seconds[static_cast<size_t>(i)];
    }
    if (straggler.devices.empty())
      continue;
    straggler.slowdown /= static_cast<double>(straggler.devices.size());
    means.push_back(straggler.slowdown);
    std::sort(straggler.devices.begin(), straggler.devices.end());
    found[{process, group}] = std::move(straggler);
  }
  if (means.size() < 2)
    return {};
  const double usual = lowerMedian(means);
  for (auto &[key, straggler] : found)
    straggler.slowdown = usual > 0 ? straggler.slowdown / usual : 1;
  return found;
}

StragglerReport StragglerWatch::compare(const std::vector<Medians> &processes) {
  StragglerReport report;
  report.steps = kWindows * options.window;
  std::set<Key> slow, persistent;
  for (int64_t group = 0; group < program.groups_size(); ++group)
    for (auto &[key, straggler] : compareGroup(group, processes)) {
      report.slowest = std::max(report.slowest, straggler.slowdown);
      const bool isSlow = straggler.slowdown > options.factor, wasNamed = named.count(key) > 0;
      if (isSlow)
        slow.insert(key);
      if (isSlow && slowBefore.count(key) > 0) {
        persistent.insert(key);
        report.slow.push_back(straggler);
        if (!wasNamed)
          report.begun.push_back(straggler);
      } else if (wasNamed) {
        report.recovered.push_back(straggler);
      }
    }
  slowBefore = std::move(slow);
  named = std::move(persistent);
  return report;
}

} // namespace st
