// Times steps of a search: a graph of 200 operators and a transformer, starter rules and all rules.
#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "rewrite/derivation/random_rewrites.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/matching/rule_index.h"
#include "tests/optimizer/transformer_text.h"
#include "tests/rewrite/proved_rules.h"

namespace lemma {
namespace {

// 50 blocks of convolution, batch norm, relu and residual sum.
Graph Residual() {
  GraphBuilder builder("residual");
  Value x = builder.Input("x", {DType::kF32, {1, 16, 28, 28}});
  for (int block = 0; block < 50; ++block) {
    auto weight = [&](const char* name, Shape shape) {
      return builder.Weight(name + std::to_string(block), TensorType{DType::kF32, shape});
    };
    Value y = *builder.Op("conv2d", {x, weight("f", {16, 16, 3, 3})},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    y = *builder.Op("batch_norm", {y, weight("s", {16}), weight("b", {16}), weight("m", {16}),
                                   weight("v", {16})});
    y = *builder.Op("relu", {y});
    x = *builder.Op("add", {x, y});
    builder.Label(x, "block" + std::to_string(block));
  }
  builder.Output("y", x);
  return *std::move(builder).Build();
}

const RuleSet& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  return *rules;
}

// The starter rules, or those of all files.
const RuleSet& RulesOf(bool all) {
  static const RuleSet* const rules = [] {
    std::vector<Substitution> found = ProvedRules("starter.txt");
    for (const char* file : {"generated_inference", "taso", "taso_2d", "taso_4", "taso_plus",
                             "training", "training_2d", "transformer"}) {
      for (Substitution& rule : ProvedRules(absl::StrCat(file, ".txt"), absl::StrCat(file, "."))) {
        found.push_back(std::move(rule));
      }
    }
    return RuleSet::Create(std::move(found))->release();
  }();
  return all ? *rules : Starter();
}

// Looks for matches of all rules from all nodes of their sources at all operators, as a search does
// around a change. Arguments: all rules instead of the starter rules; through the index (2: no more
// than a walk through it); the graph.
void BM_FindFromAllNodes(benchmark::State& state) {
  const Graph graph = state.range(2) ? *ParseGraph(optimizer::TransformerText({4})) : Residual();
  const MatchIndex view(graph);
  const RuleIndex index(RulesOf(state.range(0)).Rules());
  int64_t matches = 0, tried = 0;
  auto try_at = [&](const PreparedRule& rule, int number, int node) {
    ++tried;
    rule.matcher.ForEachAt(view, number, node, [&](const Binding&) {
      ++matches;
      return true;
    });
  };
  // Without the index, as before there was one: by operator.
  absl::flat_hash_map<const OpDef*, std::vector<RuleIndex::Start>> by_op;
  for (size_t r = 0; r < index.rules().size(); ++r) {
    const auto& nodes = index.rules()[r]->rule().source.nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
      by_op[nodes[n].op].push_back({static_cast<int>(r), static_cast<int>(n)});
    }
  }
  std::vector<RuleIndex::Start> starts;
  for (auto _ : state) {
    matches = tried = 0;
    for (int node = 0; node < view.num_nodes(); ++node) {
      if (!view.Head(node).is_op()) continue;
      if (state.range(1)) {
        index.StartsAt(view, node, &starts);
      } else {
        starts = by_op[&view.Head(node).op()];
      }
      if (state.range(1) == 2) continue;
      for (const auto& s : starts) try_at(*index.rules()[s.rule], s.number, node);
    }
  }
  state.counters["matches"] = static_cast<double>(matches);
  state.counters["tried"] = static_cast<double>(tried);
}
BENCHMARK(BM_FindFromAllNodes)
    ->ArgNames({"all", "index", "transformer"})
    ->ArgsProduct({{0, 1}, {0, 1, 2}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

void BM_MakeIndex(benchmark::State& state) {
  const auto rules = RulesOf(state.range(0)).Rules();
  for (auto _ : state) benchmark::DoNotOptimize(RuleIndex(rules).rules().size());
}
BENCHMARK(BM_MakeIndex)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void BM_Index(benchmark::State& state) {
  Graph graph = Residual();
  for (auto _ : state) benchmark::DoNotOptimize(MatchIndex(graph).num_nodes());
}
BENCHMARK(BM_Index)->Unit(benchmark::kMicrosecond);

void BM_FindAll(benchmark::State& state) {
  Graph graph = Residual();
  MatchIndex index(graph);
  int found = 0;
  for (auto _ : state) {
    found = 0;
    Starter().ForEach(index, [&](const Rewrite&) {
      ++found;
      return true;
    });
  }
  state.counters["matches"] = found;
}
BENCHMARK(BM_FindAll)->Unit(benchmark::kMicrosecond);

// Applies match number state.range(0): the first one rebuilds the whole graph, the last one hardly
// anything.
void BM_Apply(benchmark::State& state) {
  Graph graph = Residual();
  MatchIndex index(graph);
  for (auto _ : state) {
    int number = 0;
    Starter().ForEach(index, [&](const Rewrite& rewrite) {
      if (rewrite.name() != "fold_batch_norm_into_conv" || number++ != state.range(0)) return true;
      benchmark::DoNotOptimize(rewrite.Apply()->num_ops());
      return false;
    });
  }
}
BENCHMARK(BM_Apply)->Arg(0)->Arg(49)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lemma
