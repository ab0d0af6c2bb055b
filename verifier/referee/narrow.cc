#include "verifier/referee/narrow.h"

#include <utility>
#include <vector>

#include "verifier/referee/difference.h"
#include "verifier/referee/evidence/rewire.h"

namespace lemma::referee {
namespace {

constexpr int kMaxTried = 200;  // pairs of values

std::vector<Value> ComputedValues(const Graph& graph) {
  std::vector<Value> values;
  for (const NodePtr& node : graph.nodes()) {
    for (int o = 0; node->is_op() && o < node->num_outputs(); ++o) values.emplace_back(node, o);
  }
  return values;
}

// Both graphs on the inputs of the pair, by `runner`; nullopt if they cannot be executed.
std::optional<TensorDifference> DifferenceBetween(const Graph& a, const Graph& b,
                                                  absl::Span<const Tensor> inputs,
                                                  const Runner& runner) {
  auto x = runner(a, inputs), y = runner(b, inputs);
  if (!x.ok() || !y.ok()) return std::nullopt;
  return DifferenceOf((*x)[0], (*y)[0]);
}

}  // namespace

std::optional<DifferentPair> Narrowed(const DifferentPair& pair, const RefereeOptions& options) {
  const Value whole_before = pair.before.outputs()[0], whole_after = pair.after.outputs()[0];
  int tried = 0;
  // In the order of the graphs, so that the smallest pair comes first.
  for (const Value& w : ComputedValues(pair.after)) {
    for (const Value& u : ComputedValues(pair.before)) {
      if (u.type() != w.type() || (u == whole_before && w == whole_after)) continue;
      if (options.deadline.Passed() || ++tried > kMaxTried) return std::nullopt;
      const Value mended = AfterReplacing(pair.after, {{w, u}}).at(whole_after);
      const auto rest = DifferenceBetween(pair.before, WithValues(pair.after, {mended}),
                                          pair.inputs, options.run);
      const double tolerance =
          options.tolerances(pair.before)[0] + options.tolerances(pair.after)[0];
      if (!rest || rest->largest > tolerance * rest->scale) continue;
      DifferentPair smaller;
      smaller.before = WithValues(pair.before, {u});
      smaller.after = WithValues(pair.after, {w});
      const auto found =
          DifferenceBetween(smaller.before, smaller.after, pair.inputs, options.definition);
      if (!found) continue;
      smaller.difference = found->largest;
      smaller.explained = found->scale * (options.tolerances(smaller.before)[0] +
                                          options.tolerances(smaller.after)[0]);
      if (!(smaller.difference > kFarBeyond * smaller.explained)) continue;
      smaller.inputs = pair.inputs;
      smaller.before_value = u;
      smaller.after_value = w;
      return smaller;
    }
  }
  return std::nullopt;
}

}  // namespace lemma::referee
