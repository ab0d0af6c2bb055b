#include "verifier/referee/evidence/interface.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/builder.h"
#include "verifier/referee/evidence/rewire.h"

namespace lemma::referee {
namespace {

// By position of `before`, the position in `after`; empty if the names differ.
std::vector<size_t> ByName(const std::vector<std::string>& before,
                           const std::vector<std::string>& after) {
  if (std::set<std::string>(before.begin(), before.end()) !=
      std::set<std::string>(after.begin(), after.end())) {
    return {};
  }
  std::vector<size_t> order;
  order.reserve(before.size());
  for (const std::string& name : before) {
    order.push_back(
        static_cast<size_t>(std::find(after.begin(), after.end(), name) - after.begin()));
  }
  return order;
}

std::vector<std::string> Missing(const std::vector<std::string>& names,
                                 const std::vector<std::string>& in) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (std::find(in.begin(), in.end(), name) == in.end()) missing.push_back(name);
  }
  return missing;
}

class Matcher {
 public:
  explicit Matcher(MatchedInterface* result) : result_(*result) {}

  // The order of `after`; empty if numbers differ.
  std::vector<size_t> Match(const char* what, const std::vector<std::string>& before,
                            const std::vector<Value>& before_values,
                            const std::vector<std::string>& after,
                            const std::vector<Value>& after_values) {
    std::vector<size_t> order = ByName(before, after);
    if (order.empty() && before.size() != after.size()) {
      std::string line = absl::StrCat(before.size(), " and ", after.size(), " ", what, "s");
      const auto gone = Missing(before, after), fresh = Missing(after, before);
      if (!gone.empty()) absl::StrAppend(&line, "; gone: ", absl::StrJoin(gone, ", "));
      if (!fresh.empty()) absl::StrAppend(&line, "; new: ", absl::StrJoin(fresh, ", "));
      result_.differences.push_back(std::move(line));
      return {};
    }
    if (order.empty()) {
      for (size_t i = 0; i < before.size(); ++i) {
        order.push_back(i);
        auto other = std::find(after.begin(), after.end(), before[i]);
        if (other == after.end() || other == after.begin() + static_cast<std::ptrdiff_t>(i))
          continue;
        result_.differences.push_back(absl::StrCat(what, " ", before[i], " is number ", i,
                                                   " before and number ", other - after.begin(),
                                                   " after, and other names differ"));
      }
      if (!before.empty()) {
        result_.notes.push_back(
            absl::StrCat(what, "s correspond by position: ", absl::StrJoin(before, ", "), " and ",
                         absl::StrJoin(after, ", ")));
      }
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const TensorType &x = before_values[i].type(), &y = after_values[order[i]].type();
      if (x == y) continue;
      result_.differences.push_back(absl::StrCat(what, " ", before[i], " is ", x.ToString(),
                                                 " before and ", y.ToString(), " after"));
    }
    return order;
  }

 private:
  MatchedInterface& result_;
};

// The graph with inputs[i] = its input number inputs[i], and outputs alike.
Graph Reordered(const Graph& graph, const Graph& like, const std::vector<size_t>& inputs,
                const std::vector<size_t>& outputs) {
  GraphBuilder builder(graph.name());
  absl::flat_hash_map<Value, Value> moved;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = graph.inputs()[inputs[i]];
    moved[input] = builder.Input(like.input_names()[i], input.type());
  }
  for (const NodePtr& node : graph.nodes()) {
    const NodePtr now = WithOperands(node, moved);
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(node, o);
      moved.try_emplace(value, Value(now, o));
      const absl::string_view label = graph.LabelOf(value);
      if (!label.empty()) builder.Label(moved.at(value), std::string(label));
    }
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    builder.Output(like.output_names()[o], moved.at(graph.outputs()[outputs[o]]));
  }
  return *std::move(builder).Build();
}

}  // namespace

MatchedInterface MatchInterface(const Graph& before, const Graph& after) {
  MatchedInterface result;
  Matcher matcher(&result);
  const auto inputs = matcher.Match("input", before.input_names(), before.inputs(),
                                    after.input_names(), after.inputs());
  const auto outputs = matcher.Match("output", before.output_names(), before.outputs(),
                                     after.output_names(), after.outputs());
  if (result.differences.empty()) result.after = Reordered(after, before, inputs, outputs);
  return result;
}

}  // namespace lemma::referee
