// Proof that a program gives the same results however its instances are interleaved.
#pragma once

#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st::dtu {

struct LinkEvent {
  bool isSend = false;
  int64_t peer = 0, channel = 0, bytes = 0;
};

/// Two accesses of which the second comes after the first only because messages come back: the rank
/// has sent `sends` messages before or as the first, and received `receives` before or as the
/// second.
struct ReturnNeeded {
  size_t sends, receives;
  std::string what; ///< the two, for an error
};

struct ProgramOrder {
  /// The messages in an order in which each send stands behind just those receives that it waits
  /// for: a rank that does them one after the other, and never waits to send, gets as far as the
  /// program does.
  std::vector<LinkEvent> events;
  /// For each number of receives, ascending, the most sends that have to be known to be over.
  std::vector<ReturnNeeded> returns;
  int64_t executed = 0; ///< instructions that the proof followed
};

/// Follows one run of a valid program without data, and proves for it, whatever the interleaving,
/// that
///
/// - no instance waits for ever on a semaphore or barrier, messages being there when received;
/// - of two accesses to a byte by different instances, one of which writes, one happens before the
///   other: transfers last until their instruction is complete, so that those under way count. What
///   other ranks order by what they send back is left to the caller (`returns`).
///
/// Happens-before is that of vector clocks (Fidge, 1988; Mattern, 1989) over instances. One run
/// stands for all because a semaphore has one instance that signals it and one that waits for it,
/// and a barrier the same participants each time: the error says so where that does not hold. Of
/// loops that load decides, two trips are followed. Rows that gather and scatter find by index are
/// taken to be any of the table.
///
/// An error is one line that names the program, the two instructions, their engines, and the bytes;
/// ResourceExhausted where more than `limit` instructions would have to be followed. Loops whose
/// trips repeat are followed until they do and where they stop to (PeriodicOrder.h); `everyTrip`
/// follows all of them, for the same result.
absl::StatusOr<ProgramOrder> proveOrder(const Program &program, const RunView &view, int64_t limit,
                                        bool everyTrip = false);

/// The first of the two alone: the messages in an order as above, and no instance waits for ever;
/// `returns` are not looked for. A program's skeleton gives the same (SyncSkeleton.h).
absl::StatusOr<ProgramOrder> proveWaits(const Program &program, const RunView &view, int64_t limit);

/// The messages alone, in the order of the send streams and of the receive streams.
absl::StatusOr<std::vector<LinkEvent>> followLinks(const Program &program, const RunView &view);

} // namespace st::dtu
