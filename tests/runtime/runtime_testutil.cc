#include "tests/runtime/runtime_testutil.h"

#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/planner.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma {
namespace {

Tensor RandomTensor(const TensorType& type, std::mt19937_64* random) {
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> bit(0, 1);
  std::vector<double> values(type.num_elements());
  for (double& x : values) x = IsFloat(type.dtype) ? real(*random) : bit(*random);
  return *Tensor::FromDoubles(type, values);
}

void ExpectMovesRight(const Graph& graph, const CompileOptions& options, const CpuOptions& cpu) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {options.threads, cpu.fuse_layout});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const auto& check : {cpu::CheckMovement, cpu::CheckConditions}) {
    const absl::Status right = check(*plan);
    EXPECT_TRUE(right.ok()) << right << "\n" << plan->Describe();
  }
}

// The graph, compiled for the CPU and run twice; nullptr if that failed.
std::unique_ptr<Executable> ExpectCpuGives(const Graph& graph, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& expected,
                                           const CompileOptions& options, const CpuOptions& cpu) {
  auto executable = MakeCpuBackend(cpu)->Compile(graph, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return nullptr;
  ExpectMovesRight(graph, options, cpu);
  const std::vector<double> tolerances = RelativeTolerances(graph);
  for (int run = 0; run < 2; ++run) {
    auto actual = (*executable)->Run(inputs);
    EXPECT_TRUE(actual.ok()) << actual.status();
    if (!actual.ok()) return nullptr;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Difference d = Compare((*actual)[i], expected[i], tolerances[i]);
      EXPECT_TRUE(d.within) << "output " << i << " in run " << run << ": " << d.ToString()
                            << ", tolerance " << tolerances[i] << "\n"
                            << (*executable)->Describe();
    }
  }
  return *std::move(executable);
}

}  // namespace

Graph GraphWithWeights(absl::string_view text, uint64_t seed) {
  absl::StatusOr<Graph> parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return Graph();
  std::mt19937_64 random(seed);
  GraphBuilder builder(parsed->name());
  absl::flat_hash_map<Value, Value> now;
  for (size_t i = 0; i < parsed->inputs().size(); ++i) {
    const Value& v = parsed->inputs()[i];
    now[v] = builder.Input(parsed->input_names()[i], v.type());
  }
  for (const NodePtr& node : parsed->nodes()) {
    Value v(node, 0);
    if (node->kind() == Node::Kind::kWeight) {
      Tensor values = node->has_payload() ? node->payload() : RandomTensor(v.type(), &random);
      now[v] = builder.Weight(node->name(), values);
    } else if (node->kind() == Node::Kind::kConstant) {
      now[v] = builder.Constant(node->payload());
    } else if (node->is_op()) {
      std::vector<Value> inputs;
      for (const Value& in : node->inputs()) inputs.push_back(now.at(in));
      auto outputs = builder.Ops(node->op().name, inputs, node->attrs());
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      for (int k = 0; k < node->num_outputs(); ++k) now[Value(node, k)] = (*outputs)[k];
    }
  }
  for (size_t i = 0; i < parsed->outputs().size(); ++i) {
    builder.Output(parsed->output_names()[i], now.at(parsed->outputs()[i]));
  }
  absl::StatusOr<Graph> graph = std::move(builder).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) inputs.push_back(RandomTensor(v.type(), &random));
  return inputs;
}

std::unique_ptr<Executable> ExpectCpuMatchesReference(const Graph& graph,
                                                      const std::vector<Tensor>& inputs,
                                                      int threads) {
  CompileOptions options;
  options.threads = threads;
  auto reference = MakeReferenceBackend()->Compile(graph, options);
  EXPECT_TRUE(reference.ok()) << reference.status();
  if (!reference.ok()) return nullptr;
  auto expected = (*reference)->Run(inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (!expected.ok()) return nullptr;
  ExpectCpuGives(graph, inputs, *expected, options, {/*fuse_layout=*/false});
  return ExpectCpuGives(graph, inputs, *expected, options, {});
}

std::unique_ptr<Executable> ExpectCpuMatchesReference(absl::string_view text) {
  const Graph graph = GraphWithWeights(text);
  return ExpectCpuMatchesReference(graph, RandomInputs(graph));
}

std::string KernelsOf(Executable& executable, const std::vector<Tensor>& inputs) {
  std::vector<KernelTiming> timings;
  auto outputs = executable.RunTimed(inputs, &timings);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::string names;
  for (const KernelTiming& t : timings) absl::StrAppend(&names, names.empty() ? "" : " ", t.kernel);
  return names;
}

std::string CheckedKernelsOf(absl::string_view graph_text) {
  const Graph graph = GraphWithWeights(graph_text);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs);
  return executable == nullptr ? "" : KernelsOf(*executable, inputs);
}

}  // namespace lemma
