#include "lib/Runtime/Processes/ProcessGroup.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace st {

std::string Member::name() const { return absl::StrCat("process ", process, " of ", processes); }

std::string Member::lost(int64_t other) const {
  return absl::StrCat(name(), ": process ", other, " has ended early");
}

absl::Status Member::silent(absl::string_view what, double seconds) const {
  return absl::DeadlineExceededError(absl::StrFormat(
      "%s, %s: no message arrived for %g s, so it is considered lost", name(), what, seconds));
}

void ProcessGroup::setSelf(const Member &member) {
  self = member;
  alive.emplace(absl::StrCat(self.name(), " ran"));
}

absl::Status ProcessGroup::checkPeer(const Peer &peer) const {
  if (peer.process >= 0 && peer.process < self.processes && peer.process != self.process &&
      peer.channel >= 0 && peer.channel <= kAgreementChannel)
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat(peer.what, ": no channel ", peer.channel,
                                          " between process ", self.process, " and ", peer.process,
                                          " of ", self.processes));
}

std::string ProcessGroup::receiving(const Peer &from) {
  return absl::StrCat(from.what, ", receiving from process ", from.process);
}

} // namespace st
