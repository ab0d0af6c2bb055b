#include "runtime/plan/layout.h"

#include "gtest/gtest.h"

namespace lemma {
namespace {

// The place of element `flat` (in row-major order) of a tensor.
int64_t PlaceOf(int64_t flat, const Shape& shape, const Strides& strides) {
  int64_t place = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    place += flat % shape[d] * strides[d];
    flat /= shape[d];
  }
  return place;
}

void ExpectSamePlaces(const Shape& from, const Strides& strides, const Shape& to) {
  const auto view = ReshapedView(from, strides, to);
  if (!view) return;
  for (int64_t i = 0; i < NumElements(from); ++i) {
    ASSERT_EQ(PlaceOf(i, from, strides), PlaceOf(i, to, *view)) << ToString(from) << ToString(to);
  }
}

TEST(Layout, ReshapedViewsNameTheSamePlaces) {
  const std::vector<Shape> shapes = {{24},      {4, 6},       {2, 12},   {2, 3, 4},   {1, 4, 6, 1},
                                     {4, 3, 2}, {2, 2, 3, 2}, {3, 8, 1}, {1, 2, 3, 4}};
  const std::vector<std::vector<int>> orders = {{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}};
  for (const Shape& from : shapes) {
    for (std::vector<int> order : orders) {
      std::vector<int> valid;
      for (int d : order) {
        if (d < static_cast<int>(from.size())) valid.push_back(d);
      }
      Strides strides = DenseInOrder(from, valid);
      for (const Shape& to : shapes) ExpectSamePlaces(from, strides, to);
      for (int64_t& s : strides) s *= 3;
      for (const Shape& to : shapes) ExpectSamePlaces(from, strides, to);
    }
  }
}

TEST(Layout, RowMajorAlwaysReshapes) {
  EXPECT_TRUE(ReshapedView({2, 3, 4}, {12, 4, 1}, {4, 6}).has_value());
  EXPECT_FALSE(ReshapedView({2, 3}, {1, 2}, {6}).has_value());
}

TEST(Layout, ChannelsLastSplitsIntoGroups) {
  const Shape shape = {1, 6, 2, 2};
  const auto view = ReshapedView(shape, ChannelsLast(shape), {1, 2, 3, 2, 2});
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(SameLayout({1, 2, 3, 2, 2}, *view, {24, 3, 1, 12, 6}));
}

TEST(Layout, RowsAreEvenlySpaced) {
  const Shape shape = {2, 4, 3, 5};
  EXPECT_EQ(RowStepOf(shape, ChannelsLast(shape), 4), 4);
  EXPECT_EQ(RowStepOf(shape, ChannelsLast(shape), 20), 20);
  EXPECT_EQ(RowStepOf(shape, ChannelsLast(shape), 120), 120);
  EXPECT_EQ(RowStepOf(shape, {165, 1, 55, 11}, 4), 11);  // 4 of 11 channels
  EXPECT_EQ(RowStepOf(shape, {165, 1, 55, 11}, 20), std::nullopt);
  EXPECT_EQ(RowStepOf(shape, {100, 1, 20, 4}, 4), std::nullopt);  // 3 of 5 rows
  EXPECT_EQ(RowStepOf(shape, {100, 1, 20, 4}, 60), 100);
  EXPECT_EQ(RowStepOf({1, 4, 3, 5}, {100, 1, 20, 4}, 4), 4);
  EXPECT_EQ(RowStepOf({3, 4}, {2, 6}, 3), std::nullopt);  // gaps in the rows
  EXPECT_EQ(RowStepOf({3, 1}, {7, 1}, 1), 7);
  EXPECT_EQ(RowStepOf({3, 4}, {0, 1}, 4), std::nullopt);  // rows overlap
  EXPECT_EQ(RowStepOf({0, 4}, {4, 1}, 4), std::nullopt);
}

TEST(Layout, Density) {
  EXPECT_TRUE(IsDense({2, 3}, {1, 2}));
  EXPECT_TRUE(IsDense({2, 1, 3}, {3, 77, 1}));
  EXPECT_FALSE(IsDense({2, 3}, {4, 1}));
  EXPECT_FALSE(IsDense({2, 3}, {0, 1}));
  EXPECT_EQ(SpanOf({2, 3}, {4, 1}), 7);
}

}  // namespace
}  // namespace lemma
