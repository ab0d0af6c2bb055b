// Times a step of a search: a graph of 200 operators, all starter rules.
#include <benchmark/benchmark.h>

#include "graph/builder.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/rewrite_source.h"

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
