// Facts derived from definitions: reads are in bounds, and work is counted.
#include "graph/examples/op_examples.h"
#include "graph/op_def.h"
#include "gtest/gtest.h"
#include "kernels/loops/bounds.h"
#include "kernels/loops/cost.h"

namespace lemma {
namespace {

class Facts : public testing::TestWithParam<OpExample> {
 protected:
  Definition Defined() const {
    auto definition = Define(*GetParam().op, GetParam().inputs, GetParam().attrs);
    EXPECT_TRUE(definition.ok()) << definition.status();
    return definition.ok() ? *definition : Definition();
  }
};

TEST_P(Facts, ReadsAreInBounds) {
  for (const std::string& read : UnprovedReads(Defined())) ADD_FAILURE() << read;
}

TEST_P(Facts, WorkIsCounted) {
  const Definition definition = Defined();
  auto work = CountWork(definition);
  ASSERT_TRUE(work.ok()) << work.status();
  auto types = InferTypes(*GetParam().op, GetParam().inputs, GetParam().attrs);
  ASSERT_TRUE(types.ok()) << types.status();
  double written = 0, readable = 0;
  for (const TensorType& type : *types) written += static_cast<double>(type.num_bytes());
  for (const TensorType& type : GetParam().inputs) {
    readable += static_cast<double>(type.num_bytes());
  }
  EXPECT_EQ(work->bytes_written, written);
  EXPECT_GE(work->flops, 0);
  EXPECT_GE(work->bytes_read, 0);
  EXPECT_LE(work->bytes_read, readable);
  // An operator of inputs that writes elements reads some.
  if (written > 0 && !GetParam().inputs.empty()) {
    EXPECT_GT(work->bytes_read, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Facts, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

}  // namespace
}  // namespace lemma
