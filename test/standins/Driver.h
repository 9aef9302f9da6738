// What the parts of the driver's stand-in share: see Streams.h.
#ifndef ST_TEST_STANDINS_DRIVER_H
#define ST_TEST_STANDINS_DRIVER_H

#include "backends/cuda/runtime/libraries/DriverLibraries.h"
#include "test/standins/Faults.h"
#include "test/standins/Streams.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace standin {

// As cuda.h numbers them.
enum Error {
  kSuccess = 0,
  kInvalidValue = st::cuda::kErrorInvalidValue,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAlreadyEnabled = 704,
  kMisalignedAddress = 716,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureUnmatched = 903,
  kCaptureIsolation = 905,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
};

long setting(const char *name, long otherwise);

/// Memory that was taken, by its begin.
class Memory {
public:
  void *take(size_t bytes);
  int giveBack(uint64_t address);
  bool has(uint64_t address, size_t bytes) { return owner(address, bytes) != kNobody; }
  /// The GPU that had entered the thread which took all of some memory.
  int owner(uint64_t address, size_t bytes);
  static constexpr int kNobody = -2;

private:
  struct Taken {
    size_t bytes;
    int gpu;
  };
  std::mutex mutex;
  std::map<uint64_t, Taken> taken;
};
extern Memory gpuMemory, hostMemory;

struct Graph {
  std::vector<Work> works;
};

/// What happens to a stream between the begin and the end of a capture.
struct Capture {
  std::thread::id thread;
  int mode;
  bool isInvalid = false;
  Graph graph;
};
/// From row to row of a copy, in bytes.
constexpr int kMostPitch = 0x7fffffff;

constexpr int kCaptureGlobal = 0, kCaptureRelaxed = 2;

/// What was in a stream when an event was recorded; who waits for the event waits for that.
struct Moment {
  std::mutex mutex;
  std::condition_variable changed;
  bool isReached = false;
  std::chrono::steady_clock::time_point time;
};

class Stream {
public:
  explicit Stream(int gpu, bool isLegacy = false);
  ~Stream();

  int enqueue(Work work);
  /// Also after a failure, or those that wait for it would do so for ever.
  int enqueue(std::shared_ptr<Moment> moment);
  int wait();
  int query();

  const int gpu;
  std::unique_ptr<Capture> capture;

private:
  /// A work, a moment that is reached, or, with neither, the end.
  struct Item {
    Work work;
    std::shared_ptr<Moment> moment;
  };
  void give(Item item);
  void run();

  static std::atomic<unsigned> made;
  const bool isLegacy;
  std::minstd_rand random;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  bool isBusy = false;
  std::thread worker;
};

struct Gpu {
  std::atomic<int> failure{0}; ///< of a kernel: what all calls return from then on
  std::mutex mutex;            ///< of what follows
  std::set<int> peers;         ///< whose memory kernels may touch
  std::unique_ptr<Stream> legacy;
};
Gpu &gpuOf(int number);

/// Null is the legacy stream of the current GPU; of another GPU's: null.
Stream *streamOf(void *stream);

/// Fails as a driver does that is not set up, a thread that has entered no GPU, or one that has
/// failed.
int state();

/// Fails where a stream that is being captured does not allow calls that it does not see
/// (cuThreadExchangeStreamCaptureMode): in the thread that captures, or in any where one captures
/// in the global mode. The captures are invalid then.
int forbidWhileCapturing();

int checkPlaces(std::initializer_list<std::pair<uint64_t, size_t>> places);

/// The captures that a thread has begun, and those of the global mode; they begin and end there.
void addCapture(Capture *capture);
void removeCapture(Capture *capture);

} // namespace standin

/// A function of the driver begins: it is counted, and fails where a test says so.
#define ST_STANDIN_CALL()                                                                          \
  static standin::Function called(__func__);                                                       \
  if (int planned = called.call())                                                                 \
  return planned

#endif // ST_TEST_STANDINS_DRIVER_H
