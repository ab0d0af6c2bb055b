#include "runtime/plan/group_work.h"

#include "runtime/plan/compose_nodes.h"

namespace lemma {

Work WorkOfGroup(absl::Span<const NodePtr> nodes) {
  Work work;
  if (nodes.empty()) return work;
  for (const NodePtr& node : nodes) {
    absl::StatusOr<Definition> definition = DefinitionOf(*node);
    if (!definition.ok()) continue;
    absl::StatusOr<Work> counted = CountWork(*definition);
    if (!counted.ok()) continue;
    work.flops += counted->flops;
    // A gather reads no more of a table than it picks.
    if (nodes.size() == 1) work.bytes_read = counted->bytes_read;
  }
  if (nodes.size() > 1) {
    for (const Value& v : OperandsOf(nodes)) work.bytes_read += v.type().num_bytes();
  }
  for (const TensorType& type : nodes.back()->types()) work.bytes_written += type.num_bytes();
  return work;
}

}  // namespace lemma
