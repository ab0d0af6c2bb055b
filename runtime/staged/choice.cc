#include "runtime/staged/choice.h"

#include <vector>

#include "graph/onnx/run_time/call.h"
#include "graph/op_table.h"

namespace lemma {

std::optional<Choice> ChoiceOf(const Node& node, NodeTraitsCache& traits) {
  if (&node.op() != FindOp("opaque")) return traits.Of(node).choice;
  const std::vector<std::optional<bool>> read = ReadOnlyIf(node);
  if (read.empty()) return std::nullopt;
  Choice choice;
  for (const std::optional<bool>& holds : read) {
    choice.sides.push_back(!holds   ? Choice::Side::kBoth
                           : *holds ? Choice::Side::kThen
                                    : Choice::Side::kElse);
  }
  return choice;
}

}  // namespace lemma
