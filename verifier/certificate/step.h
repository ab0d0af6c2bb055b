// Checks one step of a certificate: is it an application of its rule?
#ifndef LEMMA_VERIFIER_CERTIFICATE_STEP_H_
#define LEMMA_VERIFIER_CERTIFICATE_STEP_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/coverage.h"
#include "rewrite/rules/substitution.h"
#include "verifier/certificate/finite.h"

namespace lemma::certificate {

using Replacements = std::vector<std::pair<Value, Value>>;

// The effect of a step on a graph.
struct Replaced {
  std::vector<Value> vars;       // by variable of the rule
  std::vector<Value> constants;  // values matched by constants of the source
  Replacements outputs;          // the source's outputs and the target's that replace them
};

// The value at `ref`; InvalidArgument if the graph has none.
absl::StatusOr<Value> Resolve(const Graph& graph, const ValueAt& ref);

// FailedPrecondition, which says why, unless
//   * the source, at the step's symbols and variables, is in the graph exactly where the step says,
//     up to the order of a commutative operator's operands;
//   * the rule's weights are finite (verifier/certificate/finite.h);
//   * constants of the source are in the graph exactly; constants of the target, and real
//     attributes that are computed or written in the rule, are rounded once at most
//     (rewrite/rules/held_numbers.h);
//   * no operand is empty, the guard holds, and a form of the proof covers the symbols;
//   * the target is well-formed and has the source's types;
//   * no variable depends on an output of the source.
absl::StatusOr<Replaced> CheckMatch(const Substitution& rule, const CertificateStep& step,
                                    const Graph& graph, Coverage* coverage, FiniteWeights* weights);

// The outputs of one side of a rule without symbols, for these values of its variables.
// FailedPrecondition if the side is not well-formed.
absl::StatusOr<std::vector<Value>> Applied(const Substitution& rule, const Pattern& side,
                                           std::vector<Value> vars);

// The graph with the first value of each pair replaced by the second one in all its uses. The nodes
// that compute the second values stay as they are. Types must agree. Keeps names of inputs and
// outputs, drops labels.
absl::StatusOr<Graph> Replace(const Graph& graph, const Replacements& replacements);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_STEP_H_
