// Composition of definitions by substitution: the meaning of a graph, from its operators'.
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

// A small graph of definitions. A Source is where a tensor comes from: an input of the whole
// composition (step == -1), or an output of an earlier step.
struct Source {
  int step = -1;
  int index = 0;
};
struct ComposeStep {
  const Definition* definition = nullptr;
  std::vector<Source> inputs;  // one for each of definition->inputs
};

// One definition over `inputs` for the graph of `steps`, which come in topological order. All
// tensors of all steps are kept, as locals except for the `outputs` asked for; an input or a
// repeated tensor among `outputs` is copied. InvalidArgument if a source does not exist or has
// another rank than the input it feeds; that sizes agree is the caller's to check.
// *made_by, if given: for each of its tensors the number of its step; copies have one of their own.
absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs,
                                 std::vector<int>* made_by = nullptr);

// Replaces reads of locals by the local's body at the read's indices, with fresh variables for its
// reductions, and drops locals nobody reads. `which` chooses the locals, by id; default: all. A
// local that is read twice is computed twice. Guards decided by a substituted constant disappear.
Definition Inline(const Definition& definition,
                  const std::function<bool(TensorId local)>& which = nullptr);

// `consumer` fed by `producer`: feeds[i] is the producer output that consumer input i is, or
// nullopt where it remains an input. The result's inputs are the producer's, then the consumer's
// remaining ones; its outputs are the consumer's. In Chain form: wrap in Inline() to fuse.
absl::StatusOr<Definition> Chain(const Definition& producer, const Definition& consumer,
                                 absl::Span<const std::optional<int>> feeds);

// Binds symbols and parameters to constants. What is not named stays.
Definition Bind(const Definition& definition,
                const absl::flat_hash_map<std::string, int64_t>& symbols,
                const absl::flat_hash_map<std::string, double>& params = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_COMPOSE_H_
