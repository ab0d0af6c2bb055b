// Turns the claim that two graphs are equal, at the shapes that they have, into a statement. Proves
// the statement, or refutes it (graph_refuter.cc). Internal to the verifier.
#ifndef LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_
#define LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "verifier/prover/prover.h"

namespace lemma::prover {

struct GraphClaim {
  Statement statement;
  // By input of the statement: its values, if it is a constant or a weight whose values matter.
  std::vector<std::optional<Tensor>> known;
  // Names of the inputs that are weights with values, but stand for any values.
  std::vector<std::string> generalized;
  // Whether some constants look rounded, so that graphs whose results differ by little may be meant
  // to be equal.
  bool rounded = false;
  // The number of definitions that both sides are composed of: operators, and constants that are
  // written as formulas.
  int operators = 0;
};

// For which values of a weight the claim is made, if the weight has the same name, type and values
// in both graphs. Any other weight has its stored values. A weight for which a graph stores no
// values may have any values.
enum class EqualWeights { kAnyValues, kStoredValues };

// The claim that `a` and `b` compute the same outputs. With `cut`, floating-point values that both
// graphs compute become inputs, which may have any values. An error if an operator of only one
// graph has no definition, or if the definitions cannot be composed. Unimplemented if a graph has
// floats of 8 or 4 bits.
absl::StatusOr<GraphClaim> MakeClaim(const Graph& a, const Graph& b, bool cut,
                                     EqualWeights weights = EqualWeights::kAnyValues);

// Tries to prove the claim; never answers Refuted. Proved::coverage lacks its beginning: the caller
// puts the shapes of the graph's inputs before it.
Verdict ProveClaim(const GraphClaim& claim, const ProverOptions& options);

// Searches for inputs at which the sides differ: in the field, and in double by more than rounding
// explains. The difference in double must persist in f32 and after a small change of the inputs.
// nullopt if no such inputs are found. Tries options.samples inputs, or fewer (but at least one) if
// the evaluations of both sides would take more than about 2 * 10^9 operations.
std::optional<Refuted> RefuteGraphs(const GraphClaim& claim, const ProverOptions& options);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_
