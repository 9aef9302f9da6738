#include "lib/Costs/Profile.h"

#include "lib/Costs/ProfileExtension.h"
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

bool isFile(absl::string_view nameOrFile) {
  return absl::StrContains(nameOrFile, '/') || absl::EndsWith(nameOrFile, ".textproto");
}

/// Returns the text form from a file or from a compiled-in table.
absl::StatusOr<std::string> findText(const std::string &nameOrFile, const BuiltinTexts &texts,
                                     absl::string_view what) {
  if (isFile(nameOrFile)) {
    absl::StatusOr<std::string> text = readInputFile(nameOrFile, kLargestFile);
    if (!text.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(nameOrFile, ": cannot read: ", text.status().message()));
    return text;
  }
  std::vector<absl::string_view> names;
  for (const auto &[name, text] : texts) {
    if (name == nameOrFile)
      return std::string(text);
    names.push_back(name);
  }
  return absl::NotFoundError(absl::StrCat("no ", what, " is called \"", nameOrFile,
                                          "\"; expected a file or one of ",
                                          absl::StrJoin(names, ", ")));
}

/// Resolves a base profile relative to the file that extends it.
std::string baseOf(const std::string &nameOrFile, const std::string &base) {
  const size_t slash = nameOrFile.rfind('/');
  if (!isFile(base) || absl::StartsWith(base, "/") || slash == std::string::npos)
    return base;
  return absl::StrCat(nameOrFile.substr(0, slash + 1), base);
}

absl::StatusOr<proto::ImplementationProfile> readProfile(const std::string &nameOrFile, int depth) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest)
    return absl::InvalidArgumentError(
        absl::StrCat(nameOrFile, ": extends: expected at most ", kDeepest,
                     " profiles that extend each other, found more or a cycle"));
  ST_ASSIGN_OR_RETURN(const std::string text, findText(nameOrFile, builtinProfiles(), "profile"));
  proto::ImplementationProfile profile;
  ST_RETURN_IF_ERROR(parseDevice(text, nameOrFile, profile));
  if (profile.extends().empty())
    return profile;
  const auto base = readProfile(baseOf(nameOrFile, profile.extends()), depth + 1);
  if (absl::IsNotFound(base.status()))
    return absl::InvalidArgumentError(
        absl::StrCat(nameOrFile, ": extends: ", base.status().message()));
  if (!base.ok())
    return base;
  return extendProfile(*base, text);
}

/// Checks all numbers of a message, recursively.
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
      if (absl::Status status =
              checkNumbers(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                : reflection->GetMessage(message, field));
          !status.ok())
        return status;
  }
  return absl::OkStatus();
}

absl::Status checkKernels(const proto::KernelProfile &kernels) {
  if (kernels.tiles().empty())
    return fieldError("kernels.tiles", "expected tiles of products, found none; extends: "
                                       "\"nvidia-libraries\" has those of NVIDIA's libraries");
  for (const proto::KernelProfile::Tile &tile : kernels.tiles())
    for (const double figure : {tile.rows(), tile.columns(), tile.efficiency()})
      if (!(figure > 0))
        return fieldError("kernels.tiles",
                          absl::StrCat("expected numbers above 0, found ", figure));
  for (const proto::KernelProfile::Alignment &alignment : kernels.alignments())
    for (const double figure : {alignment.bytes(), alignment.share(), kernels.unaligned_share()})
      if (!(figure > 0))
        return fieldError("kernels.alignments",
                          absl::StrCat("expected numbers above 0, found ", figure));
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
      return fieldError(
          "memory.communicators",
          absl::StrCat("expected ", absl::StrJoin(*groups, ", "), ", found \"", group, "\""));
  ST_RETURN_IF_ERROR(checkKernels(profile.kernels()));
  std::set<std::string> names;
  for (const proto::RegionProfile &region : profile.regions())
    if (!names.insert(region.name()).second)
      return fieldError("regions", absl::StrCat("\"", region.name(), "\" appears twice"));
  return absl::OkStatus();
}

absl::StatusOr<proto::ImplementationProfile> findProfile(const std::string &nameOrFile) {
  auto profile = readProfile(nameOrFile, /*depth=*/1);
  if (!profile.ok())
    return profile;
  if (profile->only_extended())
    return absl::InvalidArgumentError(
        absl::StrCat(nameOrFile, ": only_extended: expected the profile of a framework, found one "
                                 "that other profiles extend"));
  if (absl::Status status = checkProfile(*profile); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(nameOrFile, ": ", status.message()));
  return profile;
}

/// Length of the common prefix: clusters with the same devices have names such as "v100-4x16gb" and
/// "v100-4x32gb". The same name is most similar.
static size_t similarity(absl::string_view a, absl::string_view b) {
  size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length])
    ++length;
  return length + (a == b);
}

absl::StatusOr<proto::FittedConstants> findConstants(absl::string_view cluster,
                                                     const proto::ImplementationProfile &profile) {
  // Prefers constants of the profile to those of its base, and those of this cluster to those of
  // the cluster with the most similar name.
  for (const std::string &name : {profile.name(), profile.extends()}) {
    std::optional<proto::FittedConstants> nearest;
    for (const auto &[file, text] : builtinFits()) {
      proto::FittedConstants constants;
      ST_RETURN_IF_ERROR(parseDevice(text, std::string(file), constants));
      if (constants.profile() == name && (!nearest || similarity(constants.cluster(), cluster) >
                                                          similarity(nearest->cluster(), cluster)))
        nearest = constants;
    }
    if (nearest)
      return *nearest;
  }
  if (builtinFits().empty())
    return absl::NotFoundError("there are no fitted constants");
  proto::FittedConstants any;
  const auto &[file, text] = builtinFits().front();
  ST_RETURN_IF_ERROR(parseDevice(text, std::string(file), any));
  return any;
}

absl::StatusOr<proto::FittedConstants> loadConstants(const std::string &path) {
  const std::string file = absl::StrContains(path, '/') ? path : absl::StrCat("./", path);
  ST_ASSIGN_OR_RETURN(const std::string text, findText(file, {}, "file of constants"));
  proto::FittedConstants constants;
  ST_RETURN_IF_ERROR(parseDevice(text, file, constants));
  return constants;
}

absl::StatusOr<GpuConstants> readConstants(const proto::FittedConstants &fitted) {
  GpuConstants constants;
  for (const auto &constant : fitted.constants()) {
    double *value = findConstant(constants, constant.name());
    if (!value)
      return fieldError("constants",
                        absl::StrCat("no cost has a constant \"", constant.name(),
                                     "\"; expected one of ", absl::StrJoin(constantNames(), ", ")));
    if (!(constant.value() > 0) || !std::isfinite(constant.value()))
      return fieldError(constant.name(),
                        absl::StrCat("expected a number above 0, found ", constant.value()));
    *value = constant.value();
  }
  return constants;
}

} // namespace st
