#include "runtime/cpu/blocks/separated_regions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/barrier.h"
#include "runtime/plan/group_work.h"

namespace lemma::cpu {
namespace {

// Most operations to recompute, in operations of the region.
constexpr double kMostRecomputed = 0.3;

// The value that the first late nodes wait for; empty if a late node waits for another late node
// through a node outside the region.
Value WaitedFor(const BlockRegions& regions, const BlockRegion& region,
                const absl::flat_hash_set<int>& late) {
  const UseTable& uses = regions.uses();
  absl::flat_hash_set<int> behind, behind_late;  // nodes outside that depend on the region
  Value awaited;
  for (int n = region.nodes.front(); n <= region.nodes.back(); ++n) {
    for (const Value& v : uses.nodes[n]->inputs()) {
      const int from = uses.NodeOf(v.node());
      if (region.Contains(n)) {
        if (behind_late.count(from) > 0) return Value();
        if (behind.count(from) > 0 && !awaited) awaited = v;
        continue;
      }
      if (behind.count(from) > 0 || region.Contains(from)) behind.insert(n);
      if (behind_late.count(from) > 0 || late.count(from) > 0) behind_late.insert(n);
    }
  }
  return awaited;
}

double Operations(const UseTable& uses, const std::vector<int>& nodes) {
  double flops = 0;
  for (const int n : nodes) flops += WorkOfGroup({uses.nodes[n]}).flops;
  return flops;
}

// The node's result for other operands of the same types.
Value Reapplied(const Node& node, std::vector<Value> inputs) {
  return Value(Node::Apply(&node.op(), std::move(inputs), node.attrs(), node.types()), 0);
}

}  // namespace

std::optional<SeparatedRegion> Separated(const BlockRegions& regions, const BlockRegion& region) {
  const UseTable& uses = regions.uses();
  const std::vector<int>& late = region.late;
  const absl::flat_hash_set<int> is_late(late.begin(), late.end());
  const Value after = WaitedFor(regions, region, is_late);
  if (!after) return std::nullopt;

  // Large values that late nodes read; small ones stay in memory.
  std::vector<int> copied;
  absl::flat_hash_set<int> is_copied;
  auto add_operands = [&](int n) {
    for (const Value& v : uses.nodes[n]->inputs()) {
      const int from = uses.NodeOf(v.node());
      if (!region.Contains(from) || is_late.count(from) > 0 || !regions.IsLarge(from)) continue;
      if (is_copied.insert(from).second) copied.push_back(from);
    }
  };
  for (const int n : late) add_operands(n);
  for (size_t next = 0; next < copied.size(); ++next) add_operands(copied[next]);
  if (copied.empty()) return std::nullopt;
  std::sort(copied.begin(), copied.end());
  if (Operations(uses, copied) > kMostRecomputed * Operations(uses, region.nodes)) {
    return std::nullopt;
  }

  SeparatedRegion result;
  ValueMap copies, barriers;
  ValueMap& replacements = result.replacements;
  for (const int n : copied) {
    const Node& node = *uses.nodes[n];
    std::vector<Value> inputs;
    for (const Value& v : node.inputs()) {
      const int from = uses.NodeOf(v.node());
      if (is_copied.count(from) > 0) {
        inputs.push_back(copies.at(v));
      } else if (uses.is_static[from]) {
        inputs.push_back(v);
      } else {
        Value& barrier = barriers[v];
        if (!barrier) {
          barrier = Barrier(v, after);
          result.origin.try_emplace(barrier, regions.ValueOf(n));
        }
        inputs.push_back(barrier);
      }
    }
    const Value v = regions.ValueOf(n), copy = Reapplied(node, std::move(inputs));
    copies[v] = copy;
    result.origin.try_emplace(copy, v);
    result.recomputed.emplace_back(v, copy);
  }
  std::stable_sort(result.recomputed.begin(), result.recomputed.end(),
                   [](const auto& a, const auto& b) {
                     return a.first.type().num_bytes() > b.first.type().num_bytes();
                   });
  for (const int n : late) {
    const Node& node = *uses.nodes[n];
    std::vector<Value> inputs;
    for (const Value& v : node.inputs()) {
      if (auto now = replacements.find(v); now != replacements.end()) {
        inputs.push_back(now->second);
      } else if (auto copy = copies.find(v); copy != copies.end()) {
        inputs.push_back(copy->second);
      } else {
        inputs.push_back(v);
      }
    }
    replacements[regions.ValueOf(n)] = Reapplied(node, std::move(inputs));
  }
  return result;
}

}  // namespace lemma::cpu
