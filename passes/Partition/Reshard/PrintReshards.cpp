#include "passes/Partition/Reshard/ExplainReshards.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printEnd(llvm::raw_ostream &os, StringRef verb, const ReshardEnd &end) {
  os << llvm::formatv("{0,22}{1,-8} {2} as {3}", "", verb, end.what, end.sharding);
  if (!end.place.empty())
    os << " at " << end.place;
  os << '\n';
  for (const std::string &reason : end.because)
    os << llvm::formatv("{0,31}because {1}\n", "", reason);
}

std::string mlir::st::toText(const ReshardReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("reshards that move data: {0}, {1} bytes a step of {2} micro-batches, of one "
                      "device of each stage\nreshards that move none: {3}\n",
                      report.reshards.size(), report.bytes, report.microBatches, report.numLocal);
  if (report.numNarrowed != 0)
    os << llvm::formatv("plans that were not compared with all others: {0}\n", report.numNarrowed);
  if (report.reshards.empty())
    return text;
  os << llvm::formatv("\n{0,14} {1,6} {2,14}  collective\n", "bytes a step", "times", "bytes each");
  for (const ExplainedReshard &reshard : report.reshards) {
    for (const ReshardCollective &collective : reshard.collectives)
      os << llvm::formatv("{0,14} {1,6} {2,14}  {3}\n", collective.bytes * collective.times,
                          collective.times, collective.bytes, collective.what);
    os << llvm::formatv("{0,22}of {1}", "", reshard.type);
    if (reshard.stage)
      os << " in stage " << *reshard.stage;
    os << '\n';
    printEnd(os, "left by", reshard.producer);
    for (const ReshardEnd &user : reshard.users)
      printEnd(os, "taken by", user);
    for (const std::string &remedy : reshard.remedies)
      os << llvm::formatv("{0,22}to avoid it: {1}\n", "", remedy);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const ReshardEnd &end) {
  llvm::json::Object object{{"what", end.what}, {"sharding", end.sharding}};
  if (!end.place.empty())
    object["place"] = end.place;
  object["because"] = llvm::json::Array(end.because);
  return object;
}

static llvm::json::Object toJson(const ExplainedReshard &reshard) {
  llvm::json::Array users, collectives;
  for (const ReshardEnd &user : reshard.users)
    users.push_back(toJson(user));
  for (const ReshardCollective &collective : reshard.collectives)
    collectives.push_back(llvm::json::Object{
        {"what", collective.what}, {"bytes", collective.bytes}, {"times", collective.times}});
  llvm::json::Object object{{"bytes", reshard.bytes},
                            {"type", reshard.type},
                            {"collectives", std::move(collectives)},
                            {"producer", toJson(reshard.producer)},
                            {"users", std::move(users)},
                            {"remedies", llvm::json::Array(reshard.remedies)}};
  if (reshard.stage)
    object["stage"] = *reshard.stage;
  return object;
}

std::string mlir::st::toJson(const ReshardReport &report) {
  llvm::json::Array reshards;
  for (const ExplainedReshard &reshard : report.reshards)
    reshards.push_back(::toJson(reshard));
  llvm::json::Value value = llvm::json::Object{{"micro_batches", report.microBatches},
                                               {"bytes", report.bytes},
                                               {"local_reshards", report.numLocal},
                                               {"narrowed_plans", report.numNarrowed},
                                               {"reshards", std::move(reshards)}};
  return llvm::formatv("{0:2}\n", value);
}

std::string mlir::st::printFor(StringRef path, const ReshardReport &report) {
  return path.ends_with(".json") ? toJson(report) : toText(report);
}
