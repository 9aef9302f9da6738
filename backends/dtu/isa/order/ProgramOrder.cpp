#include "backends/dtu/isa/order/ProgramOrder.h"

#include "backends/dtu/isa/order/OrderProof.h"

namespace st::dtu {

absl::StatusOr<ProgramOrder> proveOrder(const Program &program, const RunView &view, int64_t limit,
                                        bool everyTrip) {
  if (everyTrip)
    return OrderProof(program, view, limit, Accesses::Each).run();
  const StretchCode code = CodeForms().codeOf(program);
  StretchMemory memory;
  OrderProof proof(program, view, limit, Accesses::Joined);
  proof.remember(code, view, memory);
  return proof.run();
}

absl::StatusOr<ProgramOrder> proveOrder(const StretchCode &code, const RunView &view, int64_t limit,
                                        StretchMemory &memory) {
  OrderProof proof(*code.program, view, limit, Accesses::Joined);
  proof.remember(code, view, memory);
  absl::StatusOr<ProgramOrder> order = proof.run();
  // The peers of replayed messages are those of another run.
  if (order.ok())
    order->events.clear();
  return order;
}

absl::StatusOr<ProgramOrder> proveWaits(const Program &program, const RunView &view,
                                        int64_t limit) {
  return OrderProof(program, view, limit, Accesses::None).run();
}

absl::StatusOr<std::vector<LinkEvent>> followLinks(const Program &program, const RunView &view) {
  std::vector<LinkEvent> events;
  for (Engine engine : {Engine::Tx, Engine::Rx})
    for (size_t s = 0; s < program.streams.size(); ++s) {
      const Stream &stream = program.streams[s];
      if (stream.engine != engine)
        continue;
      std::vector<uint32_t> matches = matchLoops(stream);
      for (int64_t i = 0; i < stream.count; ++i) {
        StreamWalker walker(stream, matches, i, view);
        for (std::string fault; !walker.isDone();) {
          if (walker.runControl(fault)) {
            if (!fault.empty())
              return absl::InvalidArgumentError(
                  absl::StrCat(describePlace(program, s, walker.pc), ": ", fault));
            continue;
          }
          if (auto *send = std::get_if<Send>(&walker.next()))
            events.push_back({true, walker.value(send->peer), send->channel,
                              walker.bytesOf(send->sizes, send->type)});
          else if (auto *recv = std::get_if<Recv>(&walker.next()))
            events.push_back({false, walker.value(recv->peer), recv->channel,
                              walker.bytesOf(recv->sizes, recv->type)});
          ++walker.pc;
        }
      }
    }
  return events;
}

} // namespace st::dtu
