// Random graphs in which rules match. Results of the search, and of random rewrites by all shipped
// rules, are compared with the definitions as typed, and on the CPU.
//
// Other graphs in each run unless --test_arg=--first_seed=N; --test_arg=--graphs=N runs so many
// instead of as many as fit into the time. A failure prints its seed, the rewrites and both graphs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
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
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/all_values.h"
#include "runtime/reference/definitions_referee.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/rewrite/proved_rules.h"
#include "tests/runtime/products.h"
#include "tests/runtime/seeded_main.h"

namespace lemma::optimizer {
namespace {

constexpr double kSeconds = 15;
constexpr int64_t kSearchSteps = 60;

// The rules that `lemma optimize` uses by default, and all shipped rules.
struct Rules {
  std::vector<Substitution> starter = ProvedRules("starter.txt"), all = starter;
  std::unique_ptr<RuleSet> starter_set, all_set;

  Rules() {
    for (const char* file : {"generated_inference", "taso", "taso_2d", "taso_plus", "training",
                             "training_2d", "transformer"}) {
      for (Substitution& rule : ProvedRules(absl::StrCat(file, ".txt"), absl::StrCat(file, "."))) {
        all.push_back(std::move(rule));
      }
    }
    starter_set = *RuleSet::Create(starter);
    all_set = *RuleSet::Create(all);
  }
};
const Rules& TheRules() {
  static const auto* rules = new Rules;
  return *rules;
}

RandomGraph GraphWithMatches(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = 10;
  options.finite_only = IsProduct;
  options.part = [](uint64_t part) {
    return RandomSource(part % 4 > 0 ? TheRules().starter : TheRules().all, part);
  };
  return MakeRandomGraph(seed, options);
}

bool ChoosesAnExtreme(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce &&
      (e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin)) {
    return true;
  }
  if (e.kind() == ScalarExpr::Kind::kApply &&
      (e.fn() == ScalarFn::kMax || e.fn() == ScalarFn::kMin)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(), ChoosesAnExtreme);
}

// Whether `value` depends on a maximum or minimum. Which of 0 and -0 these give is not part of a
// bit-exact contract (docs/proofs.md).
bool DependsOnAnExtreme(const Value& value) {
  std::set<const Node*> seen;
  std::vector<const Node*> pending = {&value.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!node->is_op() || !seen.insert(node).second) continue;
    const auto definition = DefinitionOf(*node);
    if (!definition.ok()) return true;
    for (const TensorExpr& tensor : definition->tensors) {
      if (ChoosesAnExtreme(tensor.body)) return true;
    }
    for (const Value& input : node->inputs()) pending.push_back(&input.node());
  }
  return false;
}

// Equal bits. NaN payloads do not count, nor do signs of zeros unless `zero_signs` is set.
bool SameBits(const Tensor& a, const Tensor& b, bool zero_signs) {
  if (a.type() != b.type()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (!IsFloat(a.dtype())) {
      if (a.AtInt(i) != b.AtInt(i)) return false;
      continue;
    }
    const double x = a.AtDouble(i), y = b.AtDouble(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || (zero_signs && std::signbit(x) != std::signbit(y))) return false;
  }
  return true;
}

bool IsFinite(const RandomGraph& random) {
  const auto values = AllValues(random.graph, random.inputs);
  if (!values.ok()) return false;
  for (const auto& [value, tensor] : *values) {
    if (!IsFloat(tensor.dtype())) continue;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.AtDouble(i))) return false;
    }
  }
  return true;
}

struct Counts {
  int graphs = 0, optimized = 0, walked = 0, search_steps = 0, walk_steps = 0, finite = 0,
      rounding = 0, without_values = 0;
};

class RewrittenGraph {
 public:
  RewrittenGraph(uint64_t seed, Counts* counts)
      : seed_(seed),
        counts_(*counts),
        random_(GraphWithMatches(seed)),
        referee_(random_.graph, random_.inputs),
        is_finite_(IsFinite(random_)) {}

  void Check() {
    if (!referee_.expected().ok()) {  // an index outside its tensor
      ++counts_.without_values;
      return;
    }
    ++counts_.graphs;
    counts_.finite += is_finite_ ? 1 : 0;
    CheckSearch();
    if (!testing::Test::HasFatalFailure()) CheckWalk();
  }

 private:
  void CheckSearch() {
    const auto costs = MakeAnalyticCostModel();
    BacktrackingOptions options;
    options.limits.max_steps = kSearchSteps;
    const auto rules = Filtered(TheRules().starter_set.get(), {});
    auto found =
        MakeBacktrackingSearch(rules.get(), costs.get(), options)->Run(random_.graph, nullptr);
    ASSERT_TRUE(found.ok()) << found.status() << Input();
    if (found->rewrites.empty()) return;
    ++counts_.optimized;
    counts_.search_steps += static_cast<int>(found->rewrites.size());
    std::string steps = "search:";
    for (const RewriteStep& step : found->rewrites) absl::StrAppend(&steps, "\n", step.where);
    CheckResult(found->best, FloatContract::kReassociates, steps);
  }

  // Also takes rewrites that make nothing faster, with all contracts that one value of `--numerics`
  // allows.
  void CheckWalk() {
    std::mt19937_64 random(seed_);
    RewriteFilter filter;
    filter.numerics = seed_ % 3 == 0 ? FloatContract::kBitExact : FloatContract::kReassociates;
    const auto rules = Filtered(TheRules().all_set.get(), filter);
    Graph now = random_.graph;
    std::string steps = "walk:";
    int done = 0;
    for (uint64_t i = 0; i < 1 + seed_ % 4; ++i, ++done) {
      auto next = Rewritten(now, *rules, &random);
      if (!next) break;
      now = std::move(next->after);
      absl::StrAppend(&steps, "\n", next->where);
    }
    if (done == 0) return;
    ++counts_.walked;
    counts_.walk_steps += done;
    CheckResult(now, filter.numerics, steps);
  }

  void CheckResult(const Graph& result, FloatContract contract, const std::string& steps) {
    const std::string what = absl::StrCat(Input(), "\n", steps, "\n", PrintGraph(result), "\n");
    const DefinitionsReferee as_typed(result, random_.inputs);
    ASSERT_TRUE(as_typed.expected().ok()) << as_typed.expected().status() << what;
    for (size_t i = 0; i < result.outputs().size(); ++i) {
      ASSERT_TRUE(contract != FloatContract::kBitExact ||
                  SameBits((*as_typed.expected())[i], (*referee_.expected())[i],
                           !DependsOnAnExtreme(result.outputs()[i]) &&
                               !DependsOnAnExtreme(random_.graph.outputs()[i])))
          << "output " << i << " has other bits, " << what;
    }
    const auto folded = FoldConstants(result);
    ASSERT_TRUE(folded.ok()) << folded.status() << what;
    const DefinitionsReferee after(*folded, random_.inputs);
    ASSERT_TRUE(after.expected().ok()) << after.expected().status() << what;
    const std::vector<Tensor> comparable = Comparable(*after.expected());
    auto define = [&](const std::vector<Tensor>& inputs) { return Define(*folded, inputs); };
    for (size_t i = 0; i < result.outputs().size(); ++i) {
      bool excused = false;
      const std::string off = referee_.FaultOfOutput(i, comparable, define, &excused);
      ASSERT_TRUE(off.empty() || IsSameInDouble(result, i)) << off << ", " << what;
      counts_.rounding += excused || !off.empty() ? 1 : 0;
    }
    CheckOnCpu(*folded, after, what);
  }

  void CheckOnCpu(const Graph& folded, const DefinitionsReferee& referee, const std::string& what) {
    if (HasProduct(folded) && referee.ExpectsNaN()) return;
    auto executable = MakeCpuBackend()->Compile(folded, {});
    ASSERT_TRUE(executable.ok()) << executable.status() << what;
    auto run = [&](const std::vector<Tensor>& inputs) { return (*executable)->Run(inputs); };
    const auto actual = run(random_.inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << what;
    ASSERT_EQ(referee.FaultOf(*actual, run), "") << "on the CPU, " << what;
  }

  static DefinitionsReferee::Outputs Define(const Graph& graph, const std::vector<Tensor>& inputs,
                                            BetweenOperators values = BetweenOperators::kRounded) {
    auto executable = MakeReferenceBackend(values)->Compile(graph, {});
    if (!executable.ok()) return executable.status();
    return (*executable)->Run(inputs);
  }

  // `actual`, with the elements that the contract leaves open replaced by the expected ones. Rules
  // that reassociate speak of finite numbers (docs/proofs.md). So if any value of the graph is not
  // finite, only floats that are finite on both sides are compared.
  std::vector<Tensor> Comparable(std::vector<Tensor> actual) const {
    if (is_finite_) return actual;
    for (size_t i = 0; i < actual.size(); ++i) {
      const Tensor& expected = (*referee_.expected())[i];
      if (actual[i].type() != expected.type()) continue;
      if (!IsFloat(expected.dtype())) actual[i] = expected;
      std::vector<double> values = actual[i].ToDoubles();
      for (size_t k = 0; k < values.size(); ++k) {
        const double e = expected.AtDouble(static_cast<int64_t>(k));
        if (!std::isfinite(e) || !std::isfinite(values[k])) values[k] = e;
      }
      if (IsFloat(expected.dtype())) actual[i] = *Tensor::FromDoubles(expected.type(), values);
    }
    return actual;
  }

  // Whether source and result are equal if nothing is rounded between operators. Then any other
  // difference is rounding.
  bool IsSameInDouble(const Graph& result, size_t output) const {
    const auto a = Define(random_.graph, random_.inputs, BetweenOperators::kUnrounded);
    const auto b = Define(result, random_.inputs, BetweenOperators::kUnrounded);
    if (!a.ok() || !b.ok()) return false;
    const bool is_narrow = SizeOf((*a)[output].dtype()) < 4;
    return Compare(Comparable(*b)[output], (*a)[output], is_narrow ? 1e-2 : 1e-6).within;
  }

  std::string Input() const {
    return absl::StrCat("seed ", seed_, "\n", PrintGraph(random_.graph));
  }

  const uint64_t seed_;
  Counts& counts_;
  const RandomGraph random_;
  const DefinitionsReferee referee_;
  const bool is_finite_;  // every value that its definitions give
};

TEST(RewrittenGraphs, ComputeWhatTheirInputsDo) {
  const uint64_t first = Seeds().first_seed;
  const int64_t wanted = Seeds().graphs;
  TheRules();
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Counts counts;
  uint64_t seed = first;
  for (; wanted > 0 ? seed < first + static_cast<uint64_t>(wanted) : seconds() < kSeconds; ++seed) {
    RewrittenGraph(seed, &counts).Check();
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%d graphs, %d of finite values alone, %d without values; the optimization of %d took a step "
      "(%d in all), random rewrites "
      "changed %d (%d in all); %d differences that rounding explains\n",
      counts.graphs, counts.finite, counts.without_values, counts.optimized, counts.search_steps,
      counts.walked, counts.walk_steps, counts.rounding);
  EXPECT_GT(counts.graphs, 20);
  EXPECT_GE(2 * counts.optimized, counts.graphs);
  EXPECT_GE(2 * counts.walked, counts.graphs);
  EXPECT_LT(counts.rounding, counts.graphs / 5);
}

}  // namespace
}  // namespace lemma::optimizer
