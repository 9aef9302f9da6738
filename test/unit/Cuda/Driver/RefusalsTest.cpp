// The driver's stand-in refuses calls that NVIDIA's documentation does not allow.
#include "test/unit/Cuda/Driver/StandinGpus.h"

#include <thread>

namespace st::cuda {
namespace {

// Numbers of cuda.h.
constexpr int kInvalidHandle = 400, kIllegalAddress = 700, kMisaligned = 716;
constexpr int kUnsupported = 900, kInvalidated = 901, kIsolation = 905, kCapturedEvent = 907;
constexpr int kWrongThread = 908, kCaptureGlobal = 0;

class Refusals : public testing::Test {
protected:
  void SetUp() override {
    device = openGpu();
    EXPECT_EQ(driver().createStream(&stream, kStreamNonBlocking), 0);
    EXPECT_EQ(driver().createStream(&other, kStreamNonBlocking), 0);
    memory = *device->allocate(4096);
  }
  void TearDown() override {
    EXPECT_TRUE(static_cast<DriverDevice &>(*device).enter().ok());
    driver().destroyStream(stream);
    driver().destroyStream(other);
  }

  const Driver &driver() { return driverOf(*device); }

  int launch(GpuDevice &owner, Handle on, unsigned blocks, unsigned threads, Address number) {
    void *arguments[] = {&number};
    return driver().launch(static_cast<DriverDevice &>(owner).kernels[0].function, blocks, 1, 1,
                           threads, 1, 1, 0, on, arguments, nullptr);
  }

  int copyRows(Address to, size_t toPitch, Address from, size_t fromPitch, size_t width,
               size_t height) {
    Copy2D copy;
    copy.target = to;
    copy.targetPitch = toPitch;
    copy.source = from;
    copy.sourcePitch = fromPitch;
    copy.width = width;
    copy.height = height;
    return driver().copy2D(&copy, stream);
  }

  /// Begins a capture, makes a call, and ends it; returns both results.
  template <class Call> std::pair<int, int> capture(int mode, Call call) {
    EXPECT_EQ(driver().beginCapture(stream, mode), 0);
    const int called = call();
    Handle graph = nullptr;
    const int ended = driver().endCapture(stream, &graph);
    EXPECT_EQ(graph == nullptr, ended != 0);
    if (graph)
      driver().destroyGraph(graph);
    return {called, ended};
  }

  std::unique_ptr<GpuDevice> device;
  Handle stream = nullptr, other = nullptr;
  Address memory = 0;
};

TEST_F(Refusals, CopiesThatOverlap) {
  EXPECT_EQ(driver().copy(memory, memory + 64, 64, stream), 0);
  EXPECT_EQ(driver().copy(memory, memory + 63, 64, stream), kErrorInvalidValue);
  EXPECT_EQ(driver().copy(memory + 63, memory, 64, stream), kErrorInvalidValue);
  EXPECT_EQ(driver().copy(memory, memory, 64, stream), kErrorInvalidValue);
  // Rows between rows, and one that reaches into the next.
  EXPECT_EQ(copyRows(memory + 8, 16, memory, 16, 8, 4), 0);
  EXPECT_EQ(copyRows(memory + 7, 16, memory, 16, 8, 4), kErrorInvalidValue);
  EXPECT_EQ(copyRows(memory + 8, 20, memory, 16, 8, 4), kErrorInvalidValue);
}

TEST_F(Refusals, PitchesThatNoGpuAllows) {
  EXPECT_EQ(copyRows(memory, size_t{1} << 31, memory + 64, 16, 8, 1), kErrorInvalidValue);
}

TEST_F(Refusals, MemoryThatNobodyTook) {
  EXPECT_EQ(driver().copy(memory + 4090, memory, 64, stream), kErrorInvalidValue);
  EXPECT_EQ(driver().setBytes(memory + 4090, 0, 64, stream), kErrorInvalidValue);
  EXPECT_EQ(driver().setWords(memory + 2, 0, 1, stream), kErrorInvalidValue);
}

TEST_F(Refusals, CallsThatACaptureDoesNotSee) {
  DevicePointer taken = 0;
  void *pinned = nullptr;
  Handle module = nullptr, event = nullptr;
  ASSERT_EQ(driver().createEvent(&event, kEventDisableTiming), 0);
  const std::pair<int, int> refused{kUnsupported, kInvalidated};
  for (int mode : {kCaptureGlobal, kCaptureOfThread}) {
    EXPECT_EQ(capture(mode, [&] { return driver().allocate(&taken, 64); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().release(memory); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().allocatePinned(&pinned, 64); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().loadModule(&module, "", 0, nullptr, nullptr); }),
              refused);
    EXPECT_EQ(capture(mode, [&] { return driver().setBytes(memory, 0, 64, nullptr); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().synchronize(other); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().isStreamDone(stream); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().isEventReached(event); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().waitForEventOnHost(event); }), refused);
    EXPECT_EQ(capture(mode, [&] { return driver().setBytes(memory, 0, 64, stream); }),
              std::pair(0, 0));
  }
  driver().destroyEvent(event);
}

TEST_F(Refusals, CallsOfOtherThreadsDuringACaptureOfTheGlobalMode) {
  auto elsewhere = [&] {
    int result = 0;
    std::thread([&] {
      EXPECT_TRUE(static_cast<DriverDevice &>(*device).enter().ok());
      result = driver().isStreamDone(other);
    }).join();
    return result;
  };
  EXPECT_EQ(capture(kCaptureGlobal, elsewhere), std::pair(kUnsupported, kInvalidated));
  EXPECT_EQ(capture(kCaptureOfThread, elsewhere), std::pair(0, 0));
}

TEST_F(Refusals, ACaptureThatAnotherThreadEnds) {
  ASSERT_EQ(driver().beginCapture(stream, kCaptureOfThread), 0);
  Handle graph = nullptr;
  std::thread([&] {
    EXPECT_TRUE(static_cast<DriverDevice &>(*device).enter().ok());
    EXPECT_EQ(driver().endCapture(stream, &graph), kWrongThread);
  }).join();
  EXPECT_EQ(driver().endCapture(stream, &graph), 0);
  driver().destroyGraph(graph);
}

TEST_F(Refusals, EventsAcrossTheBeginOfACapture) {
  Handle event = nullptr;
  ASSERT_EQ(driver().createEvent(&event, kEventDisableTiming), 0);
  ASSERT_EQ(driver().record(event, other), 0);
  EXPECT_EQ(capture(kCaptureOfThread, [&] { return driver().waitForEvent(stream, event, 0); }),
            std::pair(kIsolation, kInvalidated));
  EXPECT_EQ(capture(kCaptureOfThread, [&] { return driver().record(event, stream); }),
            std::pair(0, 0));
  EXPECT_EQ(driver().isEventReached(event), kCapturedEvent);
  driver().destroyEvent(event);
}

TEST_F(Refusals, StreamsEventsAndKernelsOfAnotherGpu) {
  std::unique_ptr<GpuDevice> second = openGpu(1);
  Handle event = nullptr, theirs = nullptr;
  ASSERT_EQ(driver().createEvent(&event, kEventDisableTiming), 0); // of the second
  ASSERT_EQ(driver().createStream(&theirs, kStreamNonBlocking), 0);
  EXPECT_EQ(driver().setBytes(memory, 0, 64, stream), kInvalidHandle);
  EXPECT_EQ(driver().isStreamDone(stream), kInvalidHandle);
  EXPECT_EQ(driver().synchronize(stream), kInvalidHandle);
  EXPECT_EQ(driver().record(event, stream), kInvalidHandle);
  EXPECT_EQ(launch(*device, theirs, 1, 32, memory), kInvalidHandle);
  ASSERT_EQ(driver().record(event, theirs), 0);
  // Queries of an event are allowed anywhere, and so are waits for it.
  ASSERT_TRUE(static_cast<DriverDevice &>(*device).enter().ok());
  EXPECT_EQ(driver().record(event, stream), kInvalidHandle);
  EXPECT_EQ(driver().waitForEvent(stream, event, 0), 0);
  EXPECT_EQ(driver().waitForEventOnHost(event), 0);
  ASSERT_TRUE(static_cast<DriverDevice &>(*second).enter().ok());
  driver().destroyStream(theirs);
  driver().destroyEvent(event);
}

TEST_F(Refusals, LaunchesBeyondWhatGpusHave) {
  EXPECT_EQ(launch(*device, stream, 1, 32, memory), 0);
  EXPECT_EQ(launch(*device, stream, 0, 32, memory), kErrorInvalidValue);
  EXPECT_EQ(launch(*device, stream, 1u << 31, 32, memory), kErrorInvalidValue);
  EXPECT_EQ(launch(*device, stream, 1, 1025, memory), kErrorInvalidValue);
  Address number = memory;
  void *arguments[] = {&number};
  const Handle function = static_cast<DriverDevice &>(*device).kernels[0].function;
  EXPECT_EQ(driver().launch(function, 1, 65536, 1, 32, 1, 1, 0, stream, arguments, nullptr),
            kErrorInvalidValue);
  EXPECT_EQ(driver().launch(function, 1, 1, 1, 32, 1, 65, 0, stream, arguments, nullptr),
            kErrorInvalidValue);
  EXPECT_EQ(
      driver().launch(function, 1, 1, 1, 32, 1, 1, (48 << 10) + 1, stream, arguments, nullptr),
      kErrorInvalidValue);
}

// Accesses outside of its memory or misaligned: detected when the kernel runs.
TEST_F(Refusals, ArgumentsThatAKernelCannotUse) {
  const struct {
    int64_t gpu;
    int error;
    int64_t offset;
  } cases[] = {{4, kMisaligned, 2}, {5, kIllegalAddress, 4096}, {6, kIllegalAddress, -1}};
  for (const auto &each : cases) {
    std::unique_ptr<GpuDevice> lost = openGpu(each.gpu);
    // With a negative offset: another GPU's memory, without peer access.
    const Address number =
        each.offset < 0 ? memory : *lost->allocate(4096) + static_cast<Address>(each.offset);
    Handle theirs = nullptr;
    ASSERT_EQ(driver().createStream(&theirs, kStreamNonBlocking), 0);
    EXPECT_EQ(launch(*lost, theirs, 1, 32, number), 0);
    EXPECT_EQ(driver().synchronize(theirs), each.error);
    driver().destroyStream(theirs);
  }
}

} // namespace
} // namespace st::cuda
