// The referee decides whether an optimized model still computes the same as the model from which it
// was made (docs/referee.md).
//
// The referee finds out how the weights of the second graph follow from the weights of the first
// graph. It finds values of both graphs that agree on random inputs, cuts both graphs into regions
// between such values, and proves each region. Names and random inputs only say what to try; they
// prove nothing.
#ifndef LEMMA_VERIFIER_REFEREE_REFEREE_H_
#define LEMMA_VERIFIER_REFEREE_REFEREE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"
#include "verifier/referee/evidence/weight_comparison.h"
#include "verifier/referee/region.h"

namespace lemma::referee {

// Executes a graph without symbolic sizes on the given values of its inputs; returns its outputs.
using Runner =
    std::function<absl::StatusOr<std::vector<Tensor>>(const Graph&, absl::Span<const Tensor>)>;

// One set of values for the inputs of the first graph.
struct Sample {
  std::vector<Tensor> inputs;
  DimValues sizes;  // of the symbolic dimensions of the first graph
  // True for inputs that a user gives, false for random inputs. A difference counts only if it
  // shows on all samples that have the same `sizes` and the same `decides`.
  bool decides = false;
};

struct RefereeOptions {
  ProverOptions prover;  // prover.work limits the steps of each attempt to prove a region
  // Rules that may say how weights were folded (fold_rules.h). They need not be proved.
  std::vector<Substitution> rules;
  Runner run;         // in f32; finds what may be equal
  Runner definition;  // by the operators' definitions, in double; confirms that graphs differ
  // For each output of a graph: the error that rounding explains, relative to its largest element.
  std::function<std::vector<double>(const Graph&)> tolerances;
  // At least one. If there are symbolic dimensions, the first two should have different sizes.
  std::vector<Sample> samples;
  Deadline deadline;
  // Called at the beginning of each stage ("executing both models") and during it, with the number
  // of items done and of all items (0: unknown). May be empty.
  std::function<void(const std::string& stage, int64_t done, int64_t all)> progress;
};

enum class Answer { kProved, kRefuted, kUnknown, kDifferentInterface };
// "proved", "refuted", "unknown", "different_interface".
const char* Name(Answer answer);

// Two values that were proved equal, and the operators that compute them from values that were
// proved equal before.
struct ProvedRegion {
  std::string before, after;  // labels of the values; "" if they have none
  FloatContract contract = FloatContract::kBitExact;
  std::vector<std::string> before_operators, after_operators;
  std::string condition;  // "" or ", wherever both read inside their tensors"
  Value before_value;     // of the first graph, or computed from its values
  Value after_value;      // of RefereeResult::compared
  // The values that the proof takes as given: Region::inputs and Region::constants (region.h).
  std::vector<Cut> cuts;
  // The number of an output, if the equality is used for this output only and not in later proofs;
  // otherwise -1.
  int output = -1;
};

// A weight of the second graph that is computed from weights of the first one.
struct FoldedWeight {
  std::string after;   // its name
  std::string before;  // the weights that it is computed from, by name, and the operators
  bool exact = true;   // the same numbers: copied, reshaped, transposed, …
  double ulps = 0;     // the largest distance from the exact value, in units in the last place
  int64_t elements = 0;
};

// A weight of the second graph that is near a value computed from weights of the first one, but has
// elements that rounding does not explain (CompareWeights in evidence/weight_comparison.h).
struct StrangeWeight {
  std::string after, before;   // as in FoldedWeight
  int64_t outside = 0;         // elements that rounding does not explain
  std::vector<int64_t> index;  // of the first of these elements
  // This element, and the ends of the interval in which it would count as rounding.
  double value = 0, low = 0, high = 0;
};

// Two graphs that differ. Both have one output and the same inputs. If several
// pairs are found, this is the smallest.
struct DifferentPair {
  // The labels of `before_value` and `after_value`. If a value has no label: the label of the
  // nearest value computed from it.
  std::string before_label, after_label;
  Graph before, after;
  std::vector<Tensor> inputs;
  // The largest difference, and what rounding explains. The difference is infinite if the results
  // of `before` and `after` have different types.
  double difference = 0, explained = 0;
  Value before_value, after_value;  // as in ProvedRegion
};

struct Refutation {
  size_t sample = 0;  // number of the sample
  DimValues sizes;    // of the sample
  // If not "": why the second graph is not well-formed at the sizes of the sample, although the
  // first one is. Then nothing below is set.
  std::string failure;
  // The output that differs most. The difference may be small if there is a `pair` that shows more.
  std::string output;
  std::vector<int64_t> index;    // of the element that differs most
  double before = 0, after = 0;  // the elements there
  double explained = 0;          // the difference that rounding explains
  std::optional<DifferentPair> pair;
  // Whether the graphs are proved equal under the assumption that the two sides of the pair are
  // equal. If `places` is more than 1, the assumption includes `places` - 1 other pairs, which
  // differ too or use the same wrong number of an attribute.
  bool only_here = false;
  int places = 1;
  // Whether the pair differs because of RefereeResult::strange_weights.
  bool by_weights = false;
};

// How an output of both graphs compares on a sample.
struct OutputComparison {
  std::string name;
  // The largest difference of two elements; the largest magnitude of an element, at least 1; the
  // difference that rounding explains. All are absolute.
  double difference = 0, scale = 1, explained = 0;
};

// Two values that agree on random inputs, or nearly so, but were not proved equal.
struct OpenRegion {
  std::string before, after;  // labels, as in ProvedRegion
  // The number of operators in the region, both graphs together. 0 if the region was not tried,
  // because it was too large or the time was up.
  int operators = 0;
  std::string reason;
  Value before_value = {}, after_value = {};  // as in ProvedRegion
};

struct RefereeResult {
  Answer answer = Answer::kUnknown;
  FloatContract contract = FloatContract::kRealOnly;  // of the whole, if proved
  std::vector<ProvedRegion> regions;
  std::vector<FoldedWeight> weights;
  std::vector<StrangeWeight> strange_weights;
  std::vector<std::string> interface;  // how the interfaces differ, one line each
  std::vector<std::string> notes;      // such as inputs that correspond by position
  // By output, on the sample where it differs most. Empty if the graphs were not executed.
  std::vector<OutputComparison> outputs;
  std::optional<Refutation> refutation;
  std::vector<OpenRegion> open;  // smallest first; those that were not tried come last
  std::string reason;            // why the answer is kUnknown
  std::string coverage;          // if kProved: the shapes, and conditions
  // Proofs tried: one for each region that equals no earlier region, and one each time that an
  // unproved region is tried again with more steps.
  int proofs = 0;
  int remembered = 0;  // regions for which the answer of an earlier proof was taken
  // The queries, the work and, with ProverOptions::keep_obligations, the log of the proofs of
  // regions, including regions that were not needed in the end.
  Proved evidence;
  // The second graph as it was compared: with the inputs and outputs of the first one, and with
  // formulas in the place of explained weights. Without outputs if the interfaces differ.
  Graph compared;
  // Pairs of a value of `compared` and a value that it is proved equal to, operands first. The
  // second value belongs to the first graph or is computed from values of the first graph. Empty
  // if no proof was tried.
  std::vector<std::pair<Value, Value>> equal;
  // For record_certificate.h, beside `regions`. `relations`: the formulas that replace weights of
  // the second graph. `by_rebuilt_value` leads from a rebuilt value to the value of `compared` that
  // it stands for. The rebuilt value is the result of the same operator, applied to the values that
  // took the places of the operands. A region's proof is about the rebuilt value.
  std::vector<WeightRelation> relations;
  absl::flat_hash_map<Value, Value> by_rebuilt_value;
};

// Decides whether `after` computes the same as `before`. Inputs and outputs correspond by name, or
// by position if names differ. Weights correspond by value. Graphs with symbolic dimensions are
// compared for all sizes in the ranges of these dimensions.
RefereeResult Judge(const Graph& before, const Graph& after, const RefereeOptions& options);

// How far the outputs of both graphs are apart on options.samples[0], relative to what rounding
// explains: the largest over all outputs. Infinite if the graphs have different interfaces or
// cannot be executed.
double OutputDistance(const Graph& before, const Graph& after, const RefereeOptions& options);
// The same for outputs that were compared; infinite if there are none.
double OutputDistance(const std::vector<OutputComparison>& outputs);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_REFEREE_H_
