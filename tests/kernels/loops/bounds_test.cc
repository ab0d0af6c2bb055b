#include "kernels/loops/bounds.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Bounds, ConvolutionsAreInBounds) {
  EXPECT_THAT(UnprovedReads(Conv({2, 8, 7, 6}, {6, 4, 3, 3}, 2, 1, 2)), IsEmpty());
  EXPECT_THAT(UnprovedReads(Conv({1, 8, 5, 5}, {8, 1, 3, 3}, 1, 2, 8)), IsEmpty());
  EXPECT_THAT(UnprovedReads(Conv({1, 8, 5, 5}, {8, 8, 2, 2}, 3, 0, 1)), IsEmpty());
}

TEST(Bounds, PoolingGuardedByTheReductionItself) {
  DefinitionBuilder b;
  TensorId x = b.Input({9});
  b.Output({5}, [&](const Idx& o) {
    IndexExpr at = o[0] * 2 + IndexExpr::Var(b.NewVar()) - 1;
    return ScalarExpr::Reduce(ReduceKind::kMax, {{at.lhs().rhs().var(), 3}}, InRange(at, 9),
                              Read(x, {at}));
  });
  EXPECT_THAT(UnprovedReads(b.definition()), IsEmpty());
}

TEST(Bounds, ConcatenationOfSumsUsesBothBranches) {
  DefinitionBuilder b;
  TensorId x = b.Input({3, 4}), y = b.Input({2, 4});
  b.Output({5, 6}, [&](const Idx& o) {
    // The guard has two variables, so it cannot be split away.
    Guard first = Lt(o[0] + 5 * o[1], 3);
    auto sum = [&](TensorId t, const IndexExpr& row) {
      return b.Sum({4}, [&](const Idx& r) { return Read(t, {row, r[0]}); });
    };
    return ScalarExpr::Select(first && Le(o[1], 0), sum(x, o[0]),
                              ScalarExpr::Select(Ge(o[0], 3), sum(y, o[0] - 3), 0));
  });
  EXPECT_THAT(UnprovedReads(b.definition()), IsEmpty());
}

TEST(Bounds, ReshapeAndSlice) {
  DefinitionBuilder b;
  TensorId x = b.Input({4, 6});
  b.Output({24}, [&](const Idx& o) { return Read(x, {FloorDiv(o[0], 6), Mod(o[0], 6)}); });
  b.Output({2, 3}, [&](const Idx& o) { return Read(x, {3 - o[0] * 2, o[1] * 2 + 1}); });
  EXPECT_THAT(UnprovedReads(b.definition()), IsEmpty());
}

TEST(Bounds, WhatIsOutsideIsReported) {
  DefinitionBuilder b;
  TensorId x = b.Input({4, 6});
  b.Output({4, 6}, [&](const Idx& o) { return Read(x, {o[0] + 1, o[1]}); });
  EXPECT_THAT(UnprovedReads(b.definition()),
              ElementsAre("t1 reads t0, dimension 0, at (i0 + 1), in [1, 4] as far as is known, "
                          "not in [0, 3]"));
}

TEST(Bounds, AGuardOfOneReadDoesNotExcuseAnother) {
  DefinitionBuilder b;
  TensorId x = b.Input({4});
  b.Output({5, 2}, [&](const Idx& o) {
    ScalarExpr read = Read(x, {o[0]});
    return ScalarExpr::Select(Lt(o[0] + o[1], 4), read, 0) + read;
  });
  EXPECT_THAT(UnprovedReads(b.definition()), ElementsAre(HasSubstr("t1 reads t0, dimension 0")));
  // A weaker guard does not suffice either.
  DefinitionBuilder c;
  x = c.Input({4});
  c.Output({5, 2}, [&](const Idx& o) {
    return ScalarExpr::Select(Lt(o[0] + o[1], 5), Read(x, {o[0] + o[1]}), 0);
  });
  EXPECT_THAT(UnprovedReads(c.definition()), ElementsAre(HasSubstr("in [0, 5]")));
}

TEST(Bounds, OpenSizesAreReported) {
  DefinitionBuilder b;
  b.Output({IndexExpr::Symbol("N")}, [&](const Idx&) { return ScalarExpr(0); });
  EXPECT_THAT(UnprovedReads(b.definition()), ElementsAre(HasSubstr("size N is open")));
}

}  // namespace
}  // namespace lemma
