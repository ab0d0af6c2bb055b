// The check accepts the kernels that are generated: of all schedules, of every operator, and of
// random graphs.
#include "verifier/kernels/kernel_check.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/base/repetitions.h"
#include "tests/verifier/kernels/checked_graph.h"
#include "tests/verifier/kernels/schedule_examples.h"

namespace lemma {
namespace {

using Kind = kernels::ProgramVerdict::Kind;

struct Counts {
  int equal = 0, not_checked = 0;
  std::set<std::string> reasons;
};

void Check(const Graph& graph, Counts* counts) {
  const cuda::CudaPlan plan = CudaPlanOf(graph);
  for (const cuda::CudaStep& step : plan.steps) {
    if (step.program == nullptr || step.program->kernels.empty()) continue;
    const kernels::ProgramVerdict verdict = CheckStep(step);
    EXPECT_NE(verdict.kind, Kind::kWrong) << verdict.reason << "\n"
                                          << step.operators << "\n"
                                          << step.program->kernels[0].code << PrintGraph(graph);
    ++(verdict.kind == Kind::kAgrees ? counts->equal : counts->not_checked);
    if (verdict.kind == Kind::kNotChecked) {
      counts->reasons.insert(absl::StrCat(step.operators, ": ", verdict.reason));
    }
  }
}

std::string ReasonsOf(const Counts& counts) {
  std::string text;
  for (const std::string& reason : counts.reasons) absl::StrAppend(&text, reason, "\n");
  return text;
}

TEST(KernelCheck, AcceptsEverySchedule) {
  std::set<std::string> schedules;
  for (const ScheduleExample& example : ScheduleExamples()) {
    SCOPED_TRACE(example.name);
    Counts counts;
    Check(GraphOfExample(example), &counts);
    EXPECT_GT(counts.equal, 0);
    EXPECT_EQ(counts.not_checked, 0) << ReasonsOf(counts);
  }
}

TEST(KernelCheck, AcceptsEveryOperator) {
  Counts counts;
  for (const OpExample& example : AllExamples()) {
    SCOPED_TRACE(absl::StrCat(example.op->name, " ", example.text));
    GraphBuilder builder("example");
    std::vector<Value> operands;
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      operands.push_back(builder.Input(absl::StrCat("x", i), example.inputs[i]));
    }
    auto outputs = builder.Ops(example.op->name, operands, example.attrs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t k = 0; k < outputs->size(); ++k) {
      builder.Output(absl::StrCat("y", k), (*outputs)[k]);
    }
    Check(*std::move(builder).Build(), &counts);
  }
  EXPECT_GT(counts.equal, 200);
  EXPECT_EQ(counts.not_checked, 0) << ReasonsOf(counts);
}

TEST(KernelCheck, AcceptsRandomGraphs) {
  Counts counts;
  const int graphs = WholeOr(5000, 500);
  for (int seed = 1; seed <= graphs; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Check(MakeRandomGraph(static_cast<uint64_t>(seed)).graph, &counts);
  }
  RecordProperty("equal", counts.equal);
  RecordProperty("not_checked", counts.not_checked);
  EXPECT_GT(counts.equal, graphs / 2);  // many graphs only move elements
  EXPECT_LE(counts.not_checked * 50, counts.equal) << ReasonsOf(counts);
}

}  // namespace
}  // namespace lemma
