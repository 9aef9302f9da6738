#include "dialects/VHLO/Container.h"

using namespace mlir;
using namespace mlir::vhlo;

/// The version of the format.
static constexpr uint64_t kVersion = 6;
static constexpr unsigned kNumSections = 9;

namespace {
class ContainerReader {
public:
  ContainerReader(ArrayRef<uint8_t> bytes, FaultSink &faults)
      : reader(bytes, bytes.data(), faults), faults(faults) {
    container.file = bytes.data();
  }

  std::optional<Container> read();

private:
  void readHeader();
  void readSections();
  void readStrings(ByteReader part);
  void readDialects(ByteReader part);
  void readEntries(ByteReader offsets, ArrayRef<uint8_t> data);
  void readProperties(ByteReader part);
  /// Calls `readOne` with the dialect of each of the entries that follow in groups.
  void readGroup(ByteReader &part, llvm::function_ref<void(StringRef dialect)> readOne);

  ByteReader at(SectionId id) { return reader.within(sections[unsigned(id)].value_or(Bytes())); }
  StringRef string(ByteReader &part, uint64_t index);

  using Bytes = ArrayRef<uint8_t>;
  ByteReader reader;
  FaultSink &faults;
  Container container;
  std::optional<Bytes> sections[kNumSections];
  SmallVector<StringRef> dialects;
};
} // namespace

StringRef ContainerReader::string(ByteReader &part, uint64_t index) {
  if (index < container.strings.size())
    return container.strings[index];
  part.fault("damaged bytecode: string " + Twine(index) + " of " + Twine(container.strings.size()));
  return "";
}

void ContainerReader::readHeader() {
  if (StringRef(reinterpret_cast<const char *>(reader.bytes(4).data()), reader.failed() ? 0 : 4) !=
      "ML\xefR")
    return faults.report("expected MLIR bytecode");
  uint64_t version = reader.number();
  container.producer = reader.cString();
  if (version != kVersion)
    faults.report("expected bytecode of version " + Twine(kVersion) + ", found version " +
                  Twine(version) + ", written by \"" + container.producer + "\"");
}

void ContainerReader::readSections() {
  while (!reader.isEmpty() && !reader.failed()) {
    auto [id, content] = reader.section();
    if (reader.failed())
      return;
    if (id >= kNumSections || sections[id])
      return faults.report("damaged bytecode: unexpected section " + Twine(id));
    sections[id] = content;
  }
  for (SectionId needed : {SectionId::String, SectionId::Dialect, SectionId::AttributeAndType,
                           SectionId::AttributeAndTypeOffset, SectionId::Ops})
    if (!sections[unsigned(needed)])
      return faults.report("damaged bytecode: section " + Twine(unsigned(needed)) + " is missing");
}

/// The lengths of the strings, the last first, then the strings.
void ContainerReader::readStrings(ByteReader part) {
  ArrayRef<uint8_t> section = sections[unsigned(SectionId::String)].value_or(Bytes());
  container.strings.resize(part.count());
  size_t end = section.size();
  for (StringRef &text : llvm::reverse(container.strings)) {
    uint64_t length = part.number();
    if (length == 0 || length > end)
      return faults.report("damaged bytecode: a string of " + Twine(length) + " bytes");
    end -= length;
    text = StringRef(reinterpret_cast<const char *>(section.data()) + end, length - 1);
  }
  if (part.size() != section.size() - end)
    faults.report("damaged bytecode: strings do not fill their section");
}

void ContainerReader::readGroup(ByteReader &part,
                                llvm::function_ref<void(StringRef dialect)> readOne) {
  uint64_t dialect = part.number(), count = part.count();
  if (dialect >= dialects.size())
    return faults.report("damaged bytecode: dialect " + Twine(dialect) + " of " +
                         Twine(dialects.size()));
  for (; count > 0 && !part.failed(); --count)
    readOne(dialects[dialect]);
}

void ContainerReader::readDialects(ByteReader part) {
  for (uint64_t count = part.count(); count > 0 && !part.failed(); --count) {
    auto [name, hasVersion] = part.numberAndFlag();
    dialects.push_back(string(part, name));
    if (hasVersion)
      part.section();
  }
  part.number(); // the number of op names that follow
  while (!part.isEmpty() && !part.failed())
    readGroup(part, [&](StringRef dialect) {
      auto [name, isRegistered] = part.numberAndFlag();
      container.opNames.push_back((dialect + "." + string(part, name)).str());
    });
}

/// The dialects and lengths of all attributes, then of all types, whose bytes are `data`.
void ContainerReader::readEntries(ByteReader offsets, ArrayRef<uint8_t> data) {
  uint64_t numAttributes = offsets.count(), numTypes = offsets.count();
  ByteReader content = offsets.within(data);
  auto readList = [&](SmallVector<EncodedEntry> &entries, uint64_t count) {
    while (entries.size() < count && !offsets.failed())
      readGroup(offsets, [&](StringRef dialect) {
        auto [length, isCustom] = offsets.numberAndFlag();
        entries.push_back({dialect, content.bytes(length), !isCustom});
      });
    if (entries.size() != count)
      faults.report("damaged bytecode: expected " + Twine(count) + " attributes or types, found " +
                    Twine(entries.size()));
  };
  readList(container.attributes, numAttributes);
  readList(container.types, numTypes);
}

void ContainerReader::readProperties(ByteReader part) {
  for (uint64_t count = part.count(); count > 0 && !part.failed(); --count)
    container.properties.push_back(part.bytes(part.number()));
}

std::optional<Container> ContainerReader::read() {
  readHeader();
  if (!faults.failed())
    readSections();
  if (!faults.failed())
    readStrings(at(SectionId::String));
  if (!faults.failed())
    readDialects(at(SectionId::Dialect));
  if (!faults.failed())
    readEntries(at(SectionId::AttributeAndTypeOffset),
                sections[unsigned(SectionId::AttributeAndType)].value_or(Bytes()));
  if (!faults.failed() && sections[unsigned(SectionId::Properties)])
    readProperties(at(SectionId::Properties));
  if (faults.failed())
    return std::nullopt;
  container.ops = *sections[unsigned(SectionId::Ops)];
  return std::move(container);
}

std::optional<Container> mlir::vhlo::readContainer(ArrayRef<uint8_t> bytes, FaultSink &faults) {
  return ContainerReader(bytes, faults).read();
}
