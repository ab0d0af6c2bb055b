#include "tests/runtime/blocks/blocks_testutil.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "runtime/plan/use_table.h"
#include "runtime/reference/reference.h"

namespace lemma {

Graph Blocked(const Graph& graph, const cpu::BlockOptions& options) {
  return cpu::InBlocks({graph, {}}, options).graph;
}

int64_t LargestValue(const Graph& graph) {
  const UseTable uses(graph);
  int64_t largest = 0;
  for (size_t n = 0; n < uses.nodes.size(); ++n) {
    if (!uses.nodes[n]->is_op() || uses.is_static[n]) continue;
    for (const TensorType& type : uses.nodes[n]->types()) {
      largest = std::max(largest, type.num_bytes());
    }
  }
  return largest;
}

bool IsWithin(double tolerance, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::isfinite(a) && std::isfinite(b) &&
         std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a));
}

void ExpectWithin(double tolerance, Backend& reference, const Graph& graph, const Graph& blocked,
                  const std::vector<Tensor>& inputs) {
  auto whole = (*reference.Compile(graph, {}))->Run(inputs);
  auto parts = (*reference.Compile(blocked, {}))->Run(inputs);
  ASSERT_EQ(whole.ok(), parts.ok()) << whole.status() << parts.status();
  if (!whole.ok()) return;
  for (size_t k = 0; k < whole->size(); ++k) {
    const std::vector<double> a = (*whole)[k].ToDoubles(), b = (*parts)[k].ToDoubles();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(IsWithin(tolerance, a[i], b[i]))
          << "output " << k << ", element " << i << ": " << a[i] << " and " << b[i];
    }
  }
}

void ExpectSame(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs) {
  ExpectWithin(0, *MakeReferenceBackend(), graph, blocked, inputs);
}

void ExpectSameSums(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs) {
  auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded);
  ExpectWithin(0x1p-22, *reference, graph, blocked, inputs);
}

}  // namespace lemma
