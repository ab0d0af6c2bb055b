// Draws random graphs, their rewrites, and graphs that are nearly equal.
#ifndef LEMMA_TESTS_VERIFIER_RANDOM_PAIRS_H_
#define LEMMA_TESTS_VERIFIER_RANDOM_PAIRS_H_

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma {

class RandomPairs {
 public:
  // `rules_path`: a file of rules in the text form. Equal seeds give equal sequences.
  RandomPairs(const std::string& rules_path, uint64_t seed);

  // A small instance of a random rule's source, followed by element-wise functions; nullopt if the
  // rule has none.
  std::optional<Graph> DrawGraph();
  // The graph after `steps` random rewrites, or fewer if no more apply. *done: their number.
  Graph Rewritten(const Graph& graph, int steps, int* done);
  // The graph with one operator, operand or attribute replaced and the same interface; nullopt if
  // nothing fits. *what: the change.
  std::optional<Graph> Perturbed(const Graph& graph, std::string* what);

 private:
  int Pick(size_t n) { return static_cast<int>(random_() % n); }
  std::string PerturbedLine(const std::string& line, const std::vector<std::string>& values);

  std::unique_ptr<RuleSet> rules_;
  std::mt19937_64 random_;
};

// The outputs in double, operator by operator. The random inputs depend only on the seed and on the
// inputs' names and types; weights and inputs of the same name get equal values.
std::vector<std::vector<double>> EvaluateGraph(const Graph& graph, uint64_t seed);
// Whether some elements are finite and differ by more than rounding explains.
bool DifferVisibly(const std::vector<std::vector<double>>& a,
                   const std::vector<std::vector<double>>& b);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_RANDOM_PAIRS_H_
