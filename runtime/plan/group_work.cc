#include "runtime/plan/group_work.h"

#include "absl/container/flat_hash_set.h"
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
    // A gather reads only the selected part of a table.
    if (nodes.size() == 1) work.bytes_read = counted->bytes_read;
  }
  if (nodes.size() > 1) {
    for (const Value& v : OperandsOf(nodes)) work.bytes_read += v.type().num_bytes();
  }
  absl::flat_hash_set<Value> inner;
  for (const NodePtr& node : nodes) inner.insert(node->inputs().begin(), node->inputs().end());
  for (const NodePtr& node : nodes) {
    for (int k = 0; k < node->num_outputs(); ++k) {
      if (!inner.contains(Value(node, k))) work.bytes_written += node->type(k).num_bytes();
    }
  }
  return work;
}

}  // namespace lemma
