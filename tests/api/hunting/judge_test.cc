// What the judge says of engines that refuse a model at one of their levels.
#include "api/hunting/judge.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/api/hunting/wrong_engine.h"

namespace lemma::hunt {
namespace {

// The judgment on a model that an engine refuses at these levels, of "none" and "all".
Judgment RefusedAt(const std::vector<std::string>& levels) {
  WrongEngine engine([&](const Node&, const std::vector<Tensor>&,
                         const std::string& level) -> absl::StatusOr<std::optional<Tensor>> {
    for (const std::string& refused : levels) {
      if (level == refused) return absl::UnimplementedError("no kernel");
    }
    return std::nullopt;
  });
  Subject subject;
  subject.graph = *ParseGraph("graph g(x: f32[2]) { y = relu(x) return y }");
  subject.inputs = {*Tensor::FromDoubles({DType::kF32, {2}}, {-1, 1})};
  auto judgment = Judge(&engine).JudgeSubject(subject);
  EXPECT_TRUE(judgment.ok()) << judgment.status();
  return judgment.ok() ? *std::move(judgment) : Judgment();
}

TEST(JudgeTest, OnlyAFaultHasADifference) {
  EXPECT_EQ(RefusedAt({}).outcome, Outcome::kAgrees);
  const std::vector<std::vector<std::string>> no_faults = {{"none"}, {"none", "all"}};
  for (const std::vector<std::string>& levels : no_faults) {
    const Judgment judgment = RefusedAt(levels);
    EXPECT_EQ(judgment.outcome, Outcome::kRefused) << levels.size();
    EXPECT_EQ(judgment.reason, "no kernel") << levels.size();
    EXPECT_FALSE(judgment.difference) << levels.size();
  }
  const Judgment fault = RefusedAt({"all"});
  EXPECT_EQ(fault.outcome, Outcome::kDiffers);
  ASSERT_TRUE(fault.difference);
  EXPECT_EQ(fault.difference->fault, Fault::kRefusal);
  EXPECT_TRUE(fault.difference->is_optimization);
}

}  // namespace
}  // namespace lemma::hunt
