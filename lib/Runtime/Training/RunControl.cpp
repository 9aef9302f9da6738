#include "lib/Runtime/Training/RunControl.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

namespace st {
namespace {

// What one process wants, the strongest last; behind kEndsBySignal comes the signal's number.
constexpr int kSavesByTime = 1, kEndsByTime = 2, kEndsBySignal = 3;

double minutes(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::ratio<60>>(time).count();
}

} // namespace

RunControl::RunControl(const TrainOptions &options, Communicator &communicator)
    : options(options), communicator(communicator) {
  if (!options.save.empty())
    signals.emplace();
}

absl::StatusOr<int> RunControl::agree() {
  const Clock::time_point now = Clock::now();
  int wish = 0;
  if (const int number = signals ? StopSignals::received() : 0; number != 0)
    wish = kEndsBySignal + number;
  else if (options.exitMinutes > 0 && minutes(now - start) >= options.exitMinutes)
    wish = kEndsByTime;
  else if (options.saving.minutes > 0 && minutes(now - lastSave) >= options.saving.minutes)
    wish = kSavesByTime;
  const bool mayDiffer = signals || options.exitMinutes > 0;
  if (communicator.numProcesses() > 1 && mayDiffer)
    return largestOfAll(communicator, wish);
  return wish;
}

absl::StatusOr<AfterStep> RunControl::beforeFirst() {
  ST_ASSIGN_OR_RETURN(const int wish, agree());
  AfterStep then;
  if (wish > kEndsBySignal)
    then.end = nameOfSignal(wish - kEndsBySignal);
  return then;
}

absl::StatusOr<AfterStep> RunControl::after(int64_t step) {
  ST_ASSIGN_OR_RETURN(const int wish, agree());
  AfterStep then;
  const int64_t interval = options.saving.interval;
  then.saves = wish == kSavesByTime || (interval > 0 && step % interval == 0);
  if (wish > kEndsBySignal)
    then.end = nameOfSignal(wish - kEndsBySignal);
  else if (wish == kEndsByTime)
    then.end = absl::StrCat("--exit-duration-in-mins=", options.exitMinutes);
  else if (options.exitInterval > 0 && step % options.exitInterval == 0)
    then.end = absl::StrCat("--exit-interval=", options.exitInterval);
  if (then.saves)
    lastSave = Clock::now();
  return then;
}

} // namespace st
