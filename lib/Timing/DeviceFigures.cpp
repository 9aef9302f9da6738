#include "lib/Timing/DeviceFigures.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace st {
namespace {

/// Keeps the first error of the text format.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  std::string text;
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string &message) override {
    if (text.empty())
      text = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
};

/// Within these bounds every duration of a sane program fits 63 bits of picoseconds.
constexpr double kMinFigure = 1e-6, kMaxFigure = 1e15;
constexpr uint32_t kMaxCount = 4096;

absl::Status checkFigure(const proto::Figure &figure, absl::string_view field) {
  ST_RETURN_IF_ERROR(checkNumber(figure.value(), field));
  return checkSource(figure.source(), field);
}

} // namespace

absl::Status fieldError(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status checkNumber(double value, absl::string_view field) {
  if (!(value >= kMinFigure && value <= kMaxFigure))
    return fieldError(field, absl::StrCat("expected a number from ", kMinFigure, " to ", kMaxFigure,
                                          ", found ", value));
  return absl::OkStatus();
}

absl::Status checkSource(const std::string &source, absl::string_view field) {
  if (source.empty() || std::string("vdra").find(source[0]) == std::string::npos ||
      (source.size() > 1 && source[1] != ':'))
    return fieldError(
        field, absl::StrCat("source must begin with 'v', 'd', 'r' or 'a' and a colon, found '",
                            source, "'"));
  return absl::OkStatus();
}

absl::Status checkFigures(const google::protobuf::Message &description,
                          bool (*isNeeded)(const google::protobuf::Message &description,
                                           const std::string &field)) {
  const google::protobuf::Reflection *reflection = description.GetReflection();
  const google::protobuf::Descriptor *fields = description.GetDescriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const google::protobuf::FieldDescriptor *field = fields->field(i);
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32) {
      uint32_t count = reflection->GetUInt32(description, field);
      if (count < 1 || count > kMaxCount)
        return fieldError(field->name(),
                          absl::StrCat("expected 1 to ", kMaxCount, ", found ", count));
    }
  }
  for (int i = 0; i < fields->field_count(); ++i) {
    const google::protobuf::FieldDescriptor *field = fields->field(i);
    if (field->is_repeated() ||
        field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    bool present = reflection->HasField(description, field);
    if (!present && isNeeded(description, field->name()))
      return fieldError(field->name(), "is missing");
    if (present)
      ST_RETURN_IF_ERROR(checkFigure(
          static_cast<const proto::Figure &>(reflection->GetMessage(description, field)),
          field->name()));
  }
  return absl::OkStatus();
}

absl::Status parseDevice(absl::string_view text, const std::string &name,
                         google::protobuf::Message &description) {
  google::protobuf::TextFormat::Parser parser;
  FirstError errors;
  parser.RecordErrorsTo(&errors);
  constexpr int deepest = 100; // a description nests twice
  parser.SetRecursionLimit(deepest);
  if (!parser.ParseFromString(std::string(text), &description))
    return absl::InvalidArgumentError(absl::StrCat(name, ":", errors.text));
  return absl::OkStatus();
}

} // namespace st
