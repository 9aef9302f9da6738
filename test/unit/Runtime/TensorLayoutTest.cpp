#include "lib/Runtime/State/TensorLayout.h"

#include <gtest/gtest.h>
#include <numeric>
#include <utility>
#include <vector>

namespace st {
namespace {

/// f32[7,5] in `rows` x `columns` parts of `height` x `width`.
proto::Input makeInput(int64_t rows, int64_t columns, int64_t height, int64_t width) {
  proto::Input input;
  input.mutable_global()->set_element(proto::F32);
  for (int64_t size : {7, 5})
    input.mutable_global()->add_shape(size);
  input.set_micro_dim(-1);
  proto::Slice &slice = *input.mutable_slice();
  slice.add_counts(rows);
  slice.add_counts(columns);
  slice.add_local(height);
  slice.add_local(width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      slice.add_parts(row);
      slice.add_parts(column);
    }
  return input;
}

/// The elements of 0..34 in a block; -1 for padding.
std::vector<float> held(const TensorBlock &block) {
  std::vector<float> global(35), local(block.numElements(), -1);
  std::iota(global.begin(), global.end(), 0.0f);
  copyToLocal(block, reinterpret_cast<const uint8_t *>(global.data()),
              reinterpret_cast<uint8_t *>(local.data()));
  return local;
}

/// Any range of the global tensor has the elements of the block that are in the range.
void expectRunsWithin(const TensorBlock &block) {
  std::vector<std::pair<int64_t, int64_t>> all, found;
  const auto addTo = [](std::vector<std::pair<int64_t, int64_t>> &elements) {
    return [&elements](int64_t global, int64_t local, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        elements.emplace_back(global + i, local + i);
    };
  };
  forEachRun(block, addTo(all));
  for (int64_t size : {1, 4, 11, 35}) {
    found.clear();
    for (int64_t begin = 0; begin < 35; begin += size) {
      const size_t before = found.size();
      forEachRunWithin(block, begin, begin + size, addTo(found));
      for (size_t i = before; i < found.size(); ++i)
        EXPECT_TRUE(found[i].first >= begin && found[i].first < begin + size);
    }
    EXPECT_EQ(found, all) << "pieces of " << size;
  }
}

TEST(TensorLayoutTest, ComplexNumbersArePairsOfReals) {
  using Type = ElementType;
  EXPECT_TRUE(holdsElements(Type::F32, {3, 2}, Type::F32, {3, 2}));
  EXPECT_TRUE(holdsElements(Type::C64, {3}, Type::F32, {3, 2}));
  EXPECT_TRUE(holdsElements(Type::C128, {}, Type::F64, {2}));
  EXPECT_FALSE(holdsElements(Type::C64, {3}, Type::F64, {3, 2}));
  EXPECT_FALSE(holdsElements(Type::C64, {3}, Type::F32, {3, 3}));
  EXPECT_FALSE(holdsElements(Type::C64, {}, Type::F32, {}));
  EXPECT_FALSE(holdsElements(Type::C64, {2, 3}, Type::F32, {3, 2}));
  EXPECT_FALSE(holdsElements(Type::F32, {3}, Type::F32, {3, 1}));
}

TEST(TensorLayoutTest, PaddingIsNotCopied) {
  proto::Input input = makeInput(2, 2, 4, 3);
  TensorBlock last = blockOf(input.global(), input.slice(), 3);
  EXPECT_EQ(last.start, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(held(last), (std::vector<float>{23, 24, -1, 28, 29, -1, 33, 34, -1, -1, -1, -1}));
  EXPECT_EQ(last.numReal(), 6);
}

TEST(TensorLayoutTest, APartMayHavePaddingAlone) {
  // As large as the tensor, but after it.
  proto::Input input = makeInput(1, 2, 7, 5);
  EXPECT_EQ(blockOf(input.global(), input.slice(), 0).numReal(), 35);
  TensorBlock behind = blockOf(input.global(), input.slice(), 1);
  EXPECT_EQ(behind.numReal(), 0);
  EXPECT_EQ(held(behind), std::vector<float>(35, -1));
}

/// Rows 2 to 5 of the seven, in two parts.
TEST(TensorLayoutTest, RowsOfAStack) {
  proto::Input input = makeInput(2, 1, 2, 5);
  input.mutable_slice()->clear_local();
  input.mutable_slice()->set_first_row(2);
  input.mutable_slice()->set_rows(4);
  TensorBlock second = blockOf(input.global(), input.slice(), 1);
  EXPECT_EQ(second.start, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(held(second), (std::vector<float>{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
}

TEST(TensorLayoutTest, MicroBatchesComeFirst) {
  proto::Input input = makeInput(2, 1, 2, 5);
  input.set_micro_dim(0);
  std::vector<float> expected(10, -1);
  std::iota(expected.begin(), expected.begin() + 5, 30.0f);
  EXPECT_EQ(held(blockOf(input, 2, 1, 1)), expected);
  std::iota(expected.begin(), expected.end(), 20.0f);
  EXPECT_EQ(held(blockOf(input, 2, 1, 0)), expected);
}

TEST(TensorLayoutTest, ARankMayHoldAPartOfEachBlock) {
  // f32[12,2] as 3 x 4 x 2, with the 4 split over two ranks.
  proto::TensorType global;
  global.set_element(proto::F32);
  for (int64_t size : {12, 2})
    global.add_shape(size);
  proto::Slice slice;
  for (int64_t size : {3, 4, 2})
    slice.add_view(size);
  for (int64_t rank : {2, 1})
    slice.add_view_ranks(rank);
  for (int64_t count : {1, 2, 1})
    slice.add_counts(count);
  for (int64_t part : {0, 0, 0, 0, 1, 0})
    slice.add_parts(part);
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0f);
  for (int64_t rank : {0, 1}) {
    TensorBlock block = blockOf(global, slice, rank);
    EXPECT_EQ(block.globalShape, (std::vector<int64_t>{12, 2}));
    EXPECT_EQ(block.numElements(), 12);
    std::vector<float> local(12), expected;
    copyToLocal(block, reinterpret_cast<const uint8_t *>(values.data()),
                reinterpret_cast<uint8_t *>(local.data()));
    for (int64_t third : {0, 8, 16})
      for (int64_t i = 0; i < 4; ++i)
        expected.push_back(static_cast<float>(third + 4 * rank + i));
    EXPECT_EQ(local, expected);
  }
}

TEST(TensorLayoutTest, MicroBatchesOfBlocksAreCutFirst) {
  // f32[8] in two micro-batches of two blocks of 2, each block over two ranks.
  proto::Input input;
  input.mutable_global()->set_element(proto::F32);
  input.mutable_global()->add_shape(8);
  input.set_micro_dim(0);
  proto::Slice &slice = *input.mutable_slice();
  for (int64_t size : {4, 2})
    slice.add_view(size);
  slice.add_view_ranks(2);
  for (int64_t count : {1, 2})
    slice.add_counts(count);
  for (int64_t part : {0, 0, 0, 1})
    slice.add_parts(part);
  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7}, local(2);
  copyToLocal(blockOf(input, 2, 1, 1), reinterpret_cast<const uint8_t *>(values.data()),
              reinterpret_cast<uint8_t *>(local.data()));
  EXPECT_EQ(local, (std::vector<float>{5, 7}));
}

TEST(TensorLayoutTest, BlocksMayHavePadding) {
  // f32[5,3] as 3 x 2 x 2 x 2, each 2 in the middle, and the last one, over two ranks.
  proto::TensorType global;
  global.set_element(proto::F32);
  for (int64_t size : {5, 3})
    global.add_shape(size);
  proto::Slice slice;
  for (int64_t size : {3, 2, 2, 2})
    slice.add_view(size);
  for (int64_t rank : {2, 2})
    slice.add_view_ranks(rank);
  for (int64_t count : {1, 2, 1, 2})
    slice.add_counts(count);
  for (int64_t rank = 0; rank < 4; ++rank)
    for (int64_t part : {int64_t{0}, rank / 2, int64_t{0}, rank % 2})
      slice.add_parts(part);
  std::vector<float> values(15), back(15, -1);
  std::iota(values.begin(), values.end(), 0.0f);
  // Rows 0, 2 and 4 or 1, 3 and none; columns 0 and 2 or 1 and none.
  const std::vector<std::vector<float>> expected = {
      {0, 2, 6, 8, 12, 14}, {1, -1, 7, -1, 13, -1}, {3, 5, 9, 11, -1, -1}, {4, -1, 10, -1, -1, -1}};
  for (int64_t rank = 0; rank < 4; ++rank) {
    TensorBlock block = blockOf(global, slice, rank);
    std::vector<float> local(block.numElements(), -1);
    copyToLocal(block, reinterpret_cast<const uint8_t *>(values.data()),
                reinterpret_cast<uint8_t *>(local.data()));
    EXPECT_EQ(local, expected[rank]);
    EXPECT_EQ(block.numReal(), 6 - std::count(local.begin(), local.end(), -1.0f));
    copyToGlobal(block, reinterpret_cast<const uint8_t *>(local.data()),
                 reinterpret_cast<uint8_t *>(back.data()));
  }
  EXPECT_EQ(back, values);
}

TEST(TensorLayoutTest, PartsMakeUpTheTensor) {
  for (auto [rows, columns, height, width] : {std::array<int64_t, 4>{2, 2, 4, 3},
                                              {3, 1, 3, 5},
                                              {4, 3, 2, 2},
                                              {1, 1, 9, 8},
                                              {7, 6, 1, 1}}) {
    proto::Input input = makeInput(rows, columns, height, width);
    std::vector<float> global(35, -1), expected(35);
    std::iota(expected.begin(), expected.end(), 0.0f);
    for (int64_t rank = 0; rank < rows * columns; ++rank) {
      TensorBlock block = blockOf(input.global(), input.slice(), rank);
      std::vector<float> local = held(block);
      copyToGlobal(block, reinterpret_cast<const uint8_t *>(local.data()),
                   reinterpret_cast<uint8_t *>(global.data()));
      // Transfers the block in any pieces.
      int64_t count = 0;
      for (int64_t begin = 0; begin < block.numElements(); begin += 4)
        forEachRun(block, begin, std::min<int64_t>(begin + 4, block.numElements()),
                   [&](int64_t, int64_t, int64_t run) { count += run; });
      EXPECT_EQ(count, block.numReal());
      expectRunsWithin(block);
    }
    EXPECT_EQ(global, expected);
  }
}

} // namespace
} // namespace st
