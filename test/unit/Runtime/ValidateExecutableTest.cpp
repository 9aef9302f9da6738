#include "lib/Runtime/Program/ValidateExecutable.h"
#include "ToyProgram.h"

#include "absl/strings/match.h"
#include "absl/types/span.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace st {
namespace {

struct Case {
  const char *expected; // part of the message
  std::function<void(proto::Executable &, proto::Group &)> spoil;
};

void setView(proto::State &state, std::initializer_list<int64_t> ranks,
             std::initializer_list<int64_t> sizes) {
  for (int64_t rank : ranks)
    state.mutable_slice()->add_view_ranks(rank);
  for (int64_t size : sizes)
    state.mutable_slice()->add_view(size);
}

TEST(ValidateExecutableTest, AcceptsWhatIsValid) {
  EXPECT_TRUE(validateExecutable(makeToyProgram(1, 1)).ok());
  EXPECT_TRUE(validateExecutable(makeToyProgram(4, 3, 2)).ok());
}

#define SPOIL(...) [](proto::Executable &program, proto::Group &group) { __VA_ARGS__; }

/// Expects of each case that the changed program is refused, in one line that says why.
void expectRefused(absl::Span<const Case> cases) {
  for (const Case &test : cases) {
    proto::Executable program = makeToyProgram(2, 1);
    test.spoil(program, *program.mutable_groups(0));
    absl::Status status = validateExecutable(program);
    EXPECT_TRUE(absl::StrContains(status.message(), test.expected))
        << "expected: " << test.expected << "\ngot: " << status.message();
    EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  }
}

TEST(ValidateExecutableTest, NamesWhatIsWrongInTheProgram) {
  const Case cases[] = {
      {"format version 4", SPOIL(program.set_format_version(4))},
      {"an arena of -1 bytes on the host", SPOIL(group.set_host_arena_bytes(-1))},
      {"0 micro-batches", SPOIL(program.set_micro_batches(0))},
      {"9223372036854775807 micro-batches", SPOIL(program.set_micro_batches(INT64_MAX))},
      {"no device groups", SPOIL(program.clear_groups())},
      {"no group has an output", SPOIL(group.clear_outputs())},
      {"starts at rank 5, expected 0", SPOIL(group.set_first_rank(5))},
      {"it has no ranks", SPOIL(group.clear_device_ids())},
      {"an arena of -1 bytes", SPOIL(group.set_arena_bytes(-1))},
      {"an arena of", SPOIL(group.set_arena_bytes(INT64_MAX))},
      {"expected 2 rank tables of 4 entries, found 0 entries", SPOIL(group.set_table_size(4))},
      {"rank tables of", SPOIL(group.set_table_size(INT64_MAX))},
      {"names task 0 of 0", SPOIL(group.add_schedule())},
      {"names micro-batch 1 of 1",
       SPOIL(group.add_tasks(); group.add_schedule()->set_micro_batch(1))},
  };
  expectRefused(cases);
}

TEST(ValidateExecutableTest, NamesWhatIsWrongInShapes) {
  const Case cases[] = {
      {"a state without a name", SPOIL(group.mutable_states(0)->clear_name())},
      {"unknown role \"x\"", SPOIL(group.mutable_states(0)->set_role("x"))},
      {"has no element type", SPOIL(group.mutable_states(0)->mutable_global()->clear_element())},
      {"an impossible shape", SPOIL(group.mutable_states(0)->mutable_global()->set_shape(0, -1))},
      {"an impossible shape",
       SPOIL(group.mutable_states(0)->mutable_global()->set_shape(0, INT64_MAX / 2))},
      {"has 17 dimensions",
       SPOIL(while (group.states(2).global().shape_size() < 17) group.mutable_states(2)
                 ->mutable_global()
                 ->add_shape(1))},
      {"1 counts and",
       SPOIL(group.mutable_states(0)->mutable_slice()->mutable_counts()->RemoveLast())},
      {"does not divide into 3 parts",
       SPOIL(group.mutable_states(0)->mutable_slice()->set_counts(0, 3))},
      {"does not divide into 0 parts",
       SPOIL(group.mutable_states(0)->mutable_slice()->set_counts(0, 0))},
      {"1 local sizes and 2 counts", SPOIL(group.mutable_states(0)->mutable_slice()->add_local(8))},
      {"is larger than its parts of 1",
       SPOIL(for (int i = 0; i < 2; ++i) group.mutable_states(0)->mutable_slice()->add_local(1))},
      {"an impossible local shape",
       SPOIL(for (int i = 0; i < 2; ++i) group.mutable_states(0)->mutable_slice()->add_local(
           INT64_MAX / 2))},
      {"an impossible local shape",
       SPOIL(for (int i = 0; i < 2; ++i) group.mutable_states(0)->mutable_slice()->add_local(-8))},
  };
  expectRefused(cases);
}

TEST(ValidateExecutableTest, NamesWhatIsWrongInViews) {
  const Case cases[] = {
      {"a view of 0 dimensions for 2",
       SPOIL(group.mutable_states(0)->mutable_slice()->add_view(3))},
      {"an impossible view", SPOIL(setView(*group.mutable_states(0), {1, 1}, {-8, 1}))},
      {"an impossible view", SPOIL(setView(*group.mutable_states(0), {1, 1}, {INT64_MAX / 2, 8}))},
      {"an impossible view",
       SPOIL(setView(*group.mutable_states(0), {2, 1}, {INT64_MAX / 2, 8, 8}))},
      {"an impossible view", SPOIL(setView(*group.mutable_states(0), {1, 1}, {64}))},
      {"an impossible view", SPOIL(setView(*group.mutable_states(0), {1, 1}, {64, 64, 1}))},
      {"an impossible view", SPOIL(setView(*group.mutable_states(0), {0, 2}, {64, 64}))},
      {"is larger than its view of 2",
       SPOIL(setView(*group.mutable_states(0), {2, 1}, {2, 1, 64}))},
      {"a view and local sizes", SPOIL(setView(*group.mutable_states(0), {1, 1}, {64, 64});
                                       group.mutable_states(0)->mutable_slice()->add_local(8))},
      {"2 counts and", SPOIL(setView(*group.mutable_states(0), {2, 1}, {8, 8, 64}))},
  };
  expectRefused(cases);
}

TEST(ValidateExecutableTest, NamesWhatIsWrongInStates) {
  const Case cases[] = {
      {"has a slice of 3 rows from row 1000 on, which exceeds the tensor",
       SPOIL(group.mutable_states(0)->mutable_slice()->set_first_row(1000);
             group.mutable_states(0)->mutable_slice()->set_rows(3))},
      {"has a slice of 0 rows from row 1 on",
       SPOIL(group.mutable_states(0)->mutable_slice()->set_first_row(1))},
      {"part 2 of 2", SPOIL(group.mutable_states(0)->mutable_slice()->set_parts(0, 2))},
      {"part -1 of 2", SPOIL(group.mutable_states(0)->mutable_slice()->set_parts(0, -1))},
      {"at offset -64", SPOIL(group.mutable_states(0)->set_offset(-64))},
      {"at offset 9223372036854775807", SPOIL(group.mutable_states(0)->set_offset(INT64_MAX))},
      {"overlaps", SPOIL(group.mutable_states(0)->set_offset(group.states(1).offset()))},
      {"twice", SPOIL(*group.add_states() = group.states(0);
                      group.mutable_states(3)->set_offset(group.arena_bytes());
                      group.set_arena_bytes(group.arena_bytes() + 4096))},
      {"no row 8 to start as zero",
       SPOIL(group.mutable_states(0)->mutable_init()->set_zero_row(8))},
      {"an unknown initializer", SPOIL(group.mutable_states(0)->mutable_init()->set_kind(
                                     static_cast<proto::Initializer::Kind>(9)))},
      {"a standard deviation of nan",
       SPOIL(group.mutable_states(0)->mutable_init()->set_stddev(NAN))},
      {"starts as inf", SPOIL(group.mutable_states(0)->mutable_init()->set_value(INFINITY))},
      {"does not start as zero",
       SPOIL(group.mutable_states(0)->mutable_global()->set_element(proto::F64))},
      {"the random stream -1", SPOIL(group.mutable_states(0)->set_init_stream(-1))},
  };
  expectRefused(cases);
}

TEST(ValidateExecutableTest, NamesWhatIsWrongInInputsAndOutputs) {
  const Case cases[] = {
      {"expected an unsharded u32[2]",
       SPOIL(group.mutable_inputs(0)->mutable_global()->set_element(proto::I32))},
      {"not a scalar that the runner supports", SPOIL(group.mutable_inputs(1)->set_name("x"))},
      {"input \"input_ids\" has the unknown role", SPOIL(group.mutable_inputs(3)->set_role("x"))},
      {"micro-batches along dimension 2 of 2", SPOIL(group.mutable_inputs(3)->set_micro_dim(2))},
      {"16 bytes apart",
       SPOIL(program.set_micro_batches(2); group.mutable_inputs(3)->set_micro_dim(0);
             group.mutable_inputs(3)->set_micro_stride(16))},
      {"is the loss but not an f32 scalar",
       SPOIL(group.mutable_outputs(0)->mutable_global()->add_shape(1))},
      {"output \"loss\" takes 4 bytes", SPOIL(group.mutable_outputs(0)->set_offset(1 << 30))},
      {"gives \"loss\" twice", SPOIL(*group.add_outputs() = group.outputs(0))},
      {"gives \"w\" twice", SPOIL(group.mutable_outputs(0)->set_name("w");
                                  group.mutable_outputs(0)->set_role("metric"))},
      {"a constant takes 5 bytes",
       SPOIL(group.add_constants()->set_data("12345");
             group.mutable_constants(0)->set_offset(group.arena_bytes() - 4))},
      {"groups disagree on state \"w\"",
       SPOIL(proto::Group copy = group; copy.set_first_rank(2);
             copy.mutable_states(0)->set_init_stream(7); *program.add_groups() = copy)},
  };
  expectRefused(cases);
}

// Any bytes give a status and do not crash.
TEST(ValidateExecutableTest, SurvivesNoise) {
  const std::string good = makeToyProgram(2, 3, 2).SerializeAsString();
  ASSERT_TRUE(parseExecutable(good).ok());
  EXPECT_FALSE(parseExecutable(good.substr(0, good.size() / 2)).ok());
  EXPECT_FALSE(parseExecutable("").ok());
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int i = 0, n = 1 + static_cast<int>(random() % 4); i < n; ++i)
      bad[random() % bad.size()] = static_cast<char>(random());
    (void)parseExecutable(bad);
  }
}

} // namespace
} // namespace st
