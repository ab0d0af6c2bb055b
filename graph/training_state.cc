#include "graph/training_state.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace lemma {

std::string NextName(absl::string_view name) { return absl::StrCat(name, ".next"); }

std::vector<StatePair> StatePairs(const Graph& graph) {
  absl::flat_hash_map<std::string, int> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    outputs.emplace(graph.output_names()[i], static_cast<int>(i));
  }
  std::vector<StatePair> pairs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    auto it = outputs.find(NextName(graph.input_names()[i]));
    if (it == outputs.end()) continue;
    if (graph.outputs()[it->second].type() != graph.inputs()[i].type()) continue;
    pairs.push_back({static_cast<int>(i), it->second});
  }
  return pairs;
}

}  // namespace lemma
