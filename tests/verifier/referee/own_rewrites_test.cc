// Right rewrites, judged without a certificate: random graphs in which rules match, rewritten by
// the search and by random matches of all shipped rules. None may be refuted, most must be proved.
//
// Other graphs in each run unless --test_arg=--first_seed=N; --test_arg=--graphs=N takes so many
// graphs instead of 40. A graph that is not proved is printed with its rewrites.
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/rewrite_filter.h"
#include "tests/graph/random_graph.h"
#include "tests/rewrite/random_rewrites.h"
#include "tests/runtime/seeded_main.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

constexpr int kGraphs = 40;
constexpr double kLeast = 0.95;  // the part that must be proved

const std::vector<Substitution>& AllRules() {
  static const auto* rules = [] {
    auto* all = new std::vector<Substitution>(ProvedRules("starter.txt"));
    for (const char* file :
         {"generated_inference", "taso", "taso_plus", "training", "transformer"}) {
      for (Substitution& rule : ProvedRules(absl::StrCat(file, ".txt"), absl::StrCat(file, "."))) {
        all->push_back(std::move(rule));
      }
    }
    return all;
  }();
  return *rules;
}

RuleSet* TheRules() {
  static RuleSet* const set = RuleSet::Create(AllRules())->release();
  return set;
}

// Finite floats only, which is what contracts other than bit-exact speak of.
RandomGraph GraphWithMatches(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = 10;
  options.allowed_type = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kI64; };
  options.part = [](uint64_t part) { return RandomSource(AllRules(), part); };
  return MakeRandomGraph(seed, options);
}

// What an optimizer makes of the graph, and how; "" if nothing.
std::string Optimize(uint64_t seed, Graph* graph) {
  std::string steps;
  if (seed % 2 == 0) {
    const auto costs = optimizer::MakeAnalyticCostModel();
    optimizer::BacktrackingOptions options;
    options.limits.max_steps = 60;
    const auto rules = optimizer::Filtered(TheRules(), {});
    auto found =
        optimizer::MakeBacktrackingSearch(rules.get(), costs.get(), options)->Run(*graph, nullptr);
    if (!found.ok()) return "";
    for (const auto& step : found->rewrites) absl::StrAppend(&steps, "\n", step.where);
    *graph = found->best;
  } else {
    std::mt19937_64 random(seed);
    optimizer::RewriteFilter filter;
    filter.numerics = FloatContract::kReassociates;
    const auto rules = optimizer::Filtered(TheRules(), filter);
    for (uint64_t i = 0; i < 1 + seed % 4; ++i) {
      auto next = Rewritten(*graph, *rules, &random);
      if (!next) break;
      *graph = std::move(next->after);
      absl::StrAppend(&steps, "\n", next->where);
    }
  }
  auto folded = optimizer::FoldConstants(*graph);
  if (folded.ok()) *graph = *std::move(folded);
  return steps;
}

TEST(OwnRewritesTest, AreProved) {
  const SeedFlags& flags = Seeds();
  const int64_t wanted = flags.graphs > 0 ? flags.graphs : kGraphs;
  std::map<referee::Answer, int> answers;
  int64_t judged = 0;
  for (uint64_t seed = flags.first_seed; judged < wanted; ++seed) {
    const RandomGraph random = GraphWithMatches(seed);
    Graph after = random.graph;
    const std::string steps = Optimize(seed, &after);
    if (steps.empty() || after.outputs() == random.graph.outputs()) continue;
    ++judged;
    const auto result = JudgeGraphs(random.graph, after, {random.inputs});
    ++answers[result.answer];
    const std::string what = absl::StrCat("seed ", seed, ": ", Summary(result), steps, "\n",
                                          PrintGraph(random.graph), "\n", PrintGraph(after));
    ASSERT_NE(result.answer, referee::Answer::kRefuted) << what;
    ASSERT_NE(result.answer, referee::Answer::kDifferentInterface) << what;
    if (result.answer == referee::Answer::kUnknown) std::printf("not proved, %s\n", what.c_str());
  }
  std::printf("%d of %d proved\n", answers[referee::Answer::kProved], static_cast<int>(judged));
  EXPECT_GE(answers[referee::Answer::kProved], kLeast * static_cast<double>(judged));
}

}  // namespace
}  // namespace lemma
