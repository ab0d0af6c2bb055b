// Right rewrites, judged without a certificate: random graphs in which rules match, rewritten by
// the search and by random matches of all shipped rules. None may be refuted, most must be proved.
//
// Other graphs in each run unless --test_arg=--first_seed=N; --test_arg=--graphs=N takes so many
// graphs instead of 30, and a minute for each instead of 5 seconds. A graph that is not proved is
// printed with its rewrites.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/rewrite_filter.h"
#include "rewrite/derivation/random_rewrites.h"
#include "runtime/reference/all_values.h"
#include "tests/rewrite/proved_rules.h"
#include "tests/runtime/seeded_main.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

constexpr int kGraphs = 30;
constexpr double kLeast = 0.7;  // the part that must be proved: these graphs are odder than models

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

const std::set<const OpDef*>& OperatorsOfRules() {
  static const auto* operators = [] {
    auto* found = new std::set<const OpDef*>;
    for (const Substitution& rule : AllRules()) {
      for (const Pattern* side : {&rule.source, &rule.target}) {
        for (const PatternNode& node : side->nodes) found->insert(node.op);
      }
    }
    return found;
  }();
  return *operators;
}

// Whether the graph is like a model: its outputs depend on inputs, no tensor is empty, and all
// numbers are finite, which is what contracts other than bit-exact speak of.
bool IsLikeAModel(const RandomGraph& random) {
  const auto values = AllValues(random.graph, random.inputs);
  if (!values.ok()) return false;
  for (const auto& [value, tensor] : *values) {
    if (tensor.size() == 0) return false;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.AtDouble(i))) return false;
    }
  }
  std::set<const Node*> depends;
  for (const NodePtr& node : random.graph.nodes()) {
    bool does = node->kind() == Node::Kind::kInput;
    for (const Value& operand : node->inputs()) does |= depends.count(&operand.node()) > 0;
    if (does) depends.insert(node.get());
  }
  const auto& outputs = random.graph.outputs();
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](const Value& v) { return depends.count(&v.node()) > 0; });
}

RandomGraph GraphWithMatches(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = 10;
  options.allowed = [](const OpDef& op) { return OperatorsOfRules().count(&op) > 0; };
  options.allowed_type = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kI64; };
  options.part = [](uint64_t part) { return RandomSource(AllRules(), part); };
  return MakeRandomGraph(seed, options);
}

// The same inputs with other floats.
std::vector<Tensor> Others(const RandomGraph& random, uint64_t seed) {
  std::vector<Tensor> inputs = random.inputs;
  for (Tensor& input : inputs) {
    if (!IsFloat(input.dtype())) continue;
    const auto values = RandomFloats(input.size(), seed + 1, -2, 2);
    input = *Tensor::FromDoubles(input.type(), std::vector<double>(values.begin(), values.end()));
  }
  return inputs;
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

std::string Refutation(const referee::RefereeResult& result) {
  const referee::Refutation& refutation = *result.refutation;
  std::string text = absl::StrCat("\n", refutation.output, ": ", refutation.before, " and ",
                                  refutation.after, ", explained ", refutation.explained);
  if (refutation.pair) {
    absl::StrAppend(&text, "\npair: ", refutation.pair->difference, ", explained ",
                    refutation.pair->explained, PrintGraph(refutation.pair->before),
                    PrintGraph(refutation.pair->after));
  }
  for (const referee::StrangeWeight& weight : result.strange_weights) {
    absl::StrAppend(&text, "\n", weight.after, " like ", weight.before, ": ", weight.outside,
                    " outside, ", weight.value, " of [", weight.low, ", ", weight.high, "]");
  }
  return text;
}

// Judges right rewrites of random graphs with a prover that has `work` steps for a region; none may
// be refuted. Prints those that are not proved if `tell`. *proved: the part that is proved.
void Judge(int64_t work, bool tell, double* proved) {
  const SeedFlags& flags = Seeds();
  const int64_t wanted = flags.graphs > 0 ? flags.graphs : kGraphs;
  std::map<referee::Answer, int> answers;
  int64_t judged = 0;
  for (uint64_t seed = flags.first_seed; judged < wanted; ++seed) {
    const RandomGraph random = GraphWithMatches(seed);
    if (!IsLikeAModel(random)) continue;
    Graph after = random.graph;
    const std::string steps = Optimize(seed, &after);
    if (steps.empty() || after.outputs() == random.graph.outputs()) continue;
    ++judged;
    const double seconds = flags.graphs > 0 ? 60 : 5;
    const auto result = JudgeGraphs(random.graph, after, {random.inputs, Others(random, seed)},
                                    seconds, &AllRules(), work);
    ++answers[result.answer];
    const std::string what = absl::StrCat("seed ", seed, ": ", Summary(result), steps, "\n",
                                          PrintGraph(random.graph), "\n", PrintGraph(after));
    ASSERT_NE(result.answer, referee::Answer::kRefuted) << what << Refutation(result);
    ASSERT_NE(result.answer, referee::Answer::kDifferentInterface) << what;
    if (tell && result.answer == referee::Answer::kUnknown) {
      std::printf("not proved, %s\n", what.c_str());
    }
  }
  std::printf("%d of %d proved\n", answers[referee::Answer::kProved], static_cast<int>(judged));
  *proved = answers[referee::Answer::kProved] / static_cast<double>(judged);
}

TEST(OwnRewritesTest, AreProved) {
  double proved = 0;
  Judge(kWork, true, &proved);
  EXPECT_GE(proved, kLeast);
}

// Most proofs end early, so the referee looks for faults, and for places that differ.
TEST(OwnRewritesTest, AreNotRefutedForWantOfAProof) {
  double proved = 0;
  Judge(8000, false, &proved);
  EXPECT_LT(proved, kLeast);
}

}  // namespace
}  // namespace lemma
