// Common parts of the driver's replacement: see Streams.h.
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

// Numbers of cuda.h.
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

/// Allocated memory, by address.
class Memory {
public:
  void *allocate(size_t bytes);
  int release(uint64_t address);
  bool has(uint64_t address, size_t bytes) { return owner(address, bytes) != kNobody; }
  /// The GPU that was current in the thread that allocated all of the memory.
  int owner(uint64_t address, size_t bytes);
  static constexpr int kNobody = -2;

private:
  struct Allocation {
    size_t bytes;
    int gpu;
  };
  std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
};
extern Memory gpuMemory, hostMemory;

struct Graph {
  std::vector<Work> works;
};

/// The state of a stream during a capture.
struct Capture {
  std::thread::id thread;
  int mode;
  bool isInvalid = false;
  Graph graph;
};
/// The maximum pitch of a copy, in bytes.
constexpr int kPitchLimit = 0x7fffffff;

constexpr int kCaptureGlobal = 0, kCaptureRelaxed = 2;

/// The work in a stream when an event was recorded; waits for the event wait for it.
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
  /// Adds the moment even after a failure, because other streams would wait for it forever.
  int enqueue(std::shared_ptr<Moment> moment);
  int wait();
  int query();

  const int gpu;
  std::unique_ptr<Capture> capture;

private:
  /// Work, or a moment that is reached. Without both, the end of the stream.
  struct Item {
    Work work;
    std::shared_ptr<Moment> moment;
  };
  void push(Item item);
  void run();

  static std::atomic<unsigned> created;
  const bool isLegacy;
  std::minstd_rand random;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  bool isBusy = false;
  std::thread worker;
};

struct Gpu {
  std::atomic<int> failure{0}; ///< of a kernel: the result of all later calls
  std::mutex mutex;            ///< of the members below
  std::set<int> peers;         ///< GPUs whose memory its kernels may access
  std::unique_ptr<Stream> legacy;
};
Gpu &gpuOf(int number);

/// Null means the legacy stream of the current GPU. Returns null for another GPU's stream.
Stream *streamOf(void *stream);

/// Fails like an uninitialised driver, a thread without a current GPU, or a GPU that has failed.
int state();

/// Fails if a stream that is being captured forbids unrelated calls
/// (cuThreadExchangeStreamCaptureMode): in the thread that captures, or in any thread if a capture
/// is in the global mode. This invalidates the captures.
int forbidWhileCapturing();

int checkPlaces(std::initializer_list<std::pair<uint64_t, size_t>> places);

/// Registers and removes a capture, for its thread or for the global mode.
void addCapture(Capture *capture);
void removeCapture(Capture *capture);

} // namespace standin

/// Counts a call of a driver function; the call fails if a test requests it.
#define ST_STANDIN_CALL()                                                                          \
  static standin::Function called(__func__);                                                       \
  if (int planned = called.call())                                                                 \
  return planned

#endif // ST_TEST_STANDINS_DRIVER_H
