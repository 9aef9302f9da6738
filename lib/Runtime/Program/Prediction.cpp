#include "lib/Runtime/Program/Prediction.h"

#include "lib/Runtime/Report.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace st {
namespace {

constexpr size_t kMaxRows = 16;

/// A quantity in TaskWork and in TaskPrediction.
struct Quantity {
  const char *name;
  int64_t TaskWork::*work;
  int64_t (proto::TaskPrediction::*get)() const;
  void (proto::TaskPrediction::*set)(int64_t);
};

#define ST_QUANTITY(name, member, field)                                                           \
  Quantity {                                                                                       \
    name, &TaskWork::member, &proto::TaskPrediction::field, &proto::TaskPrediction::set_##field    \
  }
constexpr std::array<Quantity, 10> kQuantities = {
    ST_QUANTITY("multiply-adds", macs, macs),
    ST_QUANTITY("bytes of L1", l1Bytes, l1_bytes),
    ST_QUANTITY("bytes of L2", l2Bytes, l2_bytes),
    ST_QUANTITY("bytes of L3", l3Bytes, l3_bytes),
    ST_QUANTITY("bytes to the host", toHostBytes, to_host_bytes),
    ST_QUANTITY("bytes from the host", fromHostBytes, from_host_bytes),
    ST_QUANTITY("bytes sent", sentBytes, sent_bytes),
    ST_QUANTITY("bytes received", receivedBytes, received_bytes),
    ST_QUANTITY("messages", messages, messages),
    ST_QUANTITY("instructions", instructions, instructions)};
#undef ST_QUANTITY

/// One row of the table.
struct Difference {
  std::string where, what;
  int64_t predicted = 0, found = 0;
  bool isTime = false;

  uint64_t size() const {
    const auto a = static_cast<uint64_t>(predicted), b = static_cast<uint64_t>(found);
    return found > predicted ? b - a : a - b;
  }
};

class TimingComparison {
public:
  TimingComparison(const proto::Executable &program, const StepTime &time, const StepWork *executed)
      : program(program), predicted(program.prediction()), time(time), executed(executed) {}

  std::string print();

private:
  void compareTasks(const proto::Group &group);
  void compareLinks();
  /// Keeps the row if it deviates more than the known row of the same kind.
  void note(const std::string &kind, Difference difference);

  const proto::Executable &program;
  const proto::Prediction &predicted;
  const StepTime &time;
  const StepWork *executed;
  int64_t tasks = 0;
  std::map<std::string, Difference> rows;
};

void TimingComparison::note(const std::string &kind, Difference difference) {
  if (difference.size() == 0)
    return;
  Difference &known = rows[absl::StrCat(kind, "/", difference.what)];
  if (known.size() < difference.size())
    known = std::move(difference);
}

void TimingComparison::compareTasks(const proto::Group &group) {
  tasks += group.tasks_size();
  const StepWork &work = executed ? *executed : time.work;
  for (int64_t i = 0; i < group.device_ids_size(); ++i) {
    const int64_t rank = group.first_rank() + i;
    for (int task = 0; task < group.tasks_size(); ++task) {
      const proto::TaskPrediction &expected = predicted.ranks(static_cast<int>(rank)).tasks(task);
      const std::string kind = absl::StrCat(group.name(), " ", group.tasks(task).name());
      const std::string where = absl::StrCat(escapeControls(group.tasks(task).name()), ", device ",
                                             group.device_ids(static_cast<int>(i)));
      note(kind, {where, "ms", expected.picoseconds(), time.work.ranks[rank][task].picoseconds,
                  /*isTime=*/true});
      for (const Quantity &quantity : kQuantities)
        note(kind, {where, quantity.name, (expected.*quantity.get)(),
                    work.ranks[rank][task].*quantity.work});
    }
  }
}

void TimingComparison::compareLinks() {
  std::map<std::string, std::pair<int64_t, int64_t>> links;
  for (const proto::LinkPrediction &link : predicted.links())
    links[link.name()].first = link.bytes();
  for (const LinkWork &link : (executed ? *executed : time.work).links)
    links[link.name].second = link.bytes;
  for (const auto &[name, bytes] : links)
    note(name, {escapeControls(name), "bytes", bytes.first, bytes.second});
}

std::string TimingComparison::print() {
  note("step", {"the step", "ms", predicted.picoseconds(), time.total, /*isTime=*/true});
  for (const proto::Group &group : program.groups())
    compareTasks(group);
  compareLinks();
  const std::string did = executed ? "it did" : "it does";
  if (rows.empty())
    return absl::StrFormat("as predicted: the time of the step, and what %s in %d tasks on %d "
                           "devices and over %d links\n",
                           did, tasks, predicted.ranks_size(), predicted.links_size());
  std::vector<Difference> sorted;
  for (auto &entry : rows)
    sorted.push_back(std::move(entry.second));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Difference &a, const Difference &b) {
    return std::make_tuple(a.isTime, b.size()) < std::make_tuple(b.isTime, a.size());
  });
  std::vector<std::vector<std::string>> table = {
      {"not as predicted", "what", "predicted", "found", "off by"}};
  for (const Difference &row : sorted) {
    if (table.size() > kMaxRows)
      break;
    auto text = [&](int64_t value) {
      return row.isTime ? printMilliseconds(value) : absl::StrCat(value);
    };
    table.push_back(
        {row.where, row.what, text(row.predicted), text(row.found),
         row.predicted == 0
             ? "-"
             : absl::StrFormat("%+.3g %%", 100.0 * (static_cast<double>(row.found) /
                                                        static_cast<double>(row.predicted) -
                                                    1))});
  }
  std::string out = printTable(table);
  if (sorted.size() > kMaxRows)
    absl::StrAppend(&out, "and ", sorted.size() - kMaxRows, " more\n");
  return out;
}

} // namespace

absl::Status predict(Client &client, proto::Executable &program, TimedStep *timed) {
  program.clear_prediction();
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, client.load(program));
  if (executable->timeDependsOnData())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(StepTime time,
                      executable->timeStep(nullptr, timed ? &timed->timeline : nullptr));
  proto::Prediction &prediction = *program.mutable_prediction();
  prediction.set_picoseconds(time.total);
  prediction.set_lower_bound(time.lowerBound);
  prediction.set_serial_sum(time.serialSum);
  for (const std::vector<TaskWork> &rank : time.work.ranks) {
    proto::RankPrediction &created = *prediction.add_ranks();
    for (const TaskWork &work : rank) {
      proto::TaskPrediction &task = *created.add_tasks();
      task.set_picoseconds(work.picoseconds);
      for (const Quantity &quantity : kQuantities)
        (task.*quantity.set)(work.*quantity.work);
    }
  }
  for (const LinkWork &link : time.work.links) {
    proto::LinkPrediction &created = *prediction.add_links();
    created.set_name(link.name);
    created.set_bytes(link.bytes);
  }
  if (timed)
    timed->time = std::move(time);
  return absl::OkStatus();
}

std::string comparePrediction(const proto::Executable &program, const StepTime &time,
                              const StepWork *executed) {
  if (!program.has_prediction())
    return "";
  return TimingComparison(program, time, executed).print();
}

std::string compareMeasured(const proto::Executable &program, std::vector<double> seconds) {
  if (!program.has_prediction() || seconds.empty())
    return "";
  constexpr double kMillisecond = 1e-3, kPicosecond = 1e-12;
  std::string steps = "the first step";
  if (seconds.size() > 1) {
    seconds.erase(seconds.begin());
    steps = seconds.size() == 1
                ? "the step after the first"
                : absl::StrCat("the median of ", seconds.size(), " steps after the first");
  }
  const auto middle = seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  const double predicted = static_cast<double>(program.prediction().picoseconds()) * kPicosecond;
  return absl::StrFormat("predicted step %.4g ms (%s), measured %.4g ms (%s): %+.1f %%\n",
                         predicted / kMillisecond, escapeControls(program.prediction().basis()),
                         *middle / kMillisecond, steps, 100 * (*middle / predicted - 1));
}

} // namespace st
