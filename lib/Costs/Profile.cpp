#include "lib/Costs/Profile.h"

#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/BuiltinTexts.h"
#include "lib/Timing/DeviceFigures.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cmath>
#include <optional>
#include <set>

namespace st {
namespace {

constexpr size_t kLargestFile = size_t(1) << 20;

/// Reads a text form: a file, or one that is compiled in.
template <typename Message>
absl::StatusOr<Message> find(const std::string &nameOrFile, const BuiltinTexts &texts,
                             absl::string_view what) {
  Message message;
  if (absl::StrContains(nameOrFile, '/') || absl::EndsWith(nameOrFile, ".textproto")) {
    absl::StatusOr<std::string> text = readInputFile(nameOrFile, kLargestFile);
    if (!text.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(nameOrFile, ": cannot read: ", text.status().message()));
    if (absl::Status parsed = parseDevice(*text, nameOrFile, message); !parsed.ok())
      return parsed;
    return message;
  }
  std::vector<absl::string_view> names;
  for (const auto &[name, text] : texts) {
    if (name == nameOrFile) {
      if (absl::Status parsed = parseDevice(text, nameOrFile, message); !parsed.ok())
        return parsed;
      return message;
    }
    names.push_back(name);
  }
  return absl::NotFoundError(absl::StrCat("no ", what, " is called \"", nameOrFile, "\"; expected a file or one of ",
                                          absl::StrJoin(names, ", ")));
}

/// All numbers of a message and of those in it.
absl::Status checkNumbers(const google::protobuf::Message &message) {
  using Field = google::protobuf::FieldDescriptor;
  const auto *reflection = message.GetReflection();
  std::vector<const Field *> fields;
  reflection->ListFields(message, &fields);
  for (const Field *field : fields) {
    if (field->cpp_type() == Field::CPPTYPE_DOUBLE && !field->is_repeated()) {
      const double value = reflection->GetDouble(message, field);
      if (!(value >= 0) || !std::isfinite(value))
        return fieldError(field->name(), absl::StrCat("expected a number from 0, found ", value));
    }
    if (field->cpp_type() != Field::CPPTYPE_MESSAGE)
      continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i)
      if (absl::Status status = checkNumbers(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                                  : reflection->GetMessage(message, field));
          !status.ok())
        return status;
  }
  return absl::OkStatus();
}

} // namespace

absl::Status checkProfile(const proto::ImplementationProfile &profile) {
  if (profile.name().empty())
    return fieldError("name", "expected a name, found none");
  if (absl::Status status = checkNumbers(profile); !status.ok())
    return status;
  if (const std::string &type = profile.gradient_type(); type != "f16" && type != "f32")
    return fieldError("gradient_type", absl::StrCat("expected f16 or f32, found \"", type, "\""));
  static const std::set<std::string> *const groups =
      new std::set<std::string>{"world", "tensor", "data", "pipeline", "model", "embedding"};
  for (const std::string &group : profile.memory().communicators())
    if (!groups->count(group))
      return fieldError("memory.communicators", absl::StrCat("expected ", absl::StrJoin(*groups, ", "), ", found \"", group, "\""));
  std::set<std::string> names;
  for (const proto::RegionProfile &region : profile.regions())
    if (!names.insert(region.name()).second)
      return fieldError("regions", absl::StrCat("\"", region.name(), "\" is there twice"));
  return absl::OkStatus();
}

absl::StatusOr<proto::ImplementationProfile> findProfile(const std::string &nameOrFile) {
  auto profile = find<proto::ImplementationProfile>(nameOrFile, builtinProfiles(), "profile");
  if (!profile.ok())
    return profile;
  if (absl::Status status = checkProfile(*profile); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(nameOrFile, ": ", status.message()));
  return profile;
}

std::vector<std::string> builtinProfileNames() {
  std::vector<std::string> names;
  for (const auto &[name, text] : builtinProfiles())
    names.emplace_back(name);
  return names;
}

absl::StatusOr<proto::FittedConstants> builtinConstants(absl::string_view cluster,
                                                        absl::string_view profile) {
  for (const auto &[name, text] : builtinFits()) {
    proto::FittedConstants constants;
    if (absl::Status parsed = parseDevice(text, std::string(name), constants); !parsed.ok())
      return parsed;
    if (constants.cluster() == cluster && constants.profile() == profile)
      return constants;
  }
  return absl::NotFoundError(absl::StrCat("no constants were fitted for cluster ", cluster, " and profile ", profile));
}

/// Names of clusters of the same devices begin alike: "v100-4x16gb", "v100-4x32gb".
static size_t commonPrefix(absl::string_view a, absl::string_view b) {
  size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length])
    ++length;
  return length;
}

absl::StatusOr<proto::FittedConstants> findConstants(absl::string_view cluster, absl::string_view profile) {
  std::optional<proto::FittedConstants> sameProfile, any;
  for (const auto &[name, text] : builtinFits()) {
    proto::FittedConstants constants;
    if (absl::Status parsed = parseDevice(text, std::string(name), constants); !parsed.ok())
      return parsed;
    if (constants.profile() == profile && constants.cluster() == cluster)
      return constants;
    if (constants.profile() == profile &&
        (!sameProfile || commonPrefix(constants.cluster(), cluster) > commonPrefix(sameProfile->cluster(), cluster)))
      sameProfile = constants;
    if (!any)
      any = constants;
  }
  if (sameProfile)
    return *sameProfile;
  if (any)
    return *any;
  return absl::NotFoundError("no constants ship");
}

absl::StatusOr<proto::FittedConstants> loadConstants(const std::string &path) {
  static const BuiltinTexts none;
  return find<proto::FittedConstants>(absl::StrContains(path, '/') ? path : absl::StrCat("./", path), none,
                                      "file of constants");
}

absl::StatusOr<GpuConstants> readConstants(const proto::FittedConstants &fitted) {
  GpuConstants constants;
  for (const auto &constant : fitted.constants()) {
    double *value = findConstant(constants, constant.name());
    if (!value)
      return fieldError("constants", absl::StrCat("no cost has a constant \"", constant.name(), "\"; expected one of ",
                                                  absl::StrJoin(constantNames(), ", ")));
    if (!(constant.value() > 0) || !std::isfinite(constant.value()))
      return fieldError(constant.name(), absl::StrCat("expected a number above 0, found ", constant.value()));
    *value = constant.value();
  }
  return constants;
}

} // namespace st
