#include "backends/cuda/runtime/communication/Transfers.h"

#include "backends/cuda/runtime/commands/Backoff.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace st::cuda {
namespace {

using Clock = std::chrono::steady_clock;

Address pieceOf(Address first, int64_t stride, size_t number) {
  return first + static_cast<Address>(stride * static_cast<int64_t>(number));
}

} // namespace

std::string Transfers::where(absl::string_view what) const {
  return absl::StrCat(what, " in task \"", task, "\" of rank ", rank.number, ", micro-batch ",
                      microBatch);
}

// ---- waits --------------------------------------------------------------------------------------

template <class IsDone>
absl::Status Transfers::waitUntil(const std::string &what, bool forSent, IsDone isDone) {
  const std::string work = where("work");
  Clock::time_point begin = Clock::now();
  std::optional<NotedOnEarlyEnd> noted;
  const std::string *last = nullptr; // the subject of the last wait
  Backoff backoff(rank.sharers);
  while (true) {
    ST_ASSIGN_OR_RETURN(bool done, isDone());
    if (done)
      return absl::OkStatus();
    const std::chrono::microseconds pause = backoff.next();
    if (pause.count() == 0)
      continue;
    std::this_thread::sleep_for(pause);
    const std::string *waited = what.empty() ? nullptr : &what;
    for (auto it = underWay.begin(); !waited && it != underWay.end(); ++it) {
      if (it->isSent && !forSent)
        continue;
      ST_ASSIGN_OR_RETURN(bool isReached, it->mark->isReached());
      waited = isReached ? nullptr : &it->what;
    }
    if (waited != last) {
      last = waited;
      begin = Clock::now();
      noted.reset();
      if (waited)
        noted.emplace(absl::StrCat("waiting for ", *waited));
    }
    for (GpuGroup *group : used)
      if (absl::Status status = group->isReady().status(); !status.ok())
        return absl::Status(status.code(),
                            absl::StrCat(waited ? *waited : work, ": ", status.message()));
    ST_RETURN_IF_ERROR(carriers.exchange.status());
    const std::chrono::duration<double> passed = Clock::now() - begin;
    if (waited && passed.count() > carriers.watchdogSeconds)
      return absl::DeadlineExceededError(
          absl::StrFormat("%s: not complete after %g s; another rank is considered lost", *waited,
                          carriers.watchdogSeconds));
  }
}

absl::Status Transfers::wait(GpuStream &stream) {
  ST_RETURN_IF_ERROR(waitUntil("", /*forSent=*/false, [&] { return stream.isDone(); }));
  return stream.wait();
}

absl::Status Transfers::finish() {
  ST_RETURN_IF_ERROR(wait(*rank.stream));
  ST_RETURN_IF_ERROR(wait(*rank.aside));
  return waitUntil("", /*forSent=*/true, [&]() -> absl::StatusOr<bool> {
    while (!underWay.empty()) {
      ST_ASSIGN_OR_RETURN(bool isReached, underWay.front().mark->isReached());
      if (!isReached)
        return false;
      underWay.pop_front();
    }
    return true;
  });
}

// ---- NCCL ---------------------------------------------------------------------------------------

absl::Status Transfers::transfer(GpuGroup &group, GpuStream &stream,
                                 absl::Span<const GpuGroup::Piece> sent,
                                 absl::Span<const GpuGroup::Piece> received,
                                 const std::string &what) {
  ST_RETURN_IF_ERROR(group.transfer(stream, sent, received));
  if (std::find(used.begin(), used.end(), &group) == used.end())
    used.push_back(&group);
  // The work is not part of the stream before that.
  ST_RETURN_IF_ERROR(waitUntil(what, /*forSent=*/true, [&] { return group.isReady(); }));
  ST_ASSIGN_OR_RETURN(Mark mark, stream.mark());
  underWay.push_back({std::move(mark), what, received.empty()});
  return absl::OkStatus();
}

absl::Status Transfers::swapByNccl(GpuGroup &group, GpuStream &stream,
                                   const proto::CudaExchange &command, Address from, Address to,
                                   absl::Span<const int64_t> members) {
  std::vector<GpuGroup::Piece> sent, received;
  for (size_t i = 0; i < members.size(); ++i) {
    const Address goes = pieceOf(from, command.from_stride(), i);
    const Address comes = pieceOf(to, command.to_stride(), i);
    if (members[i] == rank.number) {
      ST_RETURN_IF_ERROR(stream.copy(comes, 0, goes, 0, {command.bytes(), 1}));
      continue;
    }
    sent.push_back({static_cast<int64_t>(i), goes, command.bytes()});
    received.push_back({static_cast<int64_t>(i), comes, command.bytes()});
  }
  return transfer(group, stream, sent, received,
                  where(absl::StrCat(command.name(), " of ranks ", absl::StrJoin(members, ", "))));
}

// ---- exchanges ----------------------------------------------------------------------------------

absl::Status Transfers::swap(GpuStream &stream, const proto::CudaExchange &command, Address from,
                             Address to) {
  const auto members = rank.table.subspan(static_cast<size_t>(command.first()),
                                          static_cast<size_t>(command.count()));
  if (GpuGroup *group = carriers.groups.find(rank.number, members))
    return swapByNccl(*group, stream, command, from, to, members);
  const RemoteRanks &remote = carriers.remote;
  std::vector<int64_t> here;
  std::vector<size_t> places; // positions of this process's ranks among the members
  size_t self = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == rank.number)
      self = i;
    if (remote.isLocal(members[i])) {
      here.push_back(members[i]);
      places.push_back(i);
    }
  }
  if (here.size() < members.size())
    ST_RETURN_IF_ERROR(wait(stream));
  for (size_t i = 0; i < members.size(); ++i)
    if (!remote.isLocal(members[i]))
      ST_RETURN_IF_ERROR(remote.send({rank.number, members[i], kExchangeChannel},
                                     where(command.name()), *rank.device,
                                     pieceOf(from, command.from_stride(), i), command.bytes()));
  Exchange::Pieces own = {from, command.from_stride(), command.bytes(), Mark()};
  ST_ASSIGN_OR_RETURN(own.mark, stream.mark());
  ST_ASSIGN_OR_RETURN(std::vector<Exchange::Pieces> brought,
                      carriers.exchange.meet(here, rank.number, own));
  for (size_t i = 0; i < here.size(); ++i) {
    if (brought[i].bytes != own.bytes)
      return absl::InvalidArgumentError(absl::StrCat(where(command.name()), ": rank ", here[i],
                                                     " has pieces of ", brought[i].bytes,
                                                     " bytes, expected ", own.bytes));
    ST_RETURN_IF_ERROR(stream.waitFor(brought[i].mark));
    ST_RETURN_IF_ERROR(stream.copy(pieceOf(to, command.to_stride(), places[i]), 0,
                                   pieceOf(brought[i].first, brought[i].stride, self), 0,
                                   {own.bytes, 1}));
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (!remote.isLocal(members[i]))
      ST_RETURN_IF_ERROR(remote.receive({members[i], rank.number, kExchangeChannel},
                                        where(command.name()), *rank.device,
                                        pieceOf(to, command.to_stride(), i), command.bytes()));
  // No rank may overwrite data that others still read.
  ST_ASSIGN_OR_RETURN(own.mark, stream.mark());
  ST_ASSIGN_OR_RETURN(brought, carriers.exchange.meet(here, rank.number, own));
  for (const Exchange::Pieces &pieces : brought)
    ST_RETURN_IF_ERROR(stream.waitFor(pieces.mark));
  return absl::OkStatus();
}

// ---- messages -----------------------------------------------------------------------------------

absl::Status Transfers::send(GpuStream &stream, const proto::CudaSend &send, Address from) {
  const int64_t to = entry(send.peer());
  if (to < 0)
    return absl::OkStatus();
  const Exchange::Channel channel = {rank.number, to, send.channel()};
  GpuGroup *group = carriers.groups.find(rank.number, channel);
  if (!group && !carriers.remote.isLocal(to)) {
    ST_RETURN_IF_ERROR(wait(stream));
    return carriers.remote.send(channel, where(absl::StrCat("send to rank ", to)), *rank.device,
                                from, send.bytes());
  }
  Exchange &exchange = carriers.exchange;
  ST_ASSIGN_OR_RETURN(Exchange::Message message, exchange.takePlace(*rank.device, send.bytes()));
  ST_RETURN_IF_ERROR(stream.waitFor(message.mark));
  ST_RETURN_IF_ERROR(stream.copy(message.place, 0, from, 0, {send.bytes(), 1}));
  ST_ASSIGN_OR_RETURN(message.mark, stream.mark());
  if (!group) {
    exchange.send(channel, message);
    return absl::OkStatus();
  }
  // The send completes when it is received; until then the rank continues.
  std::unique_ptr<GpuStream> &side = rank.sideStreams[channel];
  if (!side) {
    ST_ASSIGN_OR_RETURN(side, rank.device->createStream());
  }
  ST_RETURN_IF_ERROR(side->waitFor(message.mark));
  const GpuGroup::Piece piece = {GpuGroups::kReceiver, message.place, message.bytes};
  ST_RETURN_IF_ERROR(
      transfer(*group, *side, {piece}, {}, where(absl::StrCat("send to rank ", to))));
  message.mark = underWay.back().mark;
  exchange.returnPlace(std::move(message));
  return absl::OkStatus();
}

absl::Status Transfers::receive(GpuStream &stream, const proto::CudaReceive &receive, Address to) {
  const int64_t from = entry(receive.peer());
  if (from < 0)
    return stream.zero(to, 0, {receive.bytes(), 1});
  const Exchange::Channel channel = {from, rank.number, receive.channel()};
  const std::string what = where(absl::StrCat("message of rank ", from));
  if (GpuGroup *group = carriers.groups.find(rank.number, channel))
    return transfer(*group, stream, {}, {{GpuGroups::kSender, to, receive.bytes()}}, what);
  if (!carriers.remote.isLocal(from)) {
    // Pending work may read the current contents.
    ST_RETURN_IF_ERROR(wait(stream));
    return carriers.remote.receive(channel, what, *rank.device, to, receive.bytes());
  }
  Exchange &exchange = carriers.exchange;
  ST_ASSIGN_OR_RETURN(Exchange::Message message, exchange.receive(channel));
  if (message.bytes != receive.bytes())
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", from, " sends ", message.bytes, " bytes on channel ",
                     receive.channel(), ", rank ", rank.number, " expects ", receive.bytes()));
  ST_RETURN_IF_ERROR(stream.waitFor(message.mark));
  ST_RETURN_IF_ERROR(stream.copy(to, 0, message.place, 0, {message.bytes, 1}));
  ST_ASSIGN_OR_RETURN(message.mark, stream.mark());
  exchange.returnPlace(std::move(message));
  return absl::OkStatus();
}

} // namespace st::cuda
