// Operators that read an operand only under a condition, opaque operators included.
#ifndef LEMMA_RUNTIME_STAGED_CHOICE_H_
#define LEMMA_RUNTIME_STAGED_CHOICE_H_

#include <optional>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"

namespace lemma {

// What the node, an operator, reads only under a condition: as NodeTraits::choice says or, for an
// opaque operator, as ReadOnlyIf (graph/onnx/run_time/call.h) says.
std::optional<Choice> ChoiceOf(const Node& node, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_CHOICE_H_
