// Finds operators, also opaque ones, that read an operand only under a condition.
#ifndef LEMMA_RUNTIME_STAGED_CHOICE_H_
#define LEMMA_RUNTIME_STAGED_CHOICE_H_

#include <optional>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"

namespace lemma {

// The choice that `node`, an operator, makes between its operands: NodeTraits::choice or, for an
// opaque operator, the choice that ReadOnlyIf (graph/onnx/run_time/call.h) describes. nullopt if
// there is none.
std::optional<Choice> ChoiceOf(const Node& node, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_CHOICE_H_
