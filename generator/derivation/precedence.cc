#include "generator/derivation/precedence.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "generator/sets/terms.h"

namespace lemma::generator {
namespace {

using Counts = std::vector<std::vector<int>>;

void CountOps(const NumberedGraph& graph, int value, std::vector<int>* counts) {
  if (value < 0) return;
  const NumberedOp& term = graph.ops[value / kMostOutputs];
  ++(*counts)[term.variant];
  for (int v : term.operands) CountOps(graph, v, counts);
}

// Calls visit(f, g, ways) if the pair says f(g(x), y) = g(f(x, y)), in `ways` operands of f, or if
// it says that g may be applied to either operand of f.
template <class Visit>
void ForEachExchange(const OperatorSet& set, const NumberedGraph* const graphs[2],
                     const int outputs[2], const Visit& visit) {
  int root[2], inner[2];
  for (int s = 0; s < 2; ++s) {
    if (outputs[s] < 0 || graphs[s]->ops.size() != 2) return;
    root[s] = graphs[s]->ops[1].variant;
    inner[s] = graphs[s]->ops[0].variant;
    if (outputs[s] / kMostOutputs != 1 || root[s] == inner[s]) return;
  }
  for (int s = 0; s < 2; ++s) {
    const int f = root[s], g = inner[s];
    if (root[1 - s] == g && inner[1 - s] == f) {
      visit(f, g, set.variants()[f].commutative ? 2 : 1);
    } else if (s == 0 && root[1] == f && inner[1] == g) {
      visit(f, g, 1);
    }
  }
}

// An output on one side of a pair.
struct Side {
  const NumberedGraph* graph;
  int value;
  std::vector<int> counts;  // of variants
  int size = 0;

  Side(const NumberedGraph& of, int output, int num_variants)
      : graph(&of), value(output), counts(num_variants, 0) {
    CountOps(of, output, &counts);
    size = std::accumulate(counts.begin(), counts.end(), 0);
  }
  int root() const { return graph->ops[value / kMostOutputs].variant; }
  bool IsLinear() const {
    std::vector<int> inputs;
    CountInputs(*graph, value, &inputs);
    return std::all_of(inputs.begin(), inputs.end(), [](int count) { return count <= 1; });
  }
};

// votes[f][g]: the number of reasons for f before g.
void Vote(const Side& small, const Side& large, Counts* votes) {
  if (small.value < 0 || !small.IsLinear()) return;
  const int f = small.root(), g = large.root();
  if (small.size == 1 && large.counts[f] == 0) {
    for (size_t i = 0; i < large.counts.size(); ++i) {
      if (large.counts[i] > 0) ++(*votes)[f][i];
    }
  } else if (f != g && large.counts[f] > 0 && small.counts[g] > 0) {
    ++(*votes)[f][g];
  }
}

Counts VotesOf(const OperatorSet& set, const std::vector<const Pair*>& pairs) {
  const int n = static_cast<int>(set.variants().size());
  Counts votes(n, std::vector<int>(n, 0)), exchanges = votes;
  for (const Pair* pair : pairs) {
    for (size_t o = 0; o < pair->source.outputs.size(); ++o) {
      const Side source(pair->source, pair->source.outputs[o], n);
      const Side target(pair->target, pair->target.outputs[o], n);
      if (source.size == target.size) {
        const NumberedGraph* const graphs[] = {source.graph, target.graph};
        const int outputs[] = {source.value, target.value};
        ForEachExchange(set, graphs, outputs,
                        [&](int f, int g, int ways) { exchanges[f][g] += ways; });
      } else {
        const bool down = source.size > target.size;
        Vote(down ? target : source, down ? source : target, &votes);
      }
    }
  }
  for (int f = 0; f < n; ++f) {
    for (int g = 0; g < n; ++g) {
      if (votes[f][g] == 0 && votes[g][f] == 0) votes[f][g] += exchanges[f][g] > exchanges[g][f];
    }
  }
  return votes;
}

}  // namespace

std::vector<int> PrecedenceOf(const OperatorSet& set, const std::vector<const Pair*>& pairs) {
  const int n = static_cast<int>(set.variants().size());
  const Counts votes = VotesOf(set, pairs);
  // Repeatedly picks the variant that wins against the remaining ones.
  std::vector<int> precedence(n, 0);
  std::vector<bool> placed(n, false);
  for (int place = n; place-- > 0;) {
    int best = -1;
    std::array<int, 4> best_score = {};
    for (int i = 0; i < n; ++i) {
      if (placed[i]) continue;
      int won = 0, lost = 0;
      for (int j = 0; j < n; ++j) {
        if (placed[j] || i == j) continue;
        won += votes[i][j] > votes[j][i];
        lost += votes[j][i] > votes[i][j];
      }
      const std::array<int, 4> score = {set.variants()[i].num_operands > 0, -lost, won, -i};
      if (best < 0 || score > best_score) {
        best = i;
        best_score = score;
      }
    }
    placed[best] = true;
    precedence[best] = place;
  }
  return precedence;
}

}  // namespace lemma::generator
