#include "st/Runtime/Buffer.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace st {

absl::Status Buffer::check(int64_t offset, size_t count) const {
  if (offset >= 0 && offset <= size() && count <= static_cast<size_t>(size() - offset))
    return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat(count, " bytes at offset ", offset, " of a buffer of ", size()));
}

absl::Status Buffer::write(int64_t offset, absl::Span<const uint8_t> bytes) {
  ST_RETURN_IF_ERROR(check(offset, bytes.size()));
  return writeWithin(offset, bytes);
}

absl::Status Buffer::read(int64_t offset, absl::Span<uint8_t> bytes) const {
  ST_RETURN_IF_ERROR(check(offset, bytes.size()));
  return readWithin(offset, bytes);
}

absl::Status Buffer::readHere(int64_t offset, absl::Span<uint8_t> bytes) const {
  ST_RETURN_IF_ERROR(check(offset, bytes.size()));
  if (!isLocal())
    return absl::FailedPreconditionError("another process holds this memory");
  return readHereWithin(offset, bytes);
}

} // namespace st
