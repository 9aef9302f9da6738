#include "lib/Runtime/Data/ReadAhead.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <deque>
#include <thread>

namespace st {
namespace {

class ReadAheadSource : public BatchSource {
public:
  ReadAheadSource(std::unique_ptr<BatchSource> source, int depth)
      : source(std::move(source)), depth(static_cast<size_t>(depth)) {}

  ~ReadAheadSource() override {
    {
      absl::MutexLock lock(&mutex);
      ends = true;
    }
    if (thread.joinable())
      thread.join();
  }

  absl::StatusOr<Batch> batch(int64_t index) const override {
    absl::MutexLock lock(&mutex);
    if (!thread.joinable() || index != expected) {
      ready.clear();
      next = index;
      ++round;
      if (!thread.joinable())
        thread = std::thread([this] { run(); });
    }
    expected = index + 1;
    mutex.Await(absl::Condition(this, &ReadAheadSource::hasBatch));
    absl::StatusOr<Batch> batch = std::move(ready.front());
    ready.pop_front();
    return batch;
  }

private:
  bool hasBatch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return !ready.empty(); }
  bool hasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return ends || ready.size() < depth; }

  void run() const {
    absl::MutexLock lock(&mutex);
    while (true) {
      mutex.Await(absl::Condition(this, &ReadAheadSource::hasWork));
      if (ends)
        return;
      const int64_t index = next++, since = round;
      mutex.Unlock();
      absl::StatusOr<Batch> batch = source->batch(index);
      mutex.Lock();
      if (since == round) // otherwise another batch has been requested
        ready.push_back(std::move(batch));
    }
  }

  std::unique_ptr<BatchSource> source;
  size_t depth;
  mutable absl::Mutex mutex;
  mutable std::thread thread;
  mutable std::deque<absl::StatusOr<Batch>> ready ABSL_GUARDED_BY(mutex); // ascending
  mutable int64_t next ABSL_GUARDED_BY(mutex) = 0;                        // the batch that the
                                                                          // thread makes next
  mutable int64_t expected ABSL_GUARDED_BY(mutex) = 0; // index of the first batch in `ready`, or of
                                                       // the next one
  mutable int64_t round ABSL_GUARDED_BY(mutex) = 0;    // how often the thread restarted at another
                                                       // batch
  mutable bool ends ABSL_GUARDED_BY(mutex) = false;
};

} // namespace

std::unique_ptr<BatchSource> readAhead(std::unique_ptr<BatchSource> source, int depth) {
  return std::make_unique<ReadAheadSource>(std::move(source), depth);
}

} // namespace st
