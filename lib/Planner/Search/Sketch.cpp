#include "lib/Planner/Search/Sketch.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>

namespace st {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Moves `to`, a copy of `one`, along the line towards `two` by `steps` times their distance.
class Line {
public:
  explicit Line(double steps) : steps(steps) {}

  /// Returns false if the messages differ in more than their numbers.
  bool move(const Message &one, const Message &two, Message &to) const;

private:
  bool moveField(const Message &one, const Message &two, Message &to,
                 const FieldDescriptor &field) const;
  bool moveList(const Message &one, const Message &two, Message &to,
                const FieldDescriptor &field) const;

  const double steps;
};

} // namespace

bool Line::moveField(const Message &one, const Message &two, Message &to,
                     const FieldDescriptor &field) const {
  const Reflection &reader = *one.GetReflection();
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_DOUBLE: {
    const double from = reader.GetDouble(one, &field), next = reader.GetDouble(two, &field);
    if (from != next)
      reader.SetDouble(&to, &field, from + (next - from) * steps);
    return true;
  }
  case FieldDescriptor::CPPTYPE_INT64: {
    const int64_t from = reader.GetInt64(one, &field), next = reader.GetInt64(two, &field);
    if (from != next)
      reader.SetInt64(&to, &field, from + std::llround(static_cast<double>(next - from) * steps));
    return true;
  }
  case FieldDescriptor::CPPTYPE_MESSAGE:
    return reader.HasField(one, &field) == reader.HasField(two, &field) &&
           (!reader.HasField(one, &field) ||
            move(reader.GetMessage(one, &field), reader.GetMessage(two, &field),
                 *reader.MutableMessage(&to, &field)));
  case FieldDescriptor::CPPTYPE_BOOL:
    return reader.GetBool(one, &field) == reader.GetBool(two, &field);
  case FieldDescriptor::CPPTYPE_ENUM:
    return reader.GetEnumValue(one, &field) == reader.GetEnumValue(two, &field);
  case FieldDescriptor::CPPTYPE_STRING:
    return reader.GetString(one, &field) == reader.GetString(two, &field);
  default:
    return false;
  }
}

/// Lists of numbers are identifiers, not amounts, and do not change.
bool Line::moveList(const Message &one, const Message &two, Message &to,
                    const FieldDescriptor &field) const {
  const Reflection &reader = *one.GetReflection();
  const int size = reader.FieldSize(one, &field);
  if (size != reader.FieldSize(two, &field))
    return false;
  auto isAlike = [&](int i) {
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return move(reader.GetRepeatedMessage(one, &field, i),
                  reader.GetRepeatedMessage(two, &field, i),
                  *reader.MutableRepeatedMessage(&to, &field, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return reader.GetRepeatedString(one, &field, i) == reader.GetRepeatedString(two, &field, i);
    case FieldDescriptor::CPPTYPE_INT64:
      return reader.GetRepeatedInt64(one, &field, i) == reader.GetRepeatedInt64(two, &field, i);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reader.GetRepeatedUInt32(one, &field, i) == reader.GetRepeatedUInt32(two, &field, i);
    default:
      return false;
    }
  };
  for (int i = 0; i < size; ++i)
    if (!isAlike(i))
      return false;
  return true;
}

bool Line::move(const Message &one, const Message &two, Message &to) const {
  const auto &type = *one.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    if (!(field.is_repeated() ? moveList(one, two, to, field) : moveField(one, two, to, field)))
      return false;
  }
  return true;
}

std::unique_ptr<proto::ProgramWork> sketchWork(const proto::ProgramWork &small, int64_t smallSize,
                                               const proto::ProgramWork &large, int64_t largeSize,
                                               int64_t microBatch) {
  auto work = std::make_unique<proto::ProgramWork>(small);
  const double steps =
      static_cast<double>(microBatch - smallSize) / static_cast<double>(largeSize - smallSize);
  if (!Line(steps).move(small, large, *work))
    return nullptr;
  return work;
}

const proto::ProgramWork *BlockSketches::compile(BlockKey key, int64_t microBatch) {
  key.microBatch = microBatch;
  absl::StatusOr<const proto::ProgramWork *> work = blocks.get(key);
  return work.ok() ? *work : nullptr;
}

const proto::ProgramWork *BlockSketches::get(const BlockKey &key) {
  if (key.microBatch <= kCompiledSequences)
    return compile(key, key.microBatch);
  auto [found, isNew] = sketches.try_emplace(key);
  for (const auto &[small, large] : {std::pair<int64_t, int64_t>{1, 2}, {2, 4}}) {
    if (!isNew || found->second)
      break;
    const proto::ProgramWork *from = compile(key, small),
                             *to = from ? compile(key, large) : nullptr;
    if (to)
      found->second = sketchWork(*from, small, *to, large, key.microBatch);
  }
  return found->second.get();
}

} // namespace st
