#include "graph/training_state.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma {

std::string NextName(absl::string_view name) { return absl::StrCat(name, ".next"); }

namespace {

constexpr size_t kNamings = 3;

// The name that the output of input `name` has in the `kind`-th way to name it; "" if there is
// none.
std::string NextNameOf(absl::string_view name, size_t kind) {
  if (kind == 0) return NextName(name);
  const auto [past, present] = kind == 1 ? std::make_pair("past_key_values.", "present.")
                                         : std::make_pair("past_", "present_");
  if (!absl::StartsWith(name, past)) return "";
  return absl::StrCat(present, name.substr(absl::string_view(past).size()));
}

}  // namespace

std::vector<StatePair> StatePairs(const Graph& graph) {
  absl::flat_hash_map<std::string, int> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    outputs.emplace(graph.output_names()[i], static_cast<int>(i));
  }
  std::vector<int> next(graph.inputs().size(), -1);
  // An output is the new value of one input only; the first kind of name goes first.
  for (size_t kind = 0; kind < kNamings; ++kind) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string name = NextNameOf(graph.input_names()[i], kind);
      const auto it = name.empty() || next[i] >= 0 ? outputs.end() : outputs.find(name);
      if (it == outputs.end()) continue;
      if (graph.outputs()[it->second].type() != graph.inputs()[i].type()) continue;
      next[i] = it->second;
      outputs.erase(it);
    }
  }
  std::vector<StatePair> pairs;
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i] >= 0) pairs.push_back({static_cast<int>(i), next[i]});
  }
  return pairs;
}

}  // namespace lemma
