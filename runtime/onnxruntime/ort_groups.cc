#include "runtime/onnxruntime/ort_groups.h"

#include <algorithm>

namespace lemma::ort {
namespace {

struct Group {
  std::vector<int> nodes;  // the last one of the graph first
  bool has_head = false;   // an operator that is not element-wise
};

// Whether the result holds the operand's elements in the same order.
bool Renames(const NodeTraits& traits) {
  if (traits.reshapes) return true;
  if (traits.views.size() != 1 || traits.views[0].permutation.empty()) return false;
  return std::is_sorted(traits.views[0].permutation.begin(), traits.views[0].permutation.end());
}

class Grouper {
 public:
  Grouper(const UseTable& uses, NodeTraitsCache* traits)
      : uses_(uses), traits_(traits), group_of_(uses.nodes.size(), -1) {}

  std::vector<std::vector<int>> Run() {
    for (int i = static_cast<int>(uses_.nodes.size()); i-- > 0;) {
      const Node& node = *uses_.nodes[i];
      if (!node.is_op() || uses_.is_static[i]) continue;
      const NodeTraits& traits = traits_->Of(node);
      if (!traits.defined || Renames(traits)) continue;
      Place(i, traits);
    }
    std::vector<std::vector<int>> result;
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      result.emplace_back(group->nodes.rbegin(), group->nodes.rend());
    }
    return result;
  }

 private:
  // Longer chains are rare, and their parts would hardly occur in other graphs.
  static constexpr size_t kMaxNodes = 24;

  void Place(int i, const NodeTraits& traits) {
    const bool only_moves = !traits.views.empty() || traits.concat_dim.has_value();
    int group = uses_.nodes[i]->num_outputs() == 1 && !only_moves ? ReaderOf(i) : -1;
    if (group >= 0 && !traits.pointwise && groups_[group].has_head) group = -1;
    if (group < 0) {
      group = static_cast<int>(groups_.size());
      // Nothing joins an operator that only moves data.
      groups_.push_back({{}, only_moves});
    }
    groups_[group].nodes.push_back(i);
    groups_[group].has_head = groups_[group].has_head || !traits.pointwise;
    group_of_[i] = group;
  }

  // The group that alone reads node i's result, and that the node may join; -1 if there is none.
  int ReaderOf(int i) const {
    const Value v(uses_.nodes[i], 0);
    if (uses_.IsOutput(v) || uses_.Users(v).empty()) return -1;
    const int group = group_of_[uses_.Users(v).front()];
    if (group < 0 || groups_[group].nodes.size() >= kMaxNodes) return -1;
    for (const int user : uses_.Users(v)) {
      const Node& reader = *uses_.nodes[user];
      if (group_of_[user] != group || !traits_->Of(reader).pointwise) return -1;
      if (reader.type(0).shape != v.shape()) return -1;
    }
    return group;
  }

  const UseTable& uses_;
  NodeTraitsCache* const traits_;
  std::vector<int> group_of_;  // by node
  std::vector<Group> groups_;
};

}  // namespace

std::vector<std::vector<int>> GroupsOf(const UseTable& uses, NodeTraitsCache* traits) {
  return Grouper(uses, traits).Run();
}

}  // namespace lemma::ort
