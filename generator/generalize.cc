#include "generator/generalize.h"

#include <set>
#include <utility>
#include <vector>

#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

constexpr size_t kMostOccurrences = 5;  // of an input, in a graph

// Where the graph reads the input.
std::vector<int*> Occurrences(TermGraph* graph, int value) {
  std::vector<int*> places;
  for (Term& term : graph->ops) {
    for (int& v : term.operands) {
      if (v == value) places.push_back(&v);
    }
  }
  for (int& v : graph->outputs) {
    if (v == value) places.push_back(&v);
  }
  return places;
}

// The pair with the occurrences whose bits are set made another value.
Pair Split(Pair pair, int value, unsigned in_source, unsigned in_target, int other) {
  const std::pair<TermGraph*, unsigned> sides[] = {{&pair.source, in_source},
                                                   {&pair.target, in_target}};
  for (auto [graph, bits] : sides) {
    const std::vector<int*> places = Occurrences(graph, value);
    for (size_t i = 0; i < places.size(); ++i) {
      if (bits >> i & 1) *places[i] = other;
    }
  }
  return pair;
}

}  // namespace

absl::StatusOr<GeneralPair> Generalized(Evaluator* evaluator, const Pair& pair) {
  Pair general = pair;
  std::set<int> values;
  for (const Term& term : pair.source.ops) {
    for (int v : term.operands) {
      if (v < 0) values.insert(v);
    }
  }
  std::vector<int> more_inputs;
  for (int value : values) {
    for (bool again = true; again;) {
      again = false;
      const size_t sources = Occurrences(&general.source, value).size();
      const size_t targets = Occurrences(&general.target, value).size();
      if (sources < 2 || sources > kMostOccurrences || targets > kMostOccurrences) break;
      std::vector<int> more = more_inputs;
      more.push_back(-1 - value);
      const int other = InputValue(evaluator->num_inputs() + static_cast<int>(more_inputs.size()));
      // The first occurrence keeps its name.
      for (unsigned s = 2; s < 1u << sources && !again; s += 2) {
        for (unsigned t = 0; t < 1u << targets && !again; ++t) {
          Pair split = Split(general, value, s, t, other);
          LEMMA_ASSIGN_OR_RETURN(again, evaluator->Confirm(split, more));
          if (again) general = std::move(split);
        }
      }
      if (again) more_inputs = std::move(more);
    }
  }
  return GeneralPair{std::move(general), std::move(more_inputs)};
}

}  // namespace lemma::generator
