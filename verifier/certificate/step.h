// Checks that one step of a certificate is an application of the rule that the step names.
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

// Pairs (value of a graph, value that replaces it).
using Replacements = std::vector<std::pair<Value, Value>>;

// The effect of a step on a graph.
struct Replaced {
  std::vector<Value> vars;       // by variable of the rule: its value
  std::vector<Value> constants;  // by constant of the rule's source: the value that it matches
  Replacements outputs;          // by output of the rule: the matched value, and the target's value
};

// The value at `ref`; InvalidArgument if the graph has no such value.
absl::StatusOr<Value> Resolve(const Graph& graph, const ValueAt& ref);

// Checks that `step` applies `rule` to `graph`. An error, which says why, unless
//   * the values of symbols have the kinds that the rule states, and the values
//     of variables have the types that the rule states;
//   * step.dtype, the rule's common type, is a float type or, if the rule is bit_exact, any type
//     that is not a small float (IsSmallFloat in graph/dtype.h); if the rule does not use it, f32;
//   * the graph contains the source, with the step's values of symbols and
//     variables, at the nodes that the step names; only the first two operands
//     of a commutative operator may be exchanged;
//   * the values of the rule's weights are finite (verifier/certificate/finite.h);
//   * the graph has exactly the constants that the source has. The constants of the target, and
//     those real attributes that the rule computes (rather than copies from a symbol), may differ
//     from the rule's exact numbers by one rounding (rewrite/rules/held_numbers.h);
//   * every variable and constant has at least one element, the guard holds, and a form of the
//     proof covers the values of the symbols;
//   * the target is well-formed, and its outputs have the types of the source's outputs;
//   * no variable depends on an output of the source.
// `coverage` must be the coverage of `rule`. `coverage` and `weights` are changed: they remember
// answers between calls.
absl::StatusOr<Replaced> CheckMatch(const Substitution& rule, const CertificateStep& step,
                                    const Graph& graph, Coverage* coverage, FiniteWeights* weights);

// The outputs of `side`, a side of `rule`, computed from `vars`, the values of the variables. The
// rule must have no symbols. FailedPrecondition if the side is not well-formed.
absl::StatusOr<std::vector<Value>> Applied(const Substitution& rule, const Pattern& side,
                                           std::vector<Value> vars);

// The graph in which the second value of each pair takes the place of the first
// in all uses. The nodes that compute the second values stay as they are. Both
// values of a pair must have the same type. Names stay. Labels stay too, but
// the label of a replaced value goes to its replacement: the export finds the
// nodes of the imported model by their labels.
absl::StatusOr<Graph> Replace(const Graph& graph, const Replacements& replacements);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_STEP_H_
