#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::vector<double>;

Attrs Equation(const char* text) { return {{"equation", std::string(text)}}; }

TEST(Matmul, MultipliesMatrices) {
  Arg a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 2}, {1, 0, 0, 1, 2, 2});
  EXPECT_EQ(Eval1("matmul", {a, b}), (Values{7, 8, 16, 17}));
}

TEST(Matmul, BroadcastsBatches) {
  Arg a({2, 1, 1, 2}, {1, 2, 3, 4}), b({1, 2, 2, 1}, {1, 1, 10, 100});
  EXPECT_EQ(Eval1("matmul", {a, b}), (Values{3, 210, 7, 430}));
  EXPECT_EQ(TypeOf("matmul", {{DType::kF32, {5, 2, 3}}, {DType::kF32, {3, 4}}}), "f32[5,2,4]");
  EXPECT_EQ(TypeOf("matmul", {{DType::kF32, {2, 0}}, {DType::kF32, {0, 4}}}), "f32[2,4]");
}

TEST(Matmul, SaysWhatDoesNotFit) {
  TensorType a{DType::kF32, {2, 3}};
  EXPECT_THAT(TypeOf("matmul", {a, a}), HasSubstr("the inner sizes 3 and 2 must be equal"));
  EXPECT_THAT(TypeOf("matmul", {a, {DType::kF32, {3}}}), HasSubstr("rank 2 or more, not 1"));
  EXPECT_THAT(TypeOf("matmul", {{DType::kF32, {2, 1, 3}}, {DType::kF32, {4, 3, 1}}}),
              HasSubstr("the sizes 2 and 4"));
}

TEST(Matmul, OverSymbols) {
  EXPECT_THAT(Requirements("matmul", {{"B", "M", "K"}, {"L", "N"}}), ElementsAre("K == L"));
  EXPECT_THAT(Requirements("matmul", {{"B", "M", "K"}, {"A", "K", "N"}}), ElementsAre("B == A"));
}

TEST(Einsum, SumsOverWhatTheOutputLacks) {
  Arg a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 2}, {1, 0, 0, 1, 2, 2}), square({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Eval1("einsum", {a, b}, Equation("ij,jk->ik")), (Values{7, 8, 16, 17}));
  EXPECT_EQ(Eval1("einsum", {a, b}, Equation("ij, jk")), (Values{7, 8, 16, 17}));
  EXPECT_EQ(Eval1("einsum", {a}, Equation("ba")), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Eval1("einsum", {square}, Equation("ii->i")), (Values{1, 4}));
  EXPECT_EQ(Eval1("einsum", {square}, Equation("ii")), (Values{5}));
  EXPECT_EQ(Eval1("einsum", {a}, Equation("...i->...")), (Values{6, 15}));
  EXPECT_EQ(TypeOf("einsum", {{DType::kF32, {7, 2, 3}}, {DType::kF32, {1, 3, 4}}},
                   Equation("...ij,...jk")),
            "f32[7,2,4]");
}

TEST(Einsum, SaysWhatIsWrong) {
  TensorType a{DType::kF32, {2, 3}};
  EXPECT_THAT(TypeOf("einsum", {a}, Equation("ij,jk")), HasSubstr("2 subscripts for 1 inputs"));
  EXPECT_THAT(TypeOf("einsum", {a}, Equation("ijk")), HasSubstr("does not fit input 0 of rank 2"));
  EXPECT_THAT(TypeOf("einsum", {a}, Equation("ij->k")), HasSubstr("output's subscript k"));
  EXPECT_THAT(TypeOf("einsum", {a}, Equation("ij->ii")), HasSubstr("repeats the subscript i"));
  EXPECT_THAT(TypeOf("einsum", {a, a}, Equation("ij,jk")), HasSubstr("the sizes 3 and 2"));
  EXPECT_THAT(TypeOf("einsum", {{DType::kF32, {1, 3}}}, Equation("ii")),
              HasSubstr("the sizes 1 and 3 of subscript i in one operand"));
  EXPECT_THAT(TypeOf("einsum", {a}, Equation("i+")), HasSubstr("must be letters"));
  EXPECT_THAT(
      Requirements("einsum", {{"M", "K"}, {"L", "N"}}, {{"equation", std::string("ij,jk->ik")}}),
      Contains("K == L"));
}

}  // namespace
}  // namespace lemma
