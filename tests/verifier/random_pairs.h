// Random graphs, what rules make of them, and near misses.
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
  // The rules of a file, in the text form. Equal seeds give equal sequences.
  RandomPairs(const std::string& rules_path, uint64_t seed);

  // A small instance of a random rule's source, with functions of elements behind it; nullopt if
  // the rule has none.
  std::optional<Graph> DrawGraph();
  // The graph after `steps` rewrites, or as many as there are, each chosen at random.
  Graph Rewritten(const Graph& graph, int steps, int* done);
  // The graph with one operator, operand, or attribute exchanged, of the same interface; nullopt if
  // nothing fits. *what says which.
  std::optional<Graph> Perturbed(const Graph& graph, std::string* what);

 private:
  int Pick(size_t n) { return static_cast<int>(random_() % n); }
  std::string PerturbedLine(const std::string& line, const std::vector<std::string>& values);

  std::unique_ptr<RuleSet> rules_;
  std::mt19937_64 random_;
};

// The outputs in double, operator by operator, at random inputs that depend on the seed and on the
// inputs' names and types alone; weights and inputs of one name get equal values.
std::vector<std::vector<double>> EvaluateGraph(const Graph& graph, uint64_t seed);
// Some elements are finite and differ by more than rounding explains.
bool DifferVisibly(const std::vector<std::vector<double>>& a,
                   const std::vector<std::vector<double>>& b);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_RANDOM_PAIRS_H_
