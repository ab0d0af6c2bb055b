#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Values = std::vector<double>;
constexpr int64_t kOne = 1;

const Arg& Cube() {
  static const Arg x({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return x;
}

TEST(Reduce, SumsOverTheAxesNamed) {
  EXPECT_EQ(Eval1("reduce_sum", {Cube()}, {{"axes", Ints{1}}}), (Values{5, 7, 9, 17, 19, 21}));
  EXPECT_EQ(Eval1("reduce_sum", {Cube()}, {{"axes", Ints{-1, 0}}}), (Values{30, 48}));
  EXPECT_EQ(Eval1("reduce_sum", {Cube()}, {{"axes", Ints{0, 1, 2}}}), (Values{78}));
  EXPECT_EQ(Eval1("reduce_sum", {Cube()}, {{"axes", Ints{0}}, {"keepdims", kOne}}),
            (Values{8, 10, 12, 14, 16, 18}));
}

TEST(Reduce, ShapesFollowKeepdims) {
  TensorType x{DType::kF32, {2, 3, 5}};
  EXPECT_EQ(TypeOf("reduce_sum", {x}, {{"axes", Ints{0, 2}}}), "f32[3]");
  EXPECT_EQ(TypeOf("reduce_max", {x}, {{"axes", Ints{2}}, {"keepdims", kOne}}), "f32[2,3,1]");
  EXPECT_EQ(TypeOf("reduce_mean", {x}, {{"axes", Ints{0, 1, 2}}}), "f32[]");
}

TEST(Reduce, OtherKinds) {
  Attrs last = {{"axes", Ints{2}}};
  EXPECT_EQ(Eval1("reduce_mean", {Cube()}, last), (Values{2, 5, 8, 11}));
  EXPECT_EQ(Eval1("reduce_prod", {Cube()}, last), (Values{6, 120, 504, 1320}));
  Arg x({2, 2}, {3, -4, -7, 24});
  EXPECT_EQ(Eval1("reduce_max", {x}, {{"axes", Ints{1}}}), (Values{3, 24}));
  EXPECT_EQ(Eval1("reduce_min", {x}, {{"axes", Ints{0}}}), (Values{-7, -4}));
  EXPECT_EQ(Eval1("reduce_l2", {x}, {{"axes", Ints{1}}}), (Values{5, 25}));
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  Arg x({2, 2}, {1000, 1000, -2000, 0});
  EXPECT_THAT(Eval1("reduce_logsumexp", {x}, {{"axes", Ints{1}}}),
              ElementsAre(DoubleNear(1000 + std::log(2.0), 1e-9), DoubleNear(0, 1e-9)));
}

TEST(Reduce, OverNothing) {
  Arg empty({2, 0}, {});
  EXPECT_EQ(Eval1("reduce_sum", {empty}, {{"axes", Ints{1}}}), (Values{0, 0}));
  EXPECT_EQ(Eval1("reduce_prod", {empty}, {{"axes", Ints{1}}}), (Values{1, 1}));
  EXPECT_THAT(TypeOf("reduce_max", {empty.type}, {{"axes", Ints{1}}}),
              HasSubstr("axis 1 is empty"));
}

TEST(Reduce, SaysWhatIsWrong) {
  TensorType x{DType::kF32, {2, 3}};
  EXPECT_THAT(TypeOf("reduce_sum", {x}), HasSubstr("attribute axes missing"));
  EXPECT_THAT(TypeOf("reduce_sum", {x}, {{"axes", Ints{}}}), HasSubstr("at least one axis"));
  EXPECT_THAT(TypeOf("reduce_sum", {x}, {{"axes", Ints{2}}}),
              HasSubstr("axis 2 is outside a tensor of rank 2"));
  EXPECT_THAT(TypeOf("reduce_sum", {x}, {{"axes", Ints{1, -1}}}), HasSubstr("named twice"));
  EXPECT_THAT(TypeOf("reduce_mean", {{DType::kI64, {2}}}, {{"axes", Ints{0}}}),
              HasSubstr("element type must be f32"));
}

TEST(Reduce, OverSymbols) {
  for (const char* op : {"reduce_mean", "reduce_max", "reduce_logsumexp"}) {
    EXPECT_THAT(Requirements(op, {{"M", "N"}}, {{"axes", Idx{1}}}), ElementsAre("1 <= N"));
  }
  EXPECT_THAT(Requirements("reduce_sum", {{"M", "N"}}, {{"axes", Idx{0, 1}}}), ElementsAre());
}

TEST(ArgMax, FirstOrLast) {
  Arg x({2, 4}, {1, 7, 7, 2, 5, 5, 0, 5});
  EXPECT_EQ(Eval1("argmax", {x}, {{"axis", kOne}}), (Values{1, 0}));
  EXPECT_EQ(Eval1("argmax", {x}, {{"axis", kOne}, {"select_last", kOne}}), (Values{2, 3}));
  EXPECT_EQ(Eval1("argmin", {x}, {{"axis", kOne}}), (Values{0, 2}));
  EXPECT_EQ(Eval1("argmin", {x}), (Values{0, 1, 1, 0}));
  EXPECT_EQ(TypeOf("argmax", {x.type}, {{"axis", kOne}, {"keepdims", kOne}}), "i64[2,1]");
}

TEST(Cumsum, FourWays) {
  Arg x({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Eval1("cumsum", {x}), (Values{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(Eval1("cumsum", {x}, {{"axis", kOne}}), (Values{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(Eval1("cumsum", {x}, {{"axis", kOne}, {"exclusive", kOne}}),
            (Values{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(Eval1("cumsum", {x}, {{"axis", kOne}, {"reverse", kOne}}),
            (Values{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(Eval1("cumsum", {x}, {{"axis", kOne}, {"reverse", kOne}, {"exclusive", kOne}}),
            (Values{5, 3, 0, 11, 6, 0}));
}

TEST(Cumprod, FourWays) {
  Arg x({2, 3}, {1, 2, 3, 4, 5, 0});
  EXPECT_EQ(Eval1("cumprod", {x}), (Values{1, 2, 3, 4, 10, 0}));
  EXPECT_EQ(Eval1("cumprod", {x}, {{"axis", kOne}}), (Values{1, 2, 6, 4, 20, 0}));
  EXPECT_EQ(Eval1("cumprod", {x}, {{"axis", kOne}, {"exclusive", kOne}}),
            (Values{1, 1, 2, 1, 4, 20}));
  EXPECT_EQ(Eval1("cumprod", {x}, {{"axis", kOne}, {"reverse", kOne}}), (Values{6, 6, 3, 0, 0, 0}));
  EXPECT_EQ(Eval1("cumprod", {x}, {{"axis", kOne}, {"reverse", kOne}, {"exclusive", kOne}}),
            (Values{6, 3, 1, 0, 0, 1}));
}

TEST(Softmax, SumsToOneAlongItsAxis) {
  Arg x({2, 2}, {0, std::log(3.0), 1000, 1000});
  EXPECT_THAT(Eval1("softmax", {x}), Pointwise(DoubleNear(1e-9), Values{0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(Eval1("softmax", {x}, {{"axis", int64_t{0}}}),
              Pointwise(DoubleNear(1e-9), Values{0, 0, 1, 1}));
  EXPECT_THAT(Eval1("log_softmax", {x}),
              Pointwise(DoubleNear(1e-9),
                        Values{std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)}));
  EXPECT_EQ(Eval1("hardmax", {x}), (Values{0, 1, 1, 0}));
}

TEST(Softmax, OverSymbols) {
  for (const char* op : {"softmax", "log_softmax", "hardmax", "argmax"}) {
    EXPECT_THAT(Requirements(op, {{"M", "N"}}, {{"axis", IndexExpr(1)}}), ElementsAre("1 <= N"));
  }
  EXPECT_THAT(TypeOf("softmax", {{DType::kF32, {}}}), HasSubstr("outside a tensor of rank 0"));
}

}  // namespace
}  // namespace lemma
