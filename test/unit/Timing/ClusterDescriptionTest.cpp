// Cluster descriptions: the built-in ones load, a device's figures are filled in, and every wrong
// field is named.
#include "lib/Timing/ClusterDescription.h"
#include "lib/Timing/BuiltinTexts.h"

#include "google/protobuf/text_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace st {
namespace {

using google::protobuf::FieldDescriptor;

proto::ClusterDescription a100() { return *builtinClusterDescription("dgx-a100-80gb"); }

std::string errorAfter(const std::function<void(proto::ClusterDescription &)> &change,
                       const std::string &cluster = "dgx-a100-80gb") {
  proto::ClusterDescription description = *builtinClusterDescription(cluster);
  change(description);
  return std::string(checkClusterDescription(description).message());
}

std::vector<const FieldDescriptor *> figureFields() {
  std::vector<const FieldDescriptor *> fields;
  const google::protobuf::Descriptor *descriptor = proto::ClusterDescription::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i)
    if (descriptor->field(i)->message_type() == proto::Figure::descriptor())
      fields.push_back(descriptor->field(i));
  return fields;
}

proto::Figure *figureOf(proto::ClusterDescription &description, const FieldDescriptor *field) {
  return static_cast<proto::Figure *>(
      description.GetReflection()->MutableMessage(&description, field));
}

TEST(ClusterDescription, EveryShippedFileLoads) {
  std::vector<std::string> names = builtinClusterDescriptionNames();
  for (const char *name : {"dgx-a100-40gb", "dgx-a100-80gb", "dgx-h100-80gb", "dtu-t10", "dtu-t20",
                           "v100-16", "v100-4x16gb", "v100-4x32gb", "v100-8x32gb"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const std::string &name : names) {
    absl::StatusOr<proto::ClusterDescription> description = builtinClusterDescription(name);
    ASSERT_TRUE(description.ok()) << description.status();
    EXPECT_EQ(description->name(), name);
    EXPECT_EQ(description->placement(0), "tensor");
    // The completed description is valid by itself.
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(*description, &text));
    absl::StatusOr<proto::ClusterDescription> again = parseClusterDescription(text, name);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), description->SerializeAsString());
  }
}

TEST(ClusterDescription, NamesAndFilesAreFound) {
  absl::Status unknown = findClusterDescription("dgx-a100").status();
  EXPECT_EQ(unknown.message().substr(0, 65),
            "no cluster description 'dgx-a100'; there are dgx-a100-40gb, dgx-a");
  EXPECT_EQ(findClusterDescription("/nowhere/c.textproto").status().message(),
            "cannot read /nowhere/c.textproto: No such file or directory");
  EXPECT_EQ(findClusterDescription("v100-16")->devices_per_node(), 16u);
}

TEST(ClusterDescription, FiguresOfADeviceAreFilledIn) {
  proto::ClusterDescription a100 = *builtinClusterDescription("dgx-a100-40gb");
  EXPECT_EQ(a100.f16_tflops().value(), 312);
  EXPECT_EQ(a100.multiprocessors().value(), 108);
  EXPECT_EQ(a100.memory_gbytes_per_second().value(), 1555); // its own, not that of 80 GB
  EXPECT_EQ(a100.launch_ns().value(), 4500);

  // A cluster of a T10: a quarter of 80 TFLOP/s, of 16 GB and of 512 GB/s.
  proto::ClusterDescription t10 = *builtinClusterDescription("dtu-t10");
  EXPECT_NEAR(t10.f16_tflops().value(), 20, 0.05);
  EXPECT_NEAR(t10.f32_tflops().value(), 5, 0.05);
  EXPECT_EQ(t10.memory_bytes().value(), double(int64_t(1) << 32));
  EXPECT_EQ(t10.memory_gbytes_per_second().value(), 128);
  EXPECT_EQ(t10.fast_domain().value(), 4);
  EXPECT_EQ(t10.node_far_gbytes_per_second().value(), 25);
  EXPECT_EQ(t10.card_gbits_per_second().value(), 200);
  EXPECT_EQ(t10.l2_bytes().source(), "a: not published; 4 MB");
}

TEST(ClusterDescription, ErrorsNameFileAndField) {
  EXPECT_EQ(parseClusterDescription("name: \"x\"\ncards { }", "c.textproto").status().message(),
            "c.textproto:2:7: Message type \"st.proto.ClusterDescription\" has no field named "
            "\"cards\".");
  EXPECT_EQ(parseClusterDescription("name: \"x\"", "c.textproto").status().message(),
            "c.textproto: devices_per_node: expected 1 to 4096, found 0");
  EXPECT_EQ(parseClusterDescription("device: \"cuda-sm_70\"", "c.textproto").status().message(),
            "c.textproto: device: no GPU description 'cuda-sm_70'; there are cuda-host, "
            "cuda-sm_80, cuda-sm_90-h200, cuda-sm_90");
  EXPECT_EQ(
      parseClusterDescription("device: \"tpu\"", "c.textproto").status().message().substr(0, 61),
      "c.textproto: device: no device description 'tpu'; there are d");
  EXPECT_EQ(errorAfter([](auto &c) { c.clear_name(); }), "name: is missing");
  EXPECT_EQ(errorAfter([](auto &c) { c.set_max_nodes(5000); }),
            "max_nodes: expected 1 to 4096, found 5000");
}

TEST(ClusterDescription, EveryFigureIsChecked) {
  const std::set<std::string> optional = {"node_measured_gbytes_per_second",
                                          "node_far_gbytes_per_second",
                                          "network_communicator_bytes"};
  for (const FieldDescriptor *field : figureFields()) {
    SCOPED_TRACE(field->name());
    const proto::ClusterDescription good = a100();
    if (!optional.count(field->name())) {
      proto::ClusterDescription missing = good;
      missing.GetReflection()->ClearField(&missing, field);
      EXPECT_EQ(checkClusterDescription(missing).message(), field->name() + ": is missing");
    }
    for (double value : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e16}) {
      proto::ClusterDescription bad = good;
      figureOf(bad, field)->set_value(value);
      const std::string error(checkClusterDescription(bad).message());
      EXPECT_EQ(error.rfind(field->name() + ": expected a number from 1e-06 to 1e+15, found ", 0),
                0u)
          << error;
    }
    proto::ClusterDescription unmarked = good;
    figureOf(unmarked, field)->set_value(1);
    figureOf(unmarked, field)->set_source("a guess");
    EXPECT_EQ(checkClusterDescription(unmarked).message(),
              field->name() +
                  ": source must begin with 'v', 'd', 'r' or 'a' and a colon, found 'a guess'");
  }
}

TEST(ClusterDescription, FiguresThatNothingNeedsMayBeAbsent) {
  EXPECT_EQ(errorAfter([](auto &c) {
              c.set_max_nodes(1);
              c.clear_cards_per_node();
              c.clear_card_gbits_per_second();
              c.clear_card_efficiency();
              c.clear_network_latency_ns();
              c.clear_host_bytes_per_node();
              c.clear_host_gbytes_per_second();
              c.clear_host_memory_gbytes_per_second();
            }),
            "");
  EXPECT_EQ(errorAfter([](auto &c) { c.clear_host_memory_gbytes_per_second(); }),
            "host_memory_gbytes_per_second: is missing");
  EXPECT_EQ(errorAfter([](auto &c) { c.clear_node_far_gbytes_per_second(); }, "dtu-t10"),
            "node_far_gbytes_per_second: is missing");
}

TEST(ClusterDescription, FiguresFitTogether) {
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_multiprocessors()->set_value(107.5); }),
            "multiprocessors: expected an integer, found 107.5");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_cards_per_node()->set_value(0.5); }),
            "cards_per_node: expected an integer, found 0.5");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_fast_domain()->set_value(3); }, "dtu-t10"),
            "fast_domain: expected a divisor of the 16 devices of a node, found 3");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_fast_domain()->set_value(16); }),
            "fast_domain: expected a divisor of the 8 devices of a node, found 16");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_card_efficiency()->set_value(1.1); }),
            "card_efficiency: expected a share of at most 1, found 1.1");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_fragmentation()->set_value(5); }),
            "fragmentation: expected a share of at most 1, found 5");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_memory_bytes()->set_value(1e6); }),
            "memory_bytes: expected more than the 8.8143e+08 bytes of context and communicator, "
            "found 1e+06");
  EXPECT_EQ(
      errorAfter([](auto &c) { c.mutable_node_far_gbytes_per_second()->set_value(200); },
                 "dtu-t10"),
      "node_far_gbytes_per_second: expected at most the 128 GB/s within the domain, found 200");
  EXPECT_EQ(errorAfter([](auto &c) { c.set_placement(0, "data"); }),
            "placement: expected each of 'tensor', 'data' and 'pipeline' once, found 'data', "
            "'data', 'pipeline'");
  EXPECT_EQ(errorAfter([](auto &c) { c.add_placement("data"); }),
            "placement: expected each of 'tensor', 'data' and 'pipeline' once, found 'tensor', "
            "'data', 'pipeline', 'data'");
}

TEST(ClusterDescription, CurvesAreChecked) {
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->set_kind("allreduce"); }),
            "curves[1].kind: expected one of all_reduce, all_gather, reduce_scatter, all_to_all, "
            "broadcast, found 'allreduce'");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->set_ranks(9); }),
            "curves[1].ranks: expected 2 to the 8 devices of a node, found 9");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->set_ranks(1); }),
            "curves[1].ranks: expected 2 to the 8 devices of a node, found 1");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->set_ranks(2); }),
            "curves[1].ranks: expected one curve of all_reduce for each number of ranks, found a "
            "second one for 2");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->clear_source(); }),
            "curves[1].source: source must begin with 'v', 'd', 'r' or 'a' and a colon, found ''");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->clear_points(); }),
            "curves[1].points: expected 2 or more, found 0");
  EXPECT_EQ(
      errorAfter([](auto &c) { c.mutable_curves(1)->mutable_points(2)->set_bytes(2097152); }),
      "curves[1].points[2].bytes: expected more than the 2.09715e+06 of the point before, found "
      "2.09715e+06");
  EXPECT_EQ(errorAfter([](auto &c) { c.mutable_curves(1)->mutable_points(2)->set_us(0); }),
            "curves[1].points[2].us: expected a number from 1e-06 to 1e+15, found 0");
  EXPECT_EQ(
      errorAfter([](auto &c) { c.mutable_curves(1)->mutable_points(0)->set_bytes(std::nan("")); }),
      "curves[1].points[0].bytes: expected a number from 1e-06 to 1e+15, found nan");
}

TEST(BuiltinTexts, AFolderIsATable) {
  auto has = [](const BuiltinTexts &texts, absl::string_view stem) {
    return std::count_if(texts.begin(), texts.end(),
                         [&](const auto &text) { return text.first == stem; });
  };
  // The same stem in two folders.
  EXPECT_EQ(has(builtinDevices(), "dtu-t10"), 1);
  EXPECT_EQ(has(builtinClusters(), "dtu-t10"), 1);
  EXPECT_EQ(has(builtinDevices(), "v100-16"), 0);
  EXPECT_EQ(has(builtinProfiles(), "dtu-t10") + has(builtinFits(), "dtu-t10"), 0);
}

} // namespace
} // namespace st
