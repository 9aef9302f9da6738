#include "lib/Costs/ProfileExtension.h"

#include "google/protobuf/text_format.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace st {
namespace {

using Field = google::protobuf::FieldDescriptor;
using Message = google::protobuf::Message;
using ParseTree = google::protobuf::TextFormat::ParseInfoTree;

bool isNamed(const ParseTree &tree, const Field *field) {
  return tree.GetLocation(field, field->is_repeated() ? 0 : -1).line >= 0;
}

void replaceRegions(const proto::ImplementationProfile &own,
                    proto::ImplementationProfile &profile) {
  for (const proto::RegionProfile &region : own.regions()) {
    auto *regions = profile.mutable_regions();
    auto found =
        std::find_if(regions->begin(), regions->end(), [&](const proto::RegionProfile &other) {
          return other.name() == region.name();
        });
    (found == regions->end() ? *profile.add_regions() : *found) = region;
  }
}

/// Copies the value of a field, which is 0 if the field is absent.
void replaceField(const Message &own, const Field *field, Message &message) {
  message.GetReflection()->ClearField(&message, field);
  std::vector<const Field *> others;
  const std::unique_ptr<Message> only(own.New());
  only->CopyFrom(own);
  only->GetReflection()->ListFields(*only, &others);
  for (const Field *other : others)
    if (other != field)
      only->GetReflection()->ClearField(only.get(), other);
  message.MergeFrom(*only);
}

void extend(const Message &own, const ParseTree &tree, Message &message) {
  const auto *descriptor = own.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const Field *field = descriptor->field(i);
    if (!isNamed(tree, field))
      continue;
    const ParseTree *inner = field->is_repeated() || field->cpp_type() != Field::CPPTYPE_MESSAGE
                                 ? nullptr
                                 : tree.GetTreeForNested(field, -1);
    if (inner)
      extend(own.GetReflection()->GetMessage(own, field), *inner,
             *message.GetReflection()->MutableMessage(&message, field));
    else
      replaceField(own, field, message);
  }
}

} // namespace

proto::ImplementationProfile extendProfile(const proto::ImplementationProfile &base,
                                           absl::string_view text) {
  proto::ImplementationProfile own;
  ParseTree tree;
  google::protobuf::TextFormat::Parser parser;
  parser.WriteLocationsTo(&tree);
  parser.ParseFromString(std::string(text), &own);

  proto::ImplementationProfile profile = base;
  profile.clear_name();
  profile.clear_only_extended();
  replaceRegions(own, profile);
  own.clear_regions();
  // Regions are already replaced.
  const google::protobuf::RepeatedPtrField<proto::RegionProfile> regions = profile.regions();
  extend(own, tree, profile);
  *profile.mutable_regions() = regions;
  return profile;
}

} // namespace st
