// Proves that a program gives the same results for every interleaving of its instances.
#pragma once

#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st::dtu {

struct StretchCode;
class StretchMemory;

struct LinkEvent {
  bool isSend = false;
  int64_t peer = 0, channel = 0, bytes = 0;
};

/// Two accesses whose order depends on returning messages: the rank has sent `sends` messages
/// by the first access, and received `receives` by the second.
struct ReturnNeeded {
  size_t sends, receives;
  std::string what; ///< the two accesses, for an error
};

struct ProgramOrder {
  /// The messages, ordered so that each send comes after exactly the receives that it waits for. A
  /// rank that processes them in this order, and never waits to send, makes the same progress as
  /// the program.
  std::vector<LinkEvent> events;
  /// For each number of receives, ascending, the largest number of sends that must have completed.
  std::vector<ReturnNeeded> returns;
  int64_t executed = 0; ///< instructions that the proof followed
};

/// Follows one run of a valid program without data, and proves for every interleaving that
///
/// - no instance waits forever on a semaphore or barrier, given that messages have arrived when
///   they are received;
/// - of two accesses to a byte by different instances, one of which writes, one happens before the
///   other. A transfer lasts until its instruction is complete. Orders that depend on messages
///   returned by other ranks are left to the caller (`returns`).
///
/// Happens-before uses vector clocks (Fidge, 1988; Mattern, 1989) over instances. One run
/// represents all because each semaphore has one signalling and one waiting instance, and each
/// barrier always has the same participants; otherwise it is an error. Follows two trips of each
/// loop whose end depends on loaded values. Rows that gather and scatter find by index may be any
/// row of the table.
///
/// An error is one line that names the program, the two instructions, their engines, and the bytes;
/// ResourceExhausted if more than `limit` instructions would be needed. Periodic loops are followed
/// until they repeat and resumed where they stop (PeriodicOrder.h); `everyTrip` follows every trip,
/// with the same result.
absl::StatusOr<ProgramOrder> proveOrder(const Program &program, const RunView &view, int64_t limit,
                                        bool everyTrip = false);

/// The same for one of several runs of similar code: `memory` holds the known stretches of their
/// programs (Stretches.h) and grows. Leaves `events` empty.
absl::StatusOr<ProgramOrder> proveOrder(const StretchCode &code, const RunView &view, int64_t limit,
                                        StretchMemory &memory);

/// Proves the first of the two properties: the messages in an order as above, and no instance waits
/// forever; does not compute `returns`. A program's skeleton gives the same result
/// (SyncSkeleton.h).
absl::StatusOr<ProgramOrder> proveWaits(const Program &program, const RunView &view, int64_t limit);

/// The messages alone, in the order of the send streams and the receive streams.
absl::StatusOr<std::vector<LinkEvent>> followLinks(const Program &program, const RunView &view);

} // namespace st::dtu
