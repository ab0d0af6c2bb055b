// Draws pairs of random graphs: a graph and a rewrite of it, or a graph and a graph that is nearly
// equal to it.
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

  // A graph that consists of the source of a random rule, at small random sizes, and element-wise
  // functions behind its outputs; nullopt if no such graph was found for the rule that was drawn.
  std::optional<Graph> DrawGraph();
  // The graph after `steps` random rewrites, or after fewer if no further rewrite applies. *done
  // becomes the number of rewrites.
  Graph Rewritten(const Graph& graph, int steps, int* done);
  // The graph with one operator, operand or number replaced, or with two operands exchanged. Inputs
  // and outputs keep their types. nullopt if no such change was found. *what becomes a description
  // of the change, for people.
  std::optional<Graph> Perturbed(const Graph& graph, std::string* what);

 private:
  int Pick(size_t n) { return static_cast<int>(random_() % n); }
  std::string PerturbedLine(const std::string& line, const std::vector<std::string>& values);

  std::unique_ptr<RuleSet> rules_;
  std::mt19937_64 random_;
};

// The elements of each output, evaluated in double, operator by operator. Inputs, and weights
// without values, get random elements. With equal seeds, inputs with the same number and type get
// equal elements, also in different graphs. So do weights with the same name and type.
std::vector<std::vector<double>> EvaluateGraph(const Graph& graph, uint64_t seed);
// Whether some element is finite in both `a` and `b` and differs by more than rounding explains.
bool DifferVisibly(const std::vector<std::vector<double>>& a,
                   const std::vector<std::vector<double>>& b);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_RANDOM_PAIRS_H_
