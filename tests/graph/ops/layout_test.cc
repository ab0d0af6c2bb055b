#include <numeric>

#include "gmock/gmock.h"
#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 0, 1, 2, …
Arg Counting(Shape shape, DType dtype = DType::kF32) {
  std::vector<double> values(NumElements(shape));
  std::iota(values.begin(), values.end(), 0);
  return Arg(std::move(shape), std::move(values), dtype);
}

TEST(Layout, ConcatAndSplit) {
  EXPECT_THAT(Eval1("concat", {Counting({2, 2}), Arg({2, 1}, {8, 9})}, {{"axis", int64_t{1}}}),
              ElementsAre(0, 1, 8, 2, 3, 9));
  auto parts = Eval("split", {Counting({2, 3})}, {{"axis", int64_t{-1}}, {"sizes", Ints{1, 2}}});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(parts->values[0], ElementsAre(0, 3));
  EXPECT_THAT(parts->values[1], ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(TypeOf("split", {{DType::kF32, {4}}}, {{"axis", int64_t{0}}, {"sizes", Ints{1, 2}}}),
              HasSubstr("the sizes add up to 3, not to 4"));
}

TEST(Layout, Slice) {
  Arg x = Counting({3, 4});
  EXPECT_THAT(Eval1("slice", {x}, {{"starts", Ints{1, 0}}, {"sizes", Ints{2, 2}}}),
              ElementsAre(4, 5, 8, 9));
  EXPECT_THAT(
      Eval1("slice", {x}, {{"starts", Ints{2, 3}}, {"sizes", Ints{3, 2}}, {"steps", Ints{-1, -2}}}),
      ElementsAre(11, 9, 7, 5, 3, 1));
  EXPECT_THAT(TypeOf("slice", {x.type}, {{"starts", Ints{1, 0}}, {"sizes", Ints{3, 1}}}),
              HasSubstr("elements 1 to 3 of dimension 0 are not inside its size 3"));
}

TEST(Layout, Pad) {
  Arg x = Counting({4});
  auto pad = [&](Ints pads, const char* mode) {
    return Eval1("pad", {x}, {{"pads", pads}, {"mode", mode}, {"value", 9.0}});
  };
  EXPECT_THAT(pad({1, 2}, "constant"), ElementsAre(9, 0, 1, 2, 3, 9, 9));
  EXPECT_THAT(pad({3, 2}, "reflect"), ElementsAre(3, 2, 1, 0, 1, 2, 3, 2, 1));
  EXPECT_THAT(pad({2, 3}, "edge"), ElementsAre(0, 0, 0, 1, 2, 3, 3, 3, 3));
  EXPECT_THAT(pad({-1, -2}, "constant"), ElementsAre(1));
  EXPECT_THAT(pad({-1, 2}, "reflect"), ElementsAre(1, 2, 3, 2, 1));
  EXPECT_THAT(TypeOf("pad", {x.type}, {{"pads", Ints{4, 0}}, {"mode", "reflect"}}),
              HasSubstr("too short to be mirrored"));
}

// Row-major order is what a reshape keeps, so its values are its input's, whatever the shapes.
TEST(Layout, ReshapeKeepsRowMajorOrder) {
  const std::vector<Shape> shapes = {{24},         {2, 12},   {12, 2},    {4, 6}, {6, 4},
                                     {2, 3, 4},    {4, 3, 2}, {3, 1, 8},  {8, 3}, {1, 2, 2, 6, 1},
                                     {2, 2, 2, 3}, {6, 2, 2}, {1, 24, 1}, {3, 8}, {2, 2, 6}};
  for (const Shape& from : shapes) {
    for (const Shape& to : shapes) {
      Arg x = Counting(from);
      EXPECT_EQ(Eval1("reshape", {x}, {{"shape", to}}), x.values)
          << ToString(from) << " to " << ToString(to);
    }
  }
}

TEST(Layout, ReshapeKeepsGroupsOfSymbolsApart) {
  auto meaning = Define(*FindOp("reshape"), {{DType::kF32, Symbols({"n", "c", "h", "w"})}},
                        {{"shape", Idx{IndexExpr::Symbol("n"), IndexExpr::Symbol("c"),
                                       IndexExpr::Symbol("h") * IndexExpr::Symbol("w")}}});
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  EXPECT_EQ(meaning->requirements.size(), 3u);  // the sizes are not negative
  EXPECT_EQ(meaning->definition.tensors[0].body.ToString(), "t0[i0, i1, (i2 div w), (i2 mod w)]");
}

TEST(Layout, ReshapeErrors) {
  EXPECT_EQ(TypeOf("reshape", {{DType::kF32, {2, 3}}}, {{"shape", Ints{4}}}),
            "reshape(f32[2,3]): x has 6 elements, the shape has 4");
}

TEST(Layout, Transpose) {
  EXPECT_THAT(Eval1("transpose", {Counting({2, 3})}, {{"perm", Ints{1, 0}}}),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(TypeOf("transpose", {{DType::kF32, {2, 3, 4}}}, {{"perm", Ints{2, 0, 1}}}),
            "f32[4,2,3]");
  EXPECT_THAT(TypeOf("transpose", {{DType::kF32, {2, 3}}}, {{"perm", Ints{0, 0}}}),
              HasSubstr("perm = [0, 0] is no permutation of 2 dimensions"));
}

TEST(Layout, ExpandAndTile) {
  EXPECT_THAT(Eval1("expand", {Arg({2, 1}, {1, 2})}, {{"shape", Ints{2, 3}}}),
              ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(Eval1("tile", {Counting({2, 2})}, {{"repeats", Ints{2, 2}}}),
              ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(TypeOf("expand", {{DType::kF32, {2}}}, {{"shape", Ints{3}}}),
              HasSubstr("size 2 of dimension 0 cannot become 3"));
}

// The examples of ONNX's specification.
TEST(Layout, DepthToSpace) {
  Arg x = Counting({1, 8, 1, 1});
  EXPECT_THAT(Eval1("depth_to_space", {x}, {{"block", int64_t{2}}}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(Eval1("depth_to_space", {x}, {{"block", int64_t{2}}, {"mode", "CRD"}}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Layout, SpaceToDepthUndoesDepthToSpace) {
  Arg x = SomeNumbers({2, 12, 2, 3});
  auto y = Eval("depth_to_space", {x}, {{"block", int64_t{2}}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(
      Eval1("space_to_depth", {Arg(y->types[0].shape, y->values[0])}, {{"block", int64_t{2}}}),
      x.values);
}

TEST(Layout, Trilu) {
  Arg x({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Eval1("trilu", {x}), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(Eval1("trilu", {x}, {{"upper", int64_t{0}}, {"k", int64_t{-1}}}),
              ElementsAre(0, 0, 0, 4, 0, 0));
}

TEST(Layout, ResizeNearest) {
  EXPECT_THAT(Eval1("resize_nearest", {Counting({3})},
                    {{"sizes", Ints{6}}, {"mul", Ints{1}}, {"add", Ints{0}}, {"by", Ints{2}}}),
              ElementsAre(0, 0, 1, 1, 2, 2));
  // Outside x counts as its nearest element.
  EXPECT_THAT(Eval1("resize_nearest", {Counting({3})},
                    {{"sizes", Ints{5}}, {"mul", Ints{1}}, {"add", Ints{-1}}, {"by", Ints{1}}}),
              ElementsAre(0, 0, 1, 2, 2));
}

}  // namespace
}  // namespace lemma
