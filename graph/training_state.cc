#include "graph/training_state.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma {

std::string NextName(absl::string_view name) { return absl::StrCat(name, ".next"); }

namespace {

// The names that the output of input `name` may have, in this order.
std::vector<std::string> NextNames(absl::string_view name) {
  std::vector<std::string> names = {NextName(name)};
  for (const auto& [past, present] :
       {std::make_pair("past_key_values.", "present."), std::make_pair("past_", "present_")}) {
    if (!absl::StartsWith(name, past)) continue;
    names.push_back(absl::StrCat(present, name.substr(absl::string_view(past).size())));
  }
  return names;
}

}  // namespace

std::vector<StatePair> StatePairs(const Graph& graph) {
  absl::flat_hash_map<std::string, int> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    outputs.emplace(graph.output_names()[i], static_cast<int>(i));
  }
  std::vector<StatePair> pairs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    auto it = outputs.end();
    for (const std::string& name : NextNames(graph.input_names()[i])) {
      if (it == outputs.end()) it = outputs.find(name);
    }
    if (it == outputs.end()) continue;
    if (graph.outputs()[it->second].type() != graph.inputs()[i].type()) continue;
    pairs.push_back({static_cast<int>(i), it->second});
  }
  return pairs;
}

}  // namespace lemma
