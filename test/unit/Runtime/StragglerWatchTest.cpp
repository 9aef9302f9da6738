#include "lib/Runtime/Processes/StragglerWatch.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>

namespace st {
namespace {

/// Process 0 of several; the others send what `arriving` holds.
class FirstProcess : public Communicator {
public:
  FirstProcess(int64_t processes, int64_t ranks) : processes(processes), ranks(ranks) {}
  int64_t numProcesses() const override { return processes; }
  int64_t process() const override { return 0; }
  int64_t processOf(int64_t rank) const override { return rank * processes / ranks; }
  absl::Status broadcast(absl::Span<uint8_t>, int64_t) override { return absl::OkStatus(); }
  absl::Status barrier() override { return absl::OkStatus(); }
  absl::Status send(absl::Span<const uint8_t>, const Peer &) override { return absl::OkStatus(); }
  absl::Status receive(absl::Span<uint8_t> bytes, const Peer &from) override {
    EXPECT_EQ(from.channel, kAgreementChannel);
    if (arriving.empty() || arriving.front().size() != bytes.size())
      return absl::InternalError("a message of another size");
    std::copy(arriving.front().begin(), arriving.front().end(), bytes.begin());
    arriving.pop_front();
    return absl::OkStatus();
  }
  void arrive(const std::vector<double> &seconds) {
    std::vector<uint8_t> host(64), bytes(seconds.size() * sizeof(double));
    std::memcpy(host.data(), "node", 4);
    std::memcpy(bytes.data(), seconds.data(), bytes.size());
    arriving.push_back(host);
    arriving.push_back(bytes);
  }

private:
  int64_t processes, ranks;
  std::deque<std::vector<uint8_t>> arriving;
};

/// Device groups of four devices each.
proto::Executable programOf(int64_t groups) {
  proto::Executable program;
  for (int64_t g = 0; g < groups; ++g) {
    proto::Group &group = *program.add_groups();
    group.set_first_rank(4 * g);
    for (int64_t rank = 0; rank < 4; ++rank)
      group.add_device_ids(10 * g + rank);
  }
  return program;
}

constexpr int64_t kWindow = 3;

/// Runs one window in which each rank of process 0 takes `own`, and the others report `others`.
StragglerReport runWindow(StragglerWatch &watch, FirstProcess &communicator, int64_t ranks,
                          double own, const std::vector<std::vector<double>> &others) {
  for (const std::vector<double> &seconds : others)
    communicator.arrive(seconds);
  for (int64_t step = 0; step < kWindow; ++step) {
    auto report = watch.after(std::vector<double>(static_cast<size_t>(ranks), own));
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report.ok() && report->has_value(), step == kWindow - 1);
    if (report.ok() && *report)
      return **report;
  }
  return {};
}

TEST(StragglerWatchTest, NamesAProcessAfterTwoSlowWindows) {
  const proto::Executable program = programOf(1);
  FirstProcess communicator(4, 4);
  StragglerWatch watch(program, communicator, {2, kWindow});
  const auto window = [&](double third) {
    return runWindow(watch, communicator, 4, 1, {{1.2}, {third}, {0.9}});
  };
  EXPECT_TRUE(window(3).slow.empty()) << "one window may be an accident";
  StragglerReport report = window(3);
  ASSERT_EQ(report.slow.size(), 1U);
  EXPECT_EQ(report.slow[0].process, 2);
  EXPECT_EQ(report.slow[0].host, "node");
  EXPECT_EQ(report.slow[0].devices, std::vector<int64_t>{2});
  EXPECT_DOUBLE_EQ(report.slow[0].slowdown, 3);
  EXPECT_DOUBLE_EQ(report.slowest, 3);
  EXPECT_EQ(report.describeChanges(),
            "straggler: process 2 on node (device 2) computes 3.0 times as long as other processes "
            "with the same work, over 6 steps\n");
  report = window(3);
  EXPECT_EQ(report.slow.size(), 1U);
  EXPECT_EQ(report.describeChanges(), "") << "it was named before";
  report = window(1.9);
  EXPECT_TRUE(report.slow.empty());
  EXPECT_EQ(report.describeChanges(), "straggler: process 2 on node (device 2) computes as fast as "
                                      "other processes again\n");
  EXPECT_EQ(window(1).describeChanges(), "");
}

TEST(StragglerWatchTest, ComparesDevicesOfOneGroup) {
  // There are two groups of four devices. Process p of four holds two devices of group p / 2. The
  // second group does more work.
  const proto::Executable program = programOf(2);
  FirstProcess communicator(4, 8);
  StragglerWatch watch(program, communicator, {2, kWindow});
  const std::vector<std::vector<double>> others = {{1, 1}, {9, 9}, {20, 22}};
  runWindow(watch, communicator, 8, 1, others);
  const StragglerReport report = runWindow(watch, communicator, 8, 1, others);
  ASSERT_EQ(report.slow.size(), 1U);
  EXPECT_EQ(report.slow[0].process, 3);
  EXPECT_EQ(report.slow[0].devices, (std::vector<int64_t>{12, 13}));
  EXPECT_DOUBLE_EQ(report.slow[0].slowdown, 21.0 / 9);
}

TEST(StragglerWatchTest, DoesNotCompareAGroupInOneProcess) {
  const proto::Executable program = programOf(2);
  FirstProcess communicator(2, 8);
  StragglerWatch watch(program, communicator, {2, kWindow});
  runWindow(watch, communicator, 8, 1, {{9, 9, 9, 9}});
  EXPECT_TRUE(runWindow(watch, communicator, 8, 1, {{9, 9, 9, 9}}).slow.empty());
}

TEST(StragglerWatchTest, SingleSlowStepsDoNotCount) {
  const proto::Executable program = programOf(1);
  FirstProcess communicator(2, 4);
  StragglerWatch watch(program, communicator, {2, kWindow});
  for (int window = 0; window < 3; ++window) {
    communicator.arrive({1, 1});
    for (const double seconds : {1.0, 50.0, 1.0}) {
      auto report = watch.after(std::vector<double>(4, seconds));
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_TRUE(!*report || (*report)->slow.empty());
    }
  }
}

TEST(StragglerWatchTest, IsOffWithoutAFactorOrTimes) {
  const proto::Executable program = programOf(1);
  FirstProcess communicator(2, 4);
  StragglerWatch off(program, communicator, {0, 1}), on(program, communicator, {2, 1});
  EXPECT_FALSE(off.after(std::vector<double>(4, 1.0))->has_value());
  EXPECT_FALSE(on.after({})->has_value());
}

TEST(StragglerWatchTest, FlagsHaveRanges) {
  EXPECT_TRUE(checkStragglerOptions({0, 1}).ok());
  EXPECT_EQ(checkStragglerOptions({1, 1}).message(),
            "--straggler-factor=1: expected a number above 1, or 0");
  EXPECT_EQ(checkStragglerOptions({2, 0}).message(),
            "--straggler-window=0: expected 1 or more steps");
}

} // namespace
} // namespace st
