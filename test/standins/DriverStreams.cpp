// Streams, events and graphs of the driver's stand-in.
#include "test/standins/Driver.h"

#include <algorithm>

using namespace st::cuda;

namespace standin {

// ---- streams ------------------------------------------------------------------------------------

std::atomic<unsigned> Stream::created{0};

Stream::Stream(int gpu, bool isLegacy)
    : gpu(gpu), isLegacy(isLegacy),
      random(static_cast<unsigned>(setting("ST_STANDIN_SEED", 1)) * 7919u + ++created) {
  worker = std::thread([this] { run(); });
}

Stream::~Stream() {
  push({});
  worker.join();
}

int Stream::enqueue(Work work) {
  if (!capture) {
    push({std::move(work), nullptr});
    return kSuccess;
  }
  if (capture->isInvalid)
    return kCaptureInvalidated;
  capture->graph.works.push_back(std::move(work));
  return kSuccess;
}

int Stream::enqueue(std::shared_ptr<Moment> moment) {
  push({Work(), std::move(moment)});
  return kSuccess;
}

int Stream::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return items.empty() && !isBusy; });
  return gpuOf(gpu).failure;
}

int Stream::query() {
  std::lock_guard<std::mutex> lock(mutex);
  if (const int failure = gpuOf(gpu).failure)
    return failure;
  return items.empty() && !isBusy ? int(kSuccess) : kNotReady;
}

void Stream::push(Item item) {
  std::lock_guard<std::mutex> lock(mutex);
  items.push_back(std::move(item));
  changed.notify_all();
}

void Stream::run() {
  const bool pauses = setting("ST_STANDIN_SEED", 1) != 0;
  std::atomic<int> &failure = gpuOf(gpu).failure;
  while (true) {
    Item item;
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return !items.empty(); });
      item = std::move(items.front());
      items.pop_front();
      isBusy = true;
    }
    // Nothing else waits for the legacy stream, so it is always late.
    if (pauses && isLegacy && item.work)
      std::this_thread::sleep_for(std::chrono::microseconds(5000 + random() % 5000));
    else if (pauses && random() % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    if (item.moment) {
      std::lock_guard<std::mutex> lock(item.moment->mutex);
      item.moment->isReached = true;
      item.moment->time = std::chrono::steady_clock::now();
      item.moment->changed.notify_all();
    } else if (!item.work) {
      return;
    }
    const int result = item.work && failure == kSuccess ? item.work() : int(kSuccess);
    int none = kSuccess;
    failure.compare_exchange_strong(none, result);
    std::lock_guard<std::mutex> lock(mutex);
    isBusy = false;
    changed.notify_all();
  }
}

Stream *streamOf(void *stream) {
  if (stream) {
    auto *given = static_cast<Stream *>(stream);
    return given->gpu == currentGpu() ? given : nullptr;
  }
  Gpu &gpu = gpuOf(currentGpu());
  std::lock_guard<std::mutex> lock(gpu.mutex);
  if (!gpu.legacy)
    gpu.legacy = std::make_unique<Stream>(currentGpu(), /*isLegacy=*/true);
  return gpu.legacy.get();
}

int enqueue(void *stream, Work work) {
  if (int error = state())
    return error;
  if (!stream)
    if (int error = forbidWhileCapturing())
      return error;
  Stream *used = streamOf(stream);
  return used ? used->enqueue(std::move(work)) : int(kInvalidHandle);
}

bool isCapturing(void *stream) { return stream && static_cast<Stream *>(stream)->capture; }

// ---- captures -----------------------------------------------------------------------------------

static std::mutex capturesMutex;
static std::vector<Capture *> captures;

void addCapture(Capture *capture) {
  std::lock_guard<std::mutex> lock(capturesMutex);
  captures.push_back(capture);
}

void removeCapture(Capture *capture) {
  std::lock_guard<std::mutex> lock(capturesMutex);
  captures.erase(std::find(captures.begin(), captures.end(), capture));
}

int forbidWhileCapturing() {
  std::lock_guard<std::mutex> lock(capturesMutex);
  int error = kSuccess;
  for (Capture *capture : captures) {
    const bool isOwn = capture->thread == std::this_thread::get_id();
    if (capture->mode != kCaptureGlobal && (!isOwn || capture->mode == kCaptureRelaxed))
      continue;
    capture->isInvalid = true;
    error = kCaptureUnsupported;
  }
  return error;
}

/// Checks before a wait for a stream or a query.
static int checkAsked(void *stream) {
  if (int error = state())
    return error;
  if (int error = forbidWhileCapturing())
    return error;
  Stream *asked = streamOf(stream);
  if (!asked)
    return kInvalidHandle;
  if (!asked->capture)
    return kSuccess;
  asked->capture->isInvalid = true;
  return kCaptureUnsupported;
}

// ---- events -------------------------------------------------------------------------------------

struct Event {
  bool isTimed;
  int gpu = currentGpu();
  bool isCaptured = false;
  std::shared_ptr<Moment> last; ///< none: it was never recorded
};

static int queryMoment(const Event &event) {
  if (event.isCaptured)
    return kCapturedEvent;
  if (const int failure = gpuOf(event.gpu).failure)
    return failure;
  if (!event.last)
    return kSuccess;
  std::lock_guard<std::mutex> lock(event.last->mutex);
  return event.last->isReached ? int(kSuccess) : kNotReady;
}

} // namespace standin

using namespace standin;

extern "C" {

// All streams of the runtime are non-blocking: they do not synchronize with the legacy stream.
int cuStreamCreate(void **stream, unsigned flags) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  if (flags != kStreamNonBlocking)
    return kInvalidValue;
  *stream = new Stream(currentGpu());
  return kSuccess;
}

int cuStreamDestroy_v2(void *stream) {
  ST_STANDIN_CALL();
  delete static_cast<Stream *>(stream);
  return kSuccess;
}

int cuStreamSynchronize(void *stream) {
  ST_STANDIN_CALL();
  const int error = checkAsked(stream);
  return error ? error : streamOf(stream)->wait();
}

int cuStreamQuery(void *stream) {
  ST_STANDIN_CALL();
  const int error = checkAsked(stream);
  return error ? error : streamOf(stream)->query();
}

int cuEventCreate(void **event, unsigned flags) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  *event = new Event{(flags & kEventDisableTiming) == 0};
  return kSuccess;
}

int cuEventDestroy_v2(void *event) {
  ST_STANDIN_CALL();
  delete static_cast<Event *>(event);
  return kSuccess;
}

// An event of a capture is part of the graph and has no status.
int cuEventRecord(void *event, void *stream) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  auto *recorded = static_cast<Event *>(event);
  Stream *used = streamOf(stream);
  if (!used || recorded->gpu != used->gpu)
    return kInvalidHandle;
  recorded->isCaptured = used->capture != nullptr;
  if (used->capture)
    return used->capture->isInvalid ? int(kCaptureInvalidated) : kSuccess;
  recorded->last = std::make_shared<Moment>();
  return used->enqueue(recorded->last);
}

int cuEventQuery(void *event) {
  ST_STANDIN_CALL();
  const int error = forbidWhileCapturing();
  return error ? error : queryMoment(*static_cast<Event *>(event));
}

int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  ST_STANDIN_CALL();
  const auto &first = *static_cast<Event *>(begin), &second = *static_cast<Event *>(end);
  if (!first.isTimed || !second.isTimed || !first.last || !second.last || first.gpu != second.gpu)
    return kInvalidHandle;
  if (queryMoment(first) != kSuccess || queryMoment(second) != kSuccess)
    return kNotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(second.last->time - first.last->time).count();
  return kSuccess;
}

int cuEventSynchronize(void *event) {
  ST_STANDIN_CALL();
  if (int error = forbidWhileCapturing())
    return error;
  const auto &waited = *static_cast<Event *>(event);
  if (!waited.isCaptured && waited.last) {
    std::unique_lock<std::mutex> lock(waited.last->mutex);
    waited.last->changed.wait(lock, [&] { return waited.last->isReached; });
  }
  return queryMoment(waited);
}

// The event may be of another GPU. No wait may cross the begin of a capture. Waits for an event of
// a capture would join it, which callers here never request.
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  ST_STANDIN_CALL();
  if (flags != 0)
    return kInvalidValue;
  const auto &waited = *static_cast<Event *>(event);
  if (stream && isCapturing(stream) && !waited.isCaptured) {
    static_cast<Stream *>(stream)->capture->isInvalid = true;
    return kCaptureIsolation;
  }
  if (waited.isCaptured)
    return kCapturedEvent;
  return enqueue(stream, [moment = waited.last] {
    if (!moment)
      return kSuccess;
    std::unique_lock<std::mutex> lock(moment->mutex);
    moment->changed.wait(lock, [&] { return moment->isReached; });
    return kSuccess;
  });
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  Stream *used = stream ? streamOf(stream) : nullptr;
  if (!used || used->capture)
    return used ? kCaptureUnsupported : kInvalidHandle;
  used->capture = std::make_unique<Capture>();
  used->capture->thread = std::this_thread::get_id();
  used->capture->mode = mode;
  addCapture(used->capture.get());
  return kSuccess;
}

int cuStreamEndCapture(void *stream, void **graph) {
  static Function called(__func__);
  const int planned = called.call(); // Ends the capture as well.
  Stream *used = stream ? streamOf(stream) : nullptr;
  *graph = nullptr;
  if (!used || !used->capture)
    return used ? kCaptureUnmatched : kInvalidHandle;
  if (used->capture->mode != kCaptureRelaxed && used->capture->thread != std::this_thread::get_id())
    return kCaptureWrongThread;
  removeCapture(used->capture.get());
  const std::unique_ptr<Capture> ended = std::move(used->capture);
  if (planned || ended->isInvalid)
    return planned ? planned : int(kCaptureInvalidated);
  *graph = new Graph(std::move(ended->graph));
  return kSuccess;
}

int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  ST_STANDIN_CALL();
  if (!graph || flags != 0)
    return kInvalidValue;
  *executable = new Graph(*static_cast<Graph *>(graph));
  return kSuccess;
}

int cuGraphDestroy(void *graph) {
  ST_STANDIN_CALL();
  if (!graph)
    return kInvalidValue;
  delete static_cast<Graph *>(graph);
  return kSuccess;
}

int cuGraphExecDestroy(void *graph) {
  ST_STANDIN_CALL();
  if (!graph)
    return kInvalidValue;
  delete static_cast<Graph *>(graph);
  return kSuccess;
}

int cuGraphLaunch(void *executable, void *stream) {
  ST_STANDIN_CALL();
  for (const Work &work : static_cast<Graph *>(executable)->works)
    if (int error = enqueue(stream, work))
      return error;
  return kSuccess;
}

} // extern "C"
