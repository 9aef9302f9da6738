#include "backends/cuda/runtime/communication/NcclGroup.h"

#include "lib/Support/StatusMacros.h"

#include <cstring>

namespace st::cuda {
namespace {

// A non-blocking communicator: an operation may still be in progress when its call returns, and no
// other call is allowed until it completes.
class NcclGroup : public GpuGroup {
public:
  NcclGroup(const Nccl &nccl, Handle communicator) : nccl(nccl), communicator(communicator) {}
  // Other members may be lost, so do not wait for them.
  ~NcclGroup() override { nccl.abort(communicator); }

  absl::Status transfer(GpuStream &stream, absl::Span<const Piece> sent,
                        absl::Span<const Piece> received) override;
  absl::StatusOr<bool> isReady() override;

private:
  const Nccl &nccl;
  Handle communicator;
};

absl::Status NcclGroup::transfer(GpuStream &stream, absl::Span<const Piece> sent,
                                 absl::Span<const Piece> received) {
  Handle work = static_cast<StreamOfDriver &>(stream).handle();
  ST_RETURN_IF_ERROR(nccl.check(nccl.startGroup(), "starting a group"));
  absl::Status status;
  for (const Piece &piece : sent)
    status.Update(nccl.check(nccl.send(reinterpret_cast<const void *>(piece.place),
                                       static_cast<size_t>(piece.bytes), kNcclBytes,
                                       static_cast<int>(piece.member), communicator, work),
                             "sending"));
  for (const Piece &piece : received)
    status.Update(nccl.check(nccl.receive(reinterpret_cast<void *>(piece.place),
                                          static_cast<size_t>(piece.bytes), kNcclBytes,
                                          static_cast<int>(piece.member), communicator, work),
                             "receiving"));
  status.Update(nccl.check(nccl.endGroup(), "ending a group"));
  return status;
}

absl::StatusOr<bool> NcclGroup::isReady() {
  int state = 0;
  ST_RETURN_IF_ERROR(nccl.check(nccl.getAsyncError(communicator, &state), "asking for errors"));
  ST_RETURN_IF_ERROR(nccl.check(state, "a message between GPUs"));
  return state != kNcclInProgress;
}

} // namespace

absl::Status findNccl() { return getNccl().status(); }

absl::StatusOr<std::string> createGroupId() {
  ST_ASSIGN_OR_RETURN(const Nccl *nccl, getNccl());
  NcclId id;
  ST_RETURN_IF_ERROR(nccl->check(nccl->getUniqueId(&id), "making a group"));
  return std::string(id.bytes, sizeof(id.bytes));
}

absl::StatusOr<std::unique_ptr<GpuGroup>> joinNcclGroup(const GpuDevice::GroupMember &member) {
  ST_ASSIGN_OR_RETURN(const Nccl *nccl, getNccl());
  NcclId id;
  std::memcpy(id.bytes, member.group.data(), sizeof(id.bytes));
  const NcclConfig config;
  Handle communicator = nullptr;
  ST_RETURN_IF_ERROR(nccl->check(nccl->init(&communicator, static_cast<int>(member.members), id,
                                            static_cast<int>(member.number), &config),
                                 "joining a group"));
  return std::make_unique<NcclGroup>(*nccl, communicator);
}

} // namespace st::cuda
