#include "runtime/cuda/fusion/fusion.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/barrier.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/cuda/fusion/byte_factors.h"
#include "runtime/cuda/fusion/read_traits.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/cuda/fusion/streamed_regions.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cuda {
namespace {

constexpr size_t kMostNodes = 32;  // of a group that takes in others

// Whether the output reads its input in the same order: output element i is input element i, in
// row-major order.
bool KeepsOrder(const Node& node, const NodeTraits& traits) {
  if (node.num_outputs() != 1 || node.inputs().empty() ||
      node.type(0).dtype != node.inputs()[0].dtype() ||
      node.type(0).num_elements() != node.inputs()[0].type().num_elements()) {
    return false;
  }
  if (!traits.views.empty() && !traits.views[0].permutation.empty()) {
    const std::vector<int>& p = traits.views[0].permutation;
    return std::is_sorted(p.begin(), p.end());
  }
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  return definition.ok() && codegen::KeepsOrder(*definition);
}

class Fuser {
 public:
  Fuser(const UseTable& uses, NodeTraitsCache& traits, const std::vector<bool>& byte_factors,
        const codegen::GridOptions& options)
      : uses_(uses),
        node_traits_(traits),
        byte_factors_(byte_factors),
        options_(options),
        reads_narrow_(options.precision != codegen::ProductPrecision::kF32),
        keeps_rounded_(options.precision == codegen::ProductPrecision::kStored) {
    const size_t n = uses.nodes.size();
    result_.group_of.assign(n, -1);
    result_.is_alias.assign(n, false);
    result_.is_transfer.assign(n, false);
    plain_to_root_.assign(n, false);
    at_loads_.assign(n, false);
    below_factors_.assign(n, false);
    rounded_.assign(n, false);
    copied_to_.assign(n, {});
  }

  Fusion Run() {
    FindTransfers();
    FindRegions();
    for (int i = static_cast<int>(uses_.nodes.size()); i-- > 0;) {
      const Node& node = *uses_.nodes[i];
      if (!node.is_op() || result_.group_of[i] >= 0) continue;
      if (byte_factors_[i] && CopyToUsers(i)) continue;
      if (IsRoundedFactor(i) && CopyToUsers(i)) {
        rounded_[i] = true;
        continue;
      }
      if (uses_.is_static[i]) continue;
      if (result_.is_transfer[i]) {
        Open(i);
      } else if (!regions_[i].empty()) {
        AddRegion(i);
      } else if (IsReadNarrow(i)) {
        result_.is_alias[i] = true;
      } else if (auto group = JoinedGroup(i)) {
        result_.groups[*group].push_back(i);
        result_.group_of[i] = *group;
        plain_to_root_[i] = IsPlainToRoot(i);
        at_loads_[i] = IsReadAtLoads(i);
        below_factors_[i] = IsBelowFactors(i);
      } else if (IsWidenedForSeveral(i) || KeepsOrder(node, node_traits_.Of(node))) {
        result_.is_alias[i] = true;
      } else {
        Open(i);
      }
    }
    for (std::vector<int>& group : result_.groups) std::sort(group.begin(), group.end());
    return std::move(result_);
  }

 private:
  void Open(int i) {
    result_.group_of[i] = static_cast<int>(result_.groups.size());
    result_.groups.push_back({i});
    plain_to_root_[i] = true;
  }

  // The groups that node i is in.
  std::vector<int> GroupsOf(int i) const {
    std::vector<int> groups = copied_to_[i];
    if (result_.group_of[i] >= 0) groups.push_back(result_.group_of[i]);
    return groups;
  }

  // Whether node i rounds a factor of a product to TF32. In memory, nothing would tell that the
  // numbers are TF32 numbers.
  bool IsRoundedFactor(int i) {
    if (!keeps_rounded_ || !RoundsToTf32(*uses_.nodes[i])) return false;
    const std::vector<int>& users = uses_.Users(Value(uses_.nodes[i], 0));
    return std::any_of(users.begin(), users.end(), [&](int user) { return IsProduct(user); });
  }

  // Adds node i, a factor of products of bytes, to the groups of its users, where its kernels
  // compute it again: from memory they read bytes only. If other users of a zero point cannot, it
  // is also stored for them. The same for a factor that is rounded to TF32. False, and no change,
  // if a product's group cannot take it, or if only static nodes use it.
  bool CopyToUsers(int i) {
    const Value v(uses_.nodes[i], 0);
    std::vector<int> groups;
    bool stored = uses_.IsOutput(v);
    for (int user : uses_.Users(v)) {
      const std::vector<int> of = GroupsOf(user);
      if (of.empty() && uses_.is_static[user]) continue;  // computed once
      const bool for_product =
          byte_factors_[user] || IsByteProduct(user) || (!byte_factors_[i] && IsProduct(user));
      const bool copied =
          !of.empty() && !result_.is_transfer[user] &&
          std::all_of(of.begin(), of.end(), [&](int g) { return Takes(g, i, for_product); });
      if (copied) {
        groups.insert(groups.end(), of.begin(), of.end());
      } else if (for_product) {
        return false;
      } else {
        stored = true;
      }
    }
    if (groups.empty()) return false;
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (int group : groups) result_.groups[group].push_back(i);
    at_loads_[i] = IsReadAtLoads(i);
    if (groups.size() == 1 && !stored) {
      result_.group_of[i] = groups[0];
      return true;
    }
    copied_to_[i] = std::move(groups);
    if (stored && !uses_.is_static[i]) Open(i);
    return true;
  }

  // Whether the group can compute node i, a factor of bytes, again. A product has few factors, so
  // the group takes all of its own.
  bool Takes(int group, int i, bool for_product) {
    return !closed_.contains(group) && (for_product || result_.groups[group].size() < kMostNodes) &&
           KeepsValues(i, group) && Fits(i, group);
  }

  // Finds the regions that become streamed kernels.
  void FindRegions() {
    regions_.assign(uses_.nodes.size(), {});
    std::vector<bool> taken = result_.is_transfer;
    for (int i = static_cast<int>(uses_.nodes.size()); i-- > 0;) {
      if (!uses_.nodes[i]->is_op() || uses_.is_static[i] || taken[i]) continue;
      const StreamedRegion region = FindStreamedRegion(
          i, uses_, node_traits_, [this](int n) { return IsProduct(n); }, options_);
      const std::vector<int>& nodes = region.nodes;
      if (nodes.empty() || GainOfStreaming(region.size, options_) <= 0 ||
          std::any_of(nodes.begin(), nodes.end(), [&](int n) { return taken[n]; })) {
        continue;
      }
      for (int n : nodes) taken[n] = true;
      regions_[i] = nodes;
    }
  }

  // Makes the region of node i, its last one, a group, or part of the group of its users.
  void AddRegion(int i) {
    const std::vector<int>& region = regions_[i];
    std::optional<int> group = GroupBehindRegion(i);
    if (!group) {
      group = static_cast<int>(result_.groups.size());
      result_.groups.emplace_back();
    }
    for (int n : region) {
      result_.groups[*group].push_back(n);
      result_.group_of[n] = *group;
    }
    closed_.insert(*group);
  }

  // The group of the users of node i, the last one of a region, if it can compute them from the
  // sums: element by element, perhaps in another layout.
  std::optional<int> GroupBehindRegion(int i) {
    const Value v(uses_.nodes[i], 0);
    const std::vector<int>& users = uses_.Users(v);
    if (uses_.IsOutput(v) || users.empty()) return std::nullopt;
    const int group = result_.group_of[users[0]];
    if (group < 0 || closed_.contains(group)) return std::nullopt;
    for (int user : users) {
      if (result_.group_of[user] != group || result_.is_transfer[user]) return std::nullopt;
    }
    std::vector<int> whole = regions_[i];
    for (int member : result_.groups[group]) {
      if (Of(member).reduces || uses_.nodes[member]->num_outputs() != 1 ||
          Elements(member) != Elements(i)) {
        return std::nullopt;
      }
      whole.push_back(member);
    }
    std::sort(whole.begin(), whole.end());
    if (!KeepsValues(i, group) || !IsStreamed(whole, uses_, options_)) return std::nullopt;
    return group;
  }

  // Whether node i's memory, its own or that of an alias, leaves the kernels: as an output, or by a
  // copy. Then it must have the value's type.
  bool IsReadOutside(int i) const {
    const Value v(uses_.nodes[i], 0);
    const std::vector<int>& users = uses_.Users(v);
    return uses_.IsOutput(v) || std::any_of(users.begin(), users.end(), [&](int user) {
             return result_.is_transfer[user] || (result_.is_alias[user] && IsReadOutside(user));
           });
  }

  // Whether node i widens a value that is stored in 16 bits anyway.
  bool IsReadNarrow(int i) const {
    const Node& node = *uses_.nodes[i];
    if (!reads_narrow_ || !IsWidening(node) || IsReadOutside(i)) return false;
    const Node& operand = node.inputs()[0].node();
    return !operand.is_op() || IsNarrowing(operand) || uses_.is_static[uses_.NodeOf(operand)];
  }

  // Whether node i widens a value for kernels that read it as it was before. A region of which it
  // is an operand counts on that.
  bool IsWidenedForSeveral(int i) const {
    return reads_narrow_ && IsWidening(*uses_.nodes[i]) && !IsReadOutside(i);
  }

  void FindTransfers() {
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      const NodePtr& node = uses_.nodes[i];
      if (!IsOffload(*node) || uses_.is_static[i] || node->type(0).num_bytes() == 0) continue;
      const Value v(node, 0);
      const std::vector<int>& users = uses_.Users(v);
      const bool offloaded =
          !uses_.IsOutput(v) && !users.empty() &&
          std::all_of(users.begin(), users.end(), [&](int u) {
            const Node& user = *uses_.nodes[u];
            return IsBarrier(user) && user.inputs()[0] == v && user.inputs()[1] != v;
          });
      if (!offloaded) continue;
      result_.is_transfer[i] = true;
      for (int user : users) result_.is_transfer[user] = true;
    }
  }

  const ReadTraits& Of(int i) {
    const Node& node = *uses_.nodes[i];
    const uint64_t key = HashApplication(node);
    auto it = traits_.find(key);
    if (it != traits_.end()) return it->second;
    absl::StatusOr<Definition> definition = DefinitionOf(node);
    return traits_[key] = definition.ok() ? ReadTraitsOf(*definition) : ReadTraits();
  }

  // Whether the group's members compute with node i's result as if it were stored.
  bool KeepsValues(int i, int group) {
    Domain domain = node_traits_.Of(*uses_.nodes[i]).domain;
    const bool real = domain == Domain::kReals;
    for (int member : result_.groups[group]) {
      const Node& user = *uses_.nodes[member];
      const NodeTraits& traits = node_traits_.Of(user);
      const std::optional<Domain> common = Common(domain, traits.domain);
      if (!common) return false;
      domain = *common;
      for (size_t k = 0; k < user.inputs().size(); ++k) {
        // Indices are computed in integers.
        if (real && traits.is_index[k] && &user.inputs()[k].node() == uses_.nodes[i].get()) {
          return false;
        }
      }
    }
    return true;
  }

  // How often node `user` reads an element of node i's value, on average.
  double ReadsOfElement(int i, int user) {
    const Node& node = *uses_.nodes[user];
    double reads = 0;
    for (size_t operand = 0; operand < node.inputs().size(); ++operand) {
      if (&node.inputs()[operand].node() == uses_.nodes[i].get()) reads += Of(user).reads[operand];
    }
    return reads / static_cast<double>(std::max<int64_t>(Elements(i), 1));
  }

  int64_t Elements(int i) const { return uses_.nodes[i]->type(0).num_elements(); }

  std::optional<int> JoinedGroup(int i) {
    const Node& node = *uses_.nodes[i];
    if (node.num_outputs() != 1) return std::nullopt;
    const Value v(uses_.nodes[i], 0);
    const std::vector<int>& users = uses_.Users(v);
    if (uses_.IsOutput(v) || users.empty()) return std::nullopt;
    int group = -1;
    for (int user : users) {
      const int g = result_.group_of[user];
      if (g < 0 || result_.is_transfer[user] || !copied_to_[user].empty()) return std::nullopt;
      if (group >= 0 && g != group) return std::nullopt;
      group = g;
    }
    if (closed_.contains(group)) return std::nullopt;
    if (IsReadAtLoads(i) && !ChecksAsResult(i)) return std::nullopt;
    // Rounding a factor for every read of it would cost more than to store it. On tensor cores, the
    // copy engine moves stored factors of 16 bits only.
    const bool narrow = v.dtype() == DType::kF16 || v.dtype() == DType::kBF16;
    const bool computed = reads_narrow_ && narrow && Of(i).functions > 0 && !IsPlainToRoot(i);
    if ((IsNarrowing(node) || computed) && HasProduct(group)) return std::nullopt;
    // Like a factor itself, what is rounded to TF32 would be computed for every read.
    if (keeps_rounded_ && Of(i).functions > 0 && IsBelowFactors(i)) return std::nullopt;
    if (result_.groups[group].size() >= kMostNodes || !KeepsValues(i, group)) return std::nullopt;
    const bool joins = Of(i).reduces ? IsEpilogueOf(i, users) || IsRowWith(i, group)
                                     : IsCheapFor(i, users) && !IsBetterBehindProduct(i, group);
    if (!joins || !Fits(i, group) || !KeepsByteProducts(i, group)) return std::nullopt;
    return group;
  }

  // Whether node i multiplies bytes: all other users of factors are factors, except for those of
  // zero points.
  bool IsByteProduct(int i) const {
    const std::vector<Value>& in = uses_.nodes[i]->inputs();
    return !byte_factors_[i] && std::any_of(in.begin(), in.end(), [&](const Value& v) {
      return byte_factors_[uses_.NodeOf(v.node())] && v.type().num_elements() > 1;
    });
  }

  // Whether node i computes what the factors of bytes, or those rounded to TF32, in its group read.
  bool IsBelowFactors(int i) const {
    const std::vector<int>& users = uses_.Users(Value(uses_.nodes[i], 0));
    return std::any_of(users.begin(), users.end(), [&](int user) {
      return byte_factors_[user] || rounded_[user] || below_factors_[user];
    });
  }

  // The nodes and all factors of bytes that they read, directly or through others.
  std::vector<int> WithFactors(std::vector<int> members) const {
    for (size_t k = 0; k < members.size(); ++k) {
      for (const Value& v : uses_.nodes[members[k]]->inputs()) {
        const int operand = uses_.NodeOf(v.node());
        if (byte_factors_[operand] &&
            std::find(members.begin(), members.end(), operand) == members.end()) {
          members.push_back(operand);
        }
      }
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  // Whether node i leaves a product of bytes in the group as it is. False if the group would
  // compute factors of f32 in f64, where they count as rounded, and if node i computes the bytes:
  // then the kernel reads none, and would compute them for every read. What moves bytes may join.
  bool KeepsByteProducts(int i, int group) const {
    std::vector<int> members = result_.groups[group];
    members.push_back(i);
    if (std::none_of(members.begin(), members.end(), [&](int m) { return IsByteProduct(m); })) {
      return true;
    }
    if (ArithmeticOf(NodesOf(members)) == Arithmetic::kDouble) return false;
    return !IsBelowFactors(i) || MultipliesBytes(NodesOf(WithFactors(members)), options_);
  }

  std::vector<NodePtr> NodesOf(const std::vector<int>& members) const {
    std::vector<NodePtr> nodes;
    nodes.reserve(members.size());
    for (int member : members) nodes.push_back(uses_.nodes[member]);
    return nodes;
  }

  // Whether node i's value is read at loaded indices within the group of its users.
  bool IsReadAtLoads(int i) {
    for (int user : uses_.Users(Value(uses_.nodes[i], 0))) {
      if (at_loads_[user]) return true;
      const Node& node = *uses_.nodes[user];
      for (size_t k = 0; k < node.inputs().size(); ++k) {
        const std::vector<bool>& at_loads = Of(user).at_loads;
        if (&node.inputs()[k].node() == uses_.nodes[i].get() && k < at_loads.size() &&
            at_loads[k]) {
          return true;
        }
      }
    }
    return false;
  }

  // Whether an index outside node i's value is also outside a tensor that the node reads. Others,
  // such as a padding, would hide the index: they are computed where all of it is known.
  bool ChecksAsResult(int i) {
    const Node& node = *uses_.nodes[i];
    const NodeTraits& traits = node_traits_.Of(node);
    const auto same_shape = [&](const Value& v) { return v.shape() == node.type(0).shape; };
    const bool permutes = traits.views.size() == 1 && !traits.views[0].permutation.empty();
    return permutes || (traits.pointwise && !node.inputs().empty() &&
                        std::all_of(node.inputs().begin(), node.inputs().end(), same_shape));
  }

  bool IsCheapFor(int i, const std::vector<int>& users) {
    constexpr double kAboutOnce = 2, kAgainForRows = 4;
    constexpr int kFewFunctions = 16;
    const int functions = Of(i).functions;
    return std::all_of(users.begin(), users.end(), [&](int user) {
      const double reads = ReadsOfElement(i, user);
      if (functions == 0 || reads <= kAboutOnce) return true;
      if (Of(user).multiplies) return false;
      if (Of(user).reduces) return reads <= kAgainForRows;
      // A factor per row or channel is recomputed instead of stored.
      return Elements(i) < Elements(user) && functions <= kFewFunctions;
    });
  }

  bool IsProduct(int i) { return Of(i).multiplies && Of(i).reads.size() > 1; }
  bool HasProduct(int group) {
    const std::vector<int>& members = result_.groups[group];
    return std::any_of(members.begin(), members.end(), [&](int m) { return IsProduct(m); });
  }

  // A factor of a product may also fit as the epilogue of another product. There it is computed
  // once, and the product that uses it stays a plain product.
  bool IsBetterBehindProduct(int i, int group) {
    return Of(i).functions > 0 && !IsPlainToRoot(i) && FollowsProduct(i) && HasProduct(group);
  }

  // Whether a product reaches node i through element-wise steps of one shape.
  bool FollowsProduct(int i) {
    if (IsProduct(i)) return true;
    const auto [known, is_new] = follows_product_.emplace(i, false);
    if (!is_new || Of(i).reduces || !node_traits_.Of(*uses_.nodes[i]).pointwise) {
      return known->second;
    }
    const Node& node = *uses_.nodes[i];
    const bool follows =
        std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value& v) {
          const int operand = uses_.NodeOf(v.node());
          return v.node().is_op() && !uses_.is_static[operand] && !uses_.IsOutput(v) &&
                 v.shape() == node.type(0).shape && FollowsProduct(operand);
        });
    return follows_product_[i] = follows;
  }

  // Whether all paths from node i to the group's result are element-wise, of one shape.
  bool IsPlainToRoot(int i) {
    const Value v(uses_.nodes[i], 0);
    for (int user : uses_.Users(v)) {
      if (!plain_to_root_[user] || Of(user).reduces ||
          !node_traits_.Of(*uses_.nodes[user]).pointwise ||
          uses_.nodes[user]->type(0).shape != v.shape()) {
        return false;
      }
    }
    return true;
  }

  bool IsEpilogueOf(int i, const std::vector<int>& users) {
    if (!IsPlainToRoot(i)) return false;
    // At most one head: a second one's sums would be computed by one thread per element.
    for (int member : result_.groups[result_.group_of[users[0]]]) {
      if (Of(member).reduces) return false;
    }
    return true;
  }

  bool IsRowWith(int i, int group) {
    if (IsProduct(i)) return false;
    if (HasProduct(group)) return false;
    auto definition = Composed(i, group);
    return definition.ok() && codegen::IsOneKernel(*definition);
  }

  // Fusion must not turn one kernel into several, as it can where a definition is cut up.
  bool Fits(int i, int group) {
    if (result_.groups[group].size() < 8) return true;
    auto definition = Composed(i, group);
    return definition.ok() && codegen::IsEvaluable(*definition);
  }

  absl::StatusOr<Definition> Composed(int i, int group) {
    std::vector<int> members = result_.groups[group];
    members.push_back(i);
    std::sort(members.begin(), members.end());
    const std::vector<NodePtr> nodes = NodesOf(members);
    return ComposeNodes(nodes, OperandsOf(nodes));
  }

  const UseTable& uses_;
  NodeTraitsCache& node_traits_;
  const std::vector<bool>& byte_factors_;
  const codegen::GridOptions& options_;
  const bool reads_narrow_;
  const bool keeps_rounded_;  // whether kernels look for factors that are rounded to TF32
  absl::flat_hash_map<uint64_t, ReadTraits> traits_;
  std::vector<std::vector<int>> regions_;  // by node: the region that it is the last one of
  absl::flat_hash_set<int> closed_;        // groups that nothing else joins
  absl::flat_hash_map<int, bool> follows_product_;
  std::vector<bool> plain_to_root_;
  std::vector<bool> at_loads_;               // members of groups that are read at loaded indices
  std::vector<bool> below_factors_;          // members of groups that factors in them read
  std::vector<bool> rounded_;                // factors rounded to TF32 in their users' groups
  std::vector<std::vector<int>> copied_to_;  // by node: its groups, or those beside group_of
  Fusion result_;
};

}  // namespace

Fusion Fuse(const UseTable& uses, NodeTraitsCache& traits, const std::vector<bool>& byte_factors,
            const codegen::GridOptions& options) {
  return Fuser(uses, traits, byte_factors, options).Run();
}

}  // namespace lemma::cuda
