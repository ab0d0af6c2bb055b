// Composes definitions by substitution: gives the meaning of a graph from its operators'
// definitions.
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

// A small graph of definitions. A Source says where a tensor comes from: an input of the whole
// composition (step == -1), or an output of an earlier step.
struct Source {
  int step = -1;
  int index = 0;
};
struct ComposeStep {
  const Definition* definition = nullptr;
  std::vector<Source> inputs;  // one for each of definition->inputs
};

// One definition over `inputs` for the graph of `steps`, given in topological order. Keeps all
// tensors of all steps; those not in `outputs` become locals. An input or a repeated tensor among
// `outputs` is copied. InvalidArgument if a source does not exist or its rank differs from the
// input that it feeds. The caller checks that sizes agree. *made_by, if given, receives the step
// number of each tensor; each copy has a number of its own.
absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs,
                                 std::vector<int>* made_by = nullptr);

// Replaces reads of locals by the local's body at the read's indices, with fresh variables for its
// reductions, and drops unread locals. `which` chooses the locals by id; default: all. A local that
// is read at two different indices is computed twice. Guards that a substituted constant decides
// disappear.
Definition Inline(const Definition& definition,
                  const std::function<bool(TensorId local)>& which = nullptr);

// `consumer` fed by `producer`: feeds[i] is the producer output that replaces consumer input i, or
// nullopt if the input remains. The result's inputs are the producer's, then the consumer's
// remaining ones; its outputs are the consumer's. Locals are kept; call Inline() to fuse.
absl::StatusOr<Definition> Chain(const Definition& producer, const Definition& consumer,
                                 absl::Span<const std::optional<int>> feeds);

// Replaces the named symbols and parameters by constants; others stay.
Definition Bind(const Definition& definition,
                const absl::flat_hash_map<std::string, int64_t>& symbols,
                const absl::flat_hash_map<std::string, double>& params = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_COMPOSE_H_
