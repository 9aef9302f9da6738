// Profiles that extend others.

#include "lib/Costs/Profile.h"
#include "lib/Costs/ProfileExtension.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

using namespace st;
using testing::HasSubstr;

namespace {

class Profiles : public testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  std::string write(const std::string &name, const std::string &text) const {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  const std::string folder = testing::TempDir() + "st-profiles";
};

} // namespace

TEST_F(Profiles, OmittedFieldsComeFromTheBase) {
  auto base = findProfile("megatron-lm");
  auto same = findProfile(write("same.textproto", R"(name: "same" extends: "megatron-lm")"));
  ASSERT_TRUE(base.ok() && same.ok()) << same.status();
  EXPECT_EQ(same->name(), "same");
  same->set_name(base->name());
  same->set_extends(base->extends());
  EXPECT_EQ(same->DebugString(), base->DebugString());
}

TEST_F(Profiles, GivenFieldsReplaceTheBase) {
  auto base = findProfile("megatron-lm");
  auto own = findProfile(write("own.textproto", R"(
    name: "own" extends: "megatron-lm"
    waits_for_messages: false layer_launches: 0 collective_skew_us: 7
    regions { name: "softmax" launches: 5 }
    regions { name: "rotary" launches: 2 }
    update { timer: "optimizer" }
    state_f16 { main_gradients: 0 update_buffers: 8 }
    memory { communicators: ["world"] keeps_stage_output: false })"));
  ASSERT_TRUE(base.ok() && own.ok()) << own.status();
  EXPECT_FALSE(own->waits_for_messages());
  EXPECT_EQ(own->layer_launches(), 0);
  EXPECT_EQ(own->collective_skew_us(), 7);
  EXPECT_EQ(own->micro_batch_launches(), base->micro_batch_launches());
  ASSERT_EQ(own->regions_size(), base->regions_size() + 1)
      << "regions replace those of the same name";
  for (const proto::RegionProfile &region : own->regions())
    if (region.name() == "softmax")
      EXPECT_TRUE(region.launches() == 5 && !region.keeps_output());
  ASSERT_EQ(own->update_size(), 1) << "other lists replace the whole list";
  EXPECT_EQ(own->memory().communicators_size(), 1);
  EXPECT_EQ(own->state_f16().main_gradients(), 0);
  EXPECT_EQ(own->state_f16().weights(), base->state_f16().weights())
      << "messages are extended field by field";
  EXPECT_FALSE(own->memory().keeps_stage_output());
  EXPECT_EQ(own->memory().library_bytes(), base->memory().library_bytes());
  EXPECT_EQ(own->kernels().tiles_size(), base->kernels().tiles_size());
}

// The path of a base is relative to the extending file, and a base may extend another.
TEST_F(Profiles, FilesExtendFiles) {
  write("first.textproto", R"(name: "first" extends: "st" replica_skew: 0.5)");
  auto second =
      findProfile(write("second.textproto", R"(name: "second" extends: "first.textproto")"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->replica_skew(), 0.5);
  EXPECT_TRUE(second->reduces_in_backward());
}

TEST_F(Profiles, ConstantsAreThoseOfTheBase) {
  auto own = findProfile(write("mine.textproto", R"(name: "mine" extends: "megatron-deepspeed")"));
  ASSERT_TRUE(own.ok()) << own.status();
  auto constants = findConstants("v100-4x16gb", *own);
  ASSERT_TRUE(constants.ok()) << constants.status();
  EXPECT_EQ(constants->profile(), "megatron-deepspeed");
  EXPECT_EQ(constants->cluster(), "v100-4x32gb") << "of the cluster whose name is most alike";
}

TEST_F(Profiles, Errors) {
  auto reason = [&](const std::string &text) {
    return std::string(findProfile(write("bad.textproto", text)).status().message());
  };
  EXPECT_THAT(reason(R"(extends: "megatron-lm")"),
              HasSubstr("bad.textproto: name: expected a name, found none"));
  EXPECT_THAT(reason(R"(name: "x" extends: "moon")"),
              HasSubstr("bad.textproto: extends: no profile is called \"moon\""));
  EXPECT_THAT(reason(R"(name: "x" extends: "gone.textproto")"),
              HasSubstr("gone.textproto: cannot read"));
  EXPECT_THAT(reason(R"(name: "x" extends: "bad.textproto")"), HasSubstr("found more or a cycle"));
  EXPECT_THAT(reason(R"(name: "x" gradient_type: "f16")"),
              HasSubstr("kernels.tiles: expected tiles of products, found none"));
  EXPECT_THAT(reason(R"(name: "x" extends: "st" kernels { tiles { rows: 64 } })"),
              HasSubstr("kernels.tiles: expected numbers above 0"));
  EXPECT_THAT(std::string(findProfile("nvidia-libraries").status().message()),
              HasSubstr("only_extended"));
}
