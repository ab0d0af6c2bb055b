#include "kernels/loops/cost.h"

#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

Work Count(const Definition& d) { return CountWork(d).value(); }

TEST(Cost, ConvolutionWithoutPadding) {
  Work work = Count(Conv({2, 16, 10, 10}, {32, 16, 3, 3}, 1, 0, 1));
  EXPECT_EQ(work.flops, 2.0 * 2 * 32 * 8 * 8 * 16 * 9);
  EXPECT_EQ(work.bytes_read, 4.0 * (2 * 16 * 100 + 32 * 16 * 9));
  EXPECT_EQ(work.bytes_written, 4.0 * 2 * 32 * 64);
}

TEST(Cost, ConvolutionWithStrideTouchesAPartOfItsInput) {
  Work work = Count(Conv({1, 64, 56, 56}, {128, 64, 1, 1}, 2, 0, 1));
  EXPECT_EQ(work.bytes_read, 4.0 * (64 * 28 * 28 + 128 * 64));
}

TEST(Cost, MatrixProduct) {
  Work work = Count(Matmul(10, 20, 30));
  EXPECT_EQ(work.flops, 2.0 * 10 * 20 * 30);
  EXPECT_EQ(work.bytes_read, 4.0 * (200 + 600));
}

TEST(Cost, LoopInvariantsCountOnce) {
  DefinitionBuilder b;
  TensorId x = b.Input({10, 20}), scale = b.Input({20});
  b.Output({10, 20}, [&](const Idx& o) {
    ScalarExpr mean = b.Sum({20}, [&](const Idx& r) { return Read(x, {o[0], r[0]}); }) * 0.05;
    return (Read(x, o) - mean) * Apply(ScalarFn::kExp, Read(scale, {o[1]}));
  });
  // Sums, means, exponentials; a subtraction and a product for each element.
  EXPECT_EQ(Count(b.definition()).flops, 200 + 10 + 20 + 2 * 200);
}

TEST(Cost, GuardsCountTheirShare) {
  DefinitionBuilder b;
  TensorId x = b.Input({6, 10}), y = b.Input({4, 10});
  b.Output({10, 10}, [&](const Idx& o) {
    return ScalarExpr::Select(Lt(o[0], 6), Apply(ScalarFn::kExp, Read(x, {Min(o[0], 5), o[1]})),
                              Read(y, {Max(o[0] - 6, 0), o[1]}));
  });
  Work work = Count(b.definition());
  EXPECT_NEAR(work.flops, 60, 1e-9);
  EXPECT_NEAR(work.bytes_read, 4.0 * 100, 1e-9);
}

TEST(Cost, CumulativeSumCountsHalf) {
  DefinitionBuilder b;
  TensorId x = b.Input({100});
  b.Output({100}, [&](const Idx& o) {
    return b.Sum({o[0] + 1}, [&](const Idx& r) { return Read(x, {r[0]}); });
  });
  EXPECT_EQ(Count(b.definition()).flops, 100 * 50.5);
}

TEST(Cost, GatherReadsTheRowsItNeeds) {
  DefinitionBuilder b;
  TensorId table = b.Input({1000, 8}), rows = b.Input({5}, DType::kI64);
  b.Output({5, 8}, [&](const Idx& o) { return Read(table, {Load(Read(rows, {o[0]})), o[1]}); });
  Work work = Count(b.definition());
  EXPECT_EQ(work.bytes_read, 4 * 40 + 8 * 5);
  EXPECT_EQ(work.flops, 0);
}

TEST(Cost, OpenSizesAreRefused) {
  DefinitionBuilder b;
  b.Output({IndexExpr::Symbol("N")}, [&](const Idx&) { return ScalarExpr(0); });
  EXPECT_TRUE(absl::IsInvalidArgument(CountWork(b.definition()).status()));
}

}  // namespace
}  // namespace lemma
