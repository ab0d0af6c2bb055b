#include "runtime/plan/run_conditions.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lemma {
namespace {

constexpr size_t kMaxNested = 8;

using Conditions = std::vector<RunCondition>;

bool Same(const RunCondition& a, const RunCondition& b) {
  return a.condition == b.condition && a.holds == b.holds;
}

// Keeps those at the beginning of `a` that `b` begins with, too.
void Intersect(Conditions* a, const Conditions& b) {
  size_t same = 0;
  while (same < std::min(a->size(), b.size()) && Same((*a)[same], b[same])) ++same;
  a->resize(same);
}

}  // namespace

std::vector<Conditions> RunConditions(const UseTable& uses, NodeTraitsCache& traits) {
  return RunConditions(uses, [&](const Node& node) { return traits.Of(node).choice; });
}

std::vector<Conditions> RunConditions(
    const UseTable& uses, absl::FunctionRef<std::optional<Choice>(const Node&)> choice_of) {
  const int count = static_cast<int>(uses.nodes.size());
  std::vector<std::optional<Conditions>> found(count);
  for (int n = count - 1; n >= 0; --n) {
    const Node& node = *uses.nodes[n];
    bool is_output = false;
    for (int k = 0; k < node.num_outputs(); ++k) {
      is_output = is_output || uses.IsOutput(Value(uses.nodes[n], k));
    }
    if (!found[n] || is_output) found[n].emplace();
    // A condition that is computed later cannot be asked.
    size_t known = 0;
    while (known < found[n]->size() && uses.NodeOf((*found[n])[known].condition.node()) < n) {
      ++known;
    }
    found[n]->resize(known);
    if (!node.is_op()) continue;
    const std::optional<Choice> choice = choice_of(node);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      Conditions here = *found[n];
      if (choice && choice->sides[i] != Choice::Side::kBoth && here.size() < kMaxNested) {
        const Value& condition = node.inputs()[choice->condition];
        here.push_back({condition, choice->sides[i] == Choice::Side::kThen});
      }
      std::optional<Conditions>& operand = found[uses.NodeOf(node.inputs()[i].node())];
      if (operand) {
        Intersect(&*operand, here);
      } else {
        operand = std::move(here);
      }
    }
  }
  std::vector<Conditions> result;
  result.reserve(found.size());
  for (std::optional<Conditions>& conditions : found) result.push_back(*std::move(conditions));
  return result;
}

}  // namespace lemma
