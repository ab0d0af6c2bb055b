#include "verifier/referee/other_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "verifier/referee/evidence/weight_comparison.h"

namespace lemma::referee {
namespace {

// By operator and attribute: the numbers, and the nodes that have them.
using Numbers = std::map<std::pair<std::string, std::string>,
                         std::map<double, absl::flat_hash_set<const Node*>>>;

Numbers NumbersOf(const Graph& graph) {
  Numbers numbers;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    for (const auto& [name, attr] : node->attrs()) {
      const double* x = std::get_if<double>(&attr);
      if (x != nullptr && std::isfinite(*x)) {
        numbers[{node->op().name, name}][*x].insert(node.get());
      }
    }
  }
  return numbers;
}

}  // namespace

std::vector<ChangedNumber> OtherNumbers(const Graph& before, const Graph& after) {
  const Numbers of_before = NumbersOf(before);
  std::vector<ChangedNumber> others;
  for (const auto& [attr, numbers] : NumbersOf(after)) {
    const auto known = of_before.find(attr);
    if (known == of_before.end()) continue;
    std::set<double> all, missing;
    for (const auto& [x, nodes] : known->second) {
      all.insert(x);
      if (numbers.count(x) == 0) missing.insert(x);
    }
    const std::set<double>& candidates = missing.empty() ? all : missing;
    for (const auto& [x, users] : numbers) {
      if (all.count(x) > 0) continue;
      const double number = x;
      const double expected = *std::min_element(
          candidates.begin(), candidates.end(),
          [&](double a, double b) { return std::abs(a - number) < std::abs(b - number); });
      if (std::abs(x - expected) <= kMostRelative * std::abs(expected)) continue;
      others.push_back({attr.second, x, expected, users});
    }
  }
  return others;
}

ValueMap WithNumber(const Graph& after, const ChangedNumber& other, double number) {
  ValueMap moved;
  for (const NodePtr& node : after.nodes()) {
    NodePtr now = WithOperands(node, moved);
    if (other.users.contains(node.get())) {
      Attrs attrs = node->attrs();
      attrs[other.attr] = number;
      now = Node::Apply(&node->op(), now->inputs(), std::move(attrs), node->types());
    }
    for (int o = 0; o < node->num_outputs(); ++o) moved[Value(node, o)] = Value(now, o);
  }
  return moved;
}

}  // namespace lemma::referee
