// Records the activities and waits of each rank during a run in simulated time.
#pragma once

#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/time/StepLog.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace st::dtu {

/// The group number of each rank.
std::vector<size_t> groupsOf(const std::vector<RankConfig> &ranks);

class StepLogger {
public:
  StepLogger(const std::vector<RankConfig> &ranks, StepLog &log);

  void launchTask(size_t rank, int64_t now);
  void beginTask(size_t rank, int64_t now);
  void endTask(size_t rank, int64_t now);
  /// A core or a dte queue becomes busy (1) or idle (-1).
  void addWorker(size_t rank, int64_t now, int change);
  /// Sets the number of busy workers after periods were added without being followed. No idle time
  /// begins or ends there, because only messages begin or end one.
  void setWorkers(size_t rank, int workers) { ranks[rank].workers = workers; }
  void send(size_t rank, size_t peer, int64_t now, int64_t end);
  void waitForMessage(size_t rank, size_t peer, int64_t now);
  /// The message that the rank waits for arrives; its send began at `sent`.
  void arrive(size_t rank, size_t sender, int64_t sent, int64_t now);
  void receive(size_t rank, size_t peer, int64_t now, int64_t end);
  void addTraffic(int32_t link, size_t rank, int64_t program, const std::string &what,
                  int64_t bytes) {
    traffic[{link, rank, program, what}] += bytes;
  }

  /// Completes the log; `linkName` returns the names of links.
  template <typename LinkName> void finish(LinkName &&linkName) {
    for (const auto &[key, bytes] : traffic)
      log.traffic.push_back({linkName(std::get<0>(key)), static_cast<int64_t>(std::get<1>(key)),
                             std::get<2>(key), std::get<3>(key), bytes});
    finishTimes();
  }

private:
  /// A message that arrived while its receiver waited for it.
  struct Late {
    int64_t waitStart, arrival, sent;
    size_t sender;
  };
  struct Rank {
    int workers = 0;
    bool launches = false, runs = false;
    bool waits = false;        ///< for a message
    int64_t since = 0;         ///< time up to which the rank is logged
    int64_t waitStart = 0;     ///< start of the current wait for a message
    int64_t receivesUntil = 0; ///< end of the last receive
    int64_t sendsUntil = 0;
    size_t receivesFrom = 0, sendsTo = 0; ///< the latest peers, also of a wait
    std::optional<StepLog::Kind> idle;    ///< kind of the current idle time so far
    std::optional<int64_t> unnamed;       ///< start of idle time whose cause is not known yet
    StepLog::Kind lastMessage = StepLog::Kind::Collective; ///< of the task
    std::vector<Late> late;
    std::vector<int64_t> starts, ends; ///< of its tasks
  };

  /// Logs the rank up to `now`.
  void advance(size_t rank, int64_t now);
  StepLog::Kind kindOfMessage(size_t rank, size_t peer) const {
    return groupOf[peer] == groupOf[rank] ? StepLog::Kind::Collective : StepLog::Kind::Transfer;
  }
  std::optional<StepLog::Kind> idleKind(size_t rank, const Rank &state) const;
  void nameIdle(size_t rank, StepLog::Kind kind);
  void finishTimes();
  void followPath();
  /// The visit at `rank` that ends at `time`; sets both to where the path came from.
  StepLog::Visit stayBefore(size_t &rank, int64_t &time) const;

  StepLog &log;
  std::vector<size_t> groupOf;
  std::vector<Rank> ranks;
  std::map<std::tuple<int32_t, size_t, int64_t, std::string>, int64_t> traffic;
};

} // namespace st::dtu
