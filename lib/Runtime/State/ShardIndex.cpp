#include "lib/Runtime/State/ShardIndex.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

namespace st {

absl::StatusOr<std::map<std::string, std::string>> readShardIndex(const std::string &path) {
  constexpr uint64_t kLargestText = 64 << 20;
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestText));
  ST_ASSIGN_OR_RETURN(google::protobuf::Struct index, parseJsonObject(text, path));
  const google::protobuf::Value *map = findField(index, "weight_map");
  if (!map || !map->has_struct_value() || map->struct_value().fields().empty())
    return inFile(path, "\"weight_map\" must be an object that names the file of each tensor");
  // Ordered, so that the same folder always causes the same error.
  std::map<std::string, std::string> fileOf;
  for (const auto &[tensor, value] : map->struct_value().fields())
    fileOf[tensor] = value.string_value();
  for (const auto &[tensor, name] : fileOf)
    if (!absl::EndsWith(name, ".safetensors") || absl::StrContains(name, '/') ||
        absl::StrContains(name, '\0'))
      return inFile(path, absl::StrCat("the file of tensor ", quoteForMessage(tensor),
                                       " must be a .safetensors file of this folder, not ",
                                       quoteForMessage(name)));
  return fileOf;
}

} // namespace st
