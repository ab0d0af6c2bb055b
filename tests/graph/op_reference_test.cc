#include "graph/op_reference.h"

#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using testing::HasSubstr;

TEST(OperatorReference, SaysWhatTheTableSays) {
  const std::string text = OperatorReference();
  EXPECT_THAT(text, HasSubstr("\n## layout\n"));
  EXPECT_THAT(text, HasSubstr("\n### leaky_relu(x)\n\n```\ny = x if x >= 0, alpha*x if x < 0\n"));
  EXPECT_THAT(text, HasSubstr("| `alpha` | float, *symbol* | `0.01` | slope of the negative"));
  EXPECT_THAT(text, HasSubstr("### conv2d(x, w, bias?)"));
  EXPECT_THAT(text, HasSubstr("### concat(x…)"));
}

TEST(OperatorReference, CommittedPageIsUpToDate) {
  std::ifstream file("docs/operators.md", std::ios::binary);
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(committed == OperatorReference())
      << "docs/operators.md differs from the operator table; to update it:\n"
         "  bazel run //tools:gen_op_reference -- --write";
}

}  // namespace
}  // namespace lemma
