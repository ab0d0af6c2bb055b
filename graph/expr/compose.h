// Composes the definitions of operators by substitution into one definition of a graph.
#ifndef LEMMA_GRAPH_EXPR_COMPOSE_H_
#define LEMMA_GRAPH_EXPR_COMPOSE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/substitute.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// A step of a composition applies a definition to tensors. A Source says where a tensor comes from:
// input `index` of the whole composition (step == -1), or output `index` of an earlier step.
struct Source {
  int step = -1;
  int index = 0;
};
struct ComposeStep {
  const Definition* definition = nullptr;  // not owned
  std::vector<Source> inputs;              // one for each of definition->inputs
};

// One definition over `inputs` for `steps`, which are in topological order. Tensors that `outputs`
// do not need are dropped; those that are needed, but are not outputs, become locals. An input or a
// repeated tensor among `outputs` is copied. InvalidArgument if a source does not exist, if a step
// has another number of inputs than its definition, or if a source's rank differs from that of the
// input that it feeds. The caller checks that sizes agree. *made_by, if given, receives the step
// number of each tensor in the result; for copies, it is the number of steps.
absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs,
                                 std::vector<int>* made_by = nullptr);

// Replaces each read of a local by the local's body at the indices of the read, with fresh
// variables for its reductions, and drops locals that are no longer read. `which` chooses the
// locals; default: all. A local that is read at two different indices is computed twice. Guards
// that a substituted constant decides disappear.
Definition Inline(const Definition& definition,
                  const std::function<bool(TensorId local)>& which = nullptr);

// `consumer` fed by `producer`: feeds[i] is the producer output that replaces consumer input i, or
// nullopt if the input remains. The result's inputs are the producer's, then the consumer's
// remaining ones; its outputs are the consumer's. Intermediate tensors become locals, which
// Inline() removes. Errors as above.
absl::StatusOr<Definition> Chain(const Definition& producer, const Definition& consumer,
                                 absl::Span<const std::optional<int>> feeds);

// Replaces the named symbols (sizes, integer attributes) and parameters (real attributes) by
// constants; others stay.
Definition Bind(const Definition& definition,
                const absl::flat_hash_map<std::string, int64_t>& symbols,
                const absl::flat_hash_map<std::string, double>& params = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_COMPOSE_H_
