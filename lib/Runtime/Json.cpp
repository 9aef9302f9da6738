#include "lib/Runtime/Json.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/Support/StatusMacros.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

// Protobuf takes three levels of its recursion limit of 100 for one of JSON's.
constexpr int kDeepest = 30;

// Protobuf's parser accepts more than JSON: single quotes, bare keys, a comma
// before a closing bracket, raw line ends in strings. A pass over the characters
// finds what it should not have accepted; the grammar it checks itself.
class StrictScanner {
public:
  explicit StrictScanner(absl::string_view text) : text(text) {}

  // What is wrong, or empty.
  std::string run() {
    while (error.empty() && position < text.size())
      step();
    return error;
  }

private:
  void fail(absl::string_view what) { error = absl::StrCat(what, " at byte ", position); }

  void step() {
    char c = text[position];
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      ++position;
      return;
    }
    bool closes = c == '}' || c == ']';
    if (closes && last == ',')
      return fail("a comma before a closing bracket");
    if ((c == '{' || c == '[') && ++depth > kDeepest)
      return fail(absl::StrCat("nesting deeper than ", kDeepest));
    depth -= closes;
    last = c;
    if (c == '"')
      skipString();
    else if (absl::ascii_isalpha(static_cast<unsigned char>(c)))
      skipWord();
    else if (absl::StrContains("{}[]:,+-.0123456789", absl::string_view(&c, 1)))
      skipPunctuationOrNumber();
    else
      fail("an unexpected character");
  }

  void skipString() {
    for (++position; position < text.size() && text[position] != '"'; ++position) {
      if (static_cast<unsigned char>(text[position]) < 0x20)
        return fail("a control character in a string");
      position += text[position] == '\\';
    }
    if (position >= text.size())
      return fail("a string without end");
    ++position;
  }

  void skipWord() {
    size_t end = position;
    while (end < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[end])))
      ++end;
    absl::string_view word = text.substr(position, end - position);
    if (word != "true" && word != "false" && word != "null")
      return fail("an unexpected word");
    position = end;
  }

  void skipPunctuationOrNumber() {
    if (absl::StrContains("{}[]:,", text.substr(position, 1))) {
      ++position;
      return;
    }
    while (position < text.size() && absl::StrContains("+-.0123456789eE", text.substr(position, 1)))
      ++position;
  }

  absl::string_view text;
  size_t position = 0;
  int depth = 0;
  char last = 0;
  std::string error;
};

} // namespace

absl::StatusOr<std::string> readFile(const std::string &path, uint64_t limit) {
  auto error = [&] {
    return absl::UnavailableError(absl::StrCat(path, ": cannot read: ", std::strerror(errno)));
  };
  // Not blocking, so that a pipe without a writer is an error and not a hang.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return error();
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return error();
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  if (static_cast<uint64_t>(info.st_size) > limit)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", info.st_size, " bytes, more than the ", limit, " that are read"));
  std::string content(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < content.size();) {
    ssize_t got = ::read(fd, &content[done], content.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return error();
    if (got == 0)
      return absl::DataLossError(absl::StrCat(path, ": it became shorter while it was read"));
    done += static_cast<size_t>(got);
  }
  return content;
}

absl::StatusOr<google::protobuf::Struct> parseJsonObject(absl::string_view text,
                                                         absl::string_view name) {
  auto malformed = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": malformed JSON: ", what));
  };
  if (text.size() > INT_MAX)
    return malformed("too long");
  if (std::string what = StrictScanner(text).run(); !what.empty())
    return malformed(what);
  google::protobuf::LogSilencer silencer;
  google::protobuf::Struct object;
  google::protobuf::util::Status status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &object);
  if (!status.ok()) {
    // The parser repeats the text around the place on further lines.
    std::string what(status.message().data(), status.message().size());
    return malformed(std::string(*absl::StrSplit(what, '\n').begin()));
  }
  return object;
}

const google::protobuf::Value *findField(const google::protobuf::Struct &object,
                                         const std::string &name) {
  auto it = object.fields().find(name);
  return it == object.fields().end() ? nullptr : &it->second;
}

std::string quoteJson(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    else if (static_cast<unsigned char>(c) < 0x20)
      absl::StrAppendFormat(&out, "\\u%04x", c);
    else
      out += c;
  }
  return out + "\"";
}

} // namespace st
