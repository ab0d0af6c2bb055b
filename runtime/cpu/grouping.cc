#include "runtime/cpu/grouping.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/integers/product_kernel.h"
#include "runtime/cpu/kernels/integers/table.h"
#include "runtime/cpu/kernels/integers/weight_only_kernel.h"

namespace lemma::cpu {

namespace {

// Whether the application changes no element's place.
bool IsIdentity(const NodeTraits& traits) {
  if (traits.views.size() != 1 || traits.views[0].permutation.empty()) return false;
  const std::vector<int>& permutation = traits.views[0].permutation;
  return std::is_sorted(permutation.begin(), permutation.end());
}

// Whether the outputs are views of the input if the strides allow it.
bool OnlyMoves(const NodeTraits& traits) { return traits.reshapes || !traits.views.empty(); }

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

class Grouper {
 public:
  Grouper(const UseTable& uses, NodeTraitsCache& traits, int threads, bool fuse_layout)
      : uses_(uses), traits_(traits), threads_(threads), fuse_layout_(fuse_layout) {
    result_.role.assign(uses.nodes.size(), NodeRole::kNone);
    result_.group_of.assign(uses.nodes.size(), -1);
    is_widening_.assign(uses_.nodes.size(), false);
    copied_to_.resize(uses_.nodes.size());
  }

  Grouping Run() {
    const int n = static_cast<int>(uses_.nodes.size());
    for (int i = 0; i < n; ++i) {
      const Node& node = *uses_.nodes[i];
      if (!node.is_op() || uses_.is_static[i]) continue;
      result_.role[i] = NodeRole::kKernel;
      if (OnlyMoves(traits_.Of(node))) result_.role[i] = NodeRole::kView;
      if (traits_.Of(node).concat_dim) result_.role[i] = NodeRole::kConcat;
      if (fuse_layout_ || Free(i) || IsIdentity(traits_.Of(node))) continue;
      result_.role[i] = NodeRole::kKernel;
      Open(&LayoutKernel(), i);
    }
    for (int i = 0; i < n && fuse_layout_; ++i) MarkWidening(i);
    for (int i = 0; i < n && fuse_layout_; ++i) OpenWithProducer(i);
    for (int i = 0; i < n; ++i) {
      if (!Free(i)) continue;
      if (fuse_layout_ && (GrowIntegerProduct(i) || GrowWeightOnlyProduct(i))) continue;
      if (const KernelDef* def = FindKernel(*uses_.nodes[i])) GrowHead(i, def);
    }
    for (int i = n; i-- > 0;) {
      if (Free(i) && !CopyToReaders(i)) JoinOrOpen(i);
    }
    for (Group& group : result_.groups) {
      std::sort(group.copies.begin(), group.copies.end());
      group.nodes.insert(group.nodes.end(), group.copies.begin(), group.copies.end());
      std::sort(group.nodes.begin(), group.nodes.end());
    }
    if (fuse_layout_) MergeTables();
    return std::move(result_);
  }

 private:
  bool Free(int i) const { return result_.role[i] == NodeRole::kKernel && result_.group_of[i] < 0; }
  bool Pointwise(int i) const { return traits_.Of(*uses_.nodes[i]).pointwise; }

  void Add(int group, int node) {
    result_.groups[group].nodes.push_back(node);
    result_.group_of[node] = group;
  }
  int Open(const KernelDef* def, int node) {
    result_.groups.push_back({def, {}, {}, -1});
    Add(static_cast<int>(result_.groups.size()) - 1, node);
    return static_cast<int>(result_.groups.size()) - 1;
  }

  // Marks the applications that give the numbers for which dynamic integers stand, and those that
  // widen bf16 numbers.
  void MarkWidening(int i) {
    if (!Free(i) || !Pointwise(i)) return;
    is_widening_[i] = WidensBf16(*uses_.nodes[i]);
    const std::optional<IntegerOperand> operand = IntegerOperandOf(Value(uses_.nodes[i], 0));
    if (!operand) return;
    for (const NodePtr& node : operand->nodes) is_widening_[uses_.NodeOf(*node)] = true;
  }

  void Copy(int node, int group) {
    if (!copied_to_[node].insert(group).second) return;
    result_.groups[group].copies.push_back(node);
  }

  // Opens the group of head i if it is a product of integers.
  bool GrowIntegerProduct(int i) {
    const std::optional<IntegerProduct> product = IntegerProductOf(*uses_.nodes[i]);
    if (!product) return false;
    GrowHead(i, &IntegerProductKernel());
    const int group = result_.group_of[i];
    result_.groups[group].head = i;
    EndWithIntegers(group);
    std::vector<Value> numbers = product->x.scales;
    if (product->x.zero) numbers.push_back(product->x.zero);
    for (const Value& v : numbers) numbers_of_[group].insert(uses_.NodeOf(v.node()));
    for (const NodePtr& node : product->x.nodes) Copy(uses_.NodeOf(*node), group);
    for (const NodePtr& node : product->weight_nodes) Copy(uses_.NodeOf(*node), group);
    return true;
  }

  // Opens the group of head i if its weight is known integers times scales, and it has few rows.
  bool GrowWeightOnlyProduct(int i) {
    const std::optional<WeightOnlyProduct> product = WeightOnlyProductOf(*uses_.nodes[i]);
    if (!product) return false;
    GrowHead(i, &WeightOnlyKernel());
    const int group = result_.group_of[i];
    result_.groups[group].head = i;
    for (const NodePtr& node : product->nodes) Copy(uses_.NodeOf(*node), group);
    return true;
  }

  // Cuts a product's group behind the first 8-bit integers that alone decide all that follows: the
  // readers compute it, from fewer bytes and often by a table.
  void EndWithIntegers(int group) {
    std::vector<int>& nodes = result_.groups[group].nodes;
    for (auto bytes = nodes.begin(); bytes != nodes.end(); ++bytes) {
      if (!IsByte(uses_.nodes[*bytes]->type(0).dtype)) continue;
      const auto behind = bytes + 1;
      const auto depends_on_it = [&](int i) {
        const std::vector<Value>& inputs = uses_.nodes[i]->inputs();
        return std::all_of(inputs.begin(), inputs.end(), [&](const Value& v) {
          const int from = uses_.NodeOf(v.node());
          if (uses_.is_static[from]) return v.type().num_elements() == 1;
          return std::find(bytes, nodes.end(), from) != nodes.end();
        });
      };
      if (!std::all_of(behind, nodes.end(),
                       [&](int i) { return is_widening_[i] || depends_on_it(i); })) {
        continue;
      }
      for (auto it = behind; it != nodes.end(); ++it) result_.group_of[*it] = -1;
      nodes.erase(behind, nodes.end());
      return;
    }
  }

  // Copies a widening application to the groups that read it, if all of them can compute it.
  bool CopyToReaders(int i) {
    const Value v(uses_.nodes[i], 0);
    if (!is_widening_[i] || uses_.IsOutput(v) || uses_.Users(v).empty()) return false;
    std::vector<int> groups;
    for (int user : uses_.Users(v)) {
      const int own = result_.group_of[user];
      for (int group : copied_to_[user]) groups.push_back(group);
      if (own >= 0) groups.push_back(own);
      if (own < 0 ? result_.role[user] != NodeRole::kCopied : !Takes(own, user, i)) return false;
    }
    // The kernel of a product reads its zero point and scales.
    if (std::any_of(groups.begin(), groups.end(), [&](int group) {
          const auto numbers = numbers_of_.find(group);
          return numbers != numbers_of_.end() && numbers->second.contains(i);
        })) {
      return false;
    }
    for (int group : groups) Copy(i, group);
    result_.role[i] = NodeRole::kCopied;
    return true;
  }

  // Whether the group of `user` can compute node i, which `user` reads.
  bool Takes(int group, int user, int i) const {
    const Group& g = result_.groups[group];
    if (copied_to_[i].contains(group)) return true;
    if (g.def == &IntegerProductKernel()) return user != g.head;
    if (g.def->reads_integers != nullptr) {
      return user == g.head && uses_.NodeOf(uses_.nodes[user]->inputs()[0].node()) == i;
    }
    return g.def == &PointwiseKernel() &&
           Common(domain_of_.at(group), traits_.Of(*uses_.nodes[i]).domain).has_value();
  }

  // Opens the group of head i with the node that computes its operand 0, if the head's kernel takes
  // it.
  void OpenWithProducer(int i) {
    const KernelDef* def = Free(i) ? FindKernel(*uses_.nodes[i]) : nullptr;
    if (def == nullptr || def->fuses_before == nullptr) return;
    const Value& v = uses_.nodes[i]->inputs()[0];
    const int producer = uses_.NodeOf(v.node());
    if (!Free(producer) || !Pointwise(producer) || uses_.IsOutput(v) ||
        uses_.Users(v).size() != 1 || !def->fuses_before(*uses_.nodes[i], v.node())) {
      return;
    }
    const int group = Open(def, i);
    Add(group, producer);
    result_.groups[group].head = i;
  }

  void GrowHead(int head, const KernelDef* def) {
    const int group = Open(def, head);
    if (def->fuses == nullptr || uses_.nodes[head]->num_outputs() != 1) return;
    CpuKernelSpec spec;
    spec.def = def;
    spec.threads = threads_;
    spec.nodes = {uses_.nodes[head]};
    GrowBehind(head, group, &spec);
    std::vector<int>& nodes = result_.groups[group].nodes;
    const size_t count = def->takes == nullptr ? nodes.size() : def->takes(spec);
    for (; nodes.size() > count; nodes.pop_back()) result_.group_of[nodes.back()] = -1;
    spec.nodes.resize(count);
    if (def->reads_bf16 && MultipliesBf16(spec.head())) ReadBf16(head, group, &spec);
    if (fuse_layout_ && def->reads_integers != nullptr && def->reads_integers(spec.nodes) &&
        StandsForIntegers(uses_.nodes[head]->inputs()[0])) {
      result_.groups[group].head = head;
    }
  }

  // Lets a product of bf16 numbers read them, or gives up what it can fuse only then.
  void ReadBf16(int head, int group, CpuKernelSpec* spec) {
    if (fuse_layout_ && !ReadsWidened(*spec)) {
      result_.groups[group].head = head;
      const std::vector<Value>& operands = uses_.nodes[head]->inputs();
      for (int k : {0, 1}) {
        if (WidensBf16(operands[k].node())) Copy(uses_.NodeOf(operands[k].node()), group);
      }
    } else if (RoundsToBf16(spec->last())) {
      std::vector<int>& nodes = result_.groups[group].nodes;
      result_.group_of[nodes.back()] = -1;
      nodes.pop_back();
      spec->nodes.pop_back();
    }
  }

  // Whether the head reads its operand 0 or 1 once more, or a node behind it does.
  static bool ReadsWidened(const CpuKernelSpec& spec) {
    const std::vector<Value>& operands = spec.head().inputs();
    for (const NodePtr& node : spec.nodes) {
      for (size_t k = node == spec.head_node() ? 2 : 0; k < node->inputs().size(); ++k) {
        if (node->inputs()[k] == operands[0] || node->inputs()[k] == operands[1]) return true;
      }
    }
    return false;
  }

  // Whether `v` is an IntegerOperand with known zero and scales.
  bool StandsForIntegers(const Value& v) const {
    const std::optional<IntegerOperand> operand = IntegerOperandOf(v);
    const auto is_known = [&](const Value& number) {
      return uses_.is_static[uses_.NodeOf(number.node())];
    };
    return operand && (!operand->zero || is_known(operand->zero)) &&
           std::all_of(operand->scales.begin(), operand->scales.end(), is_known);
  }

  void GrowBehind(int head, int group, CpuKernelSpec* spec) {
    const KernelDef* def = spec->def;
    for (int at = head;;) {
      Value v(uses_.nodes[at], 0);
      const std::vector<int>& users = uses_.Users(v);
      if (users.size() == 2 && TakePair(v, users, group, spec)) {
        at = users[1];
        continue;
      }
      if (users.size() > 1 && def == &IntegerProductKernel()) {
        at = TakeUntilJoin(v, group, spec);
        if (at < 0) return;
        continue;
      }
      if (users.size() != 1 || uses_.IsOutput(v) || !Free(users[0]) || !Pointwise(users[0])) return;
      const NodePtr& user = uses_.nodes[users[0]];
      if (user->type(0).shape != v.shape()) return;
      if (user->type(0).dtype != v.dtype() && !def->fuses_casts) return;
      if (!def->fuses(*spec, *user)) return;
      at = users[0];
      spec->nodes.push_back(user);
      Add(group, at);
    }
  }

  bool TakePair(const Value& v, const std::vector<int>& users, int group, CpuKernelSpec* spec) {
    const NodePtr &first = uses_.nodes[users[0]], &second = uses_.nodes[users[1]];
    if (uses_.IsOutput(v) || !Free(users[0]) || !Free(users[1]) ||
        !IsActivationPair(v, *first, *second) || !spec->def->fuses(*spec, *first)) {
      return false;
    }
    const Value between(first, 0);
    if (uses_.IsOutput(between) || uses_.Users(between).size() != 1) return false;
    for (int i = 0; i < 2; ++i) {
      Add(group, users[i]);
      spec->nodes.push_back(uses_.nodes[users[i]]);
    }
    return true;
  }

  // Adds the element-wise nodes in f32 that read `v` on several ways, up to the one where these
  // join, such as a GELU in five operators. Returns this last one; -1, and adds nothing, if the
  // ways do not join in such a node or are long.
  int TakeUntilJoin(const Value& v, int group, CpuKernelSpec* spec) {
    constexpr size_t kMostNodes = 12;
    std::set<int> next;
    std::vector<int> nodes;
    CpuKernelSpec grown = *spec;
    std::optional<Domain> domain = traits_.Of(v.node()).domain;
    for (Value at = v; nodes.empty() || !next.empty(); at = Value(uses_.nodes[nodes.back()], 0)) {
      if (uses_.IsOutput(at) || nodes.size() == kMostNodes) return -1;
      const std::vector<int>& users = uses_.Users(at);
      next.insert(users.begin(), users.end());
      if (next.empty()) return -1;
      const int i = *next.begin();
      next.erase(next.begin());
      const NodePtr& node = uses_.nodes[i];
      if (!Free(i) || !Pointwise(i) || node->num_outputs() != 1) return -1;
      if (!(node->type(0) == v.type()) || v.dtype() != DType::kF32) return -1;
      domain = Common(*domain, traits_.Of(*node).domain);
      if (!domain || !spec->def->fuses(grown, *node)) return -1;
      grown.nodes.push_back(node);
      nodes.push_back(i);
    }
    for (const int i : nodes) Add(group, i);
    spec->nodes = std::move(grown.nodes);
    return nodes.back();
  }

  // Joins the element-wise group that alone reads node i, or opens a group.
  void JoinOrOpen(int i) {
    if (!Pointwise(i)) {
      Open(&DefinitionKernel(), i);
      return;
    }
    Value v(uses_.nodes[i], 0);
    int group = -1;
    bool joins = !uses_.IsOutput(v) && !uses_.Users(v).empty();
    for (int user : uses_.Users(v)) {
      int g = result_.group_of[user];
      // A group with a copy of the user reads this value from memory.
      joins = joins && g >= 0 && (group < 0 || g == group) && Pointwise(user) &&
              copied_to_[user].empty() && result_.groups[g].def == &PointwiseKernel() &&
              uses_.nodes[user]->type(0).shape == v.shape();
      group = g;
    }
    const Domain own = traits_.Of(*uses_.nodes[i]).domain;
    const std::optional<Domain> domain =
        joins ? Common(domain_of_[group], own) : std::optional<Domain>();
    // Longer chains bring no further gain, and their temporaries no longer fit into the cache.
    constexpr size_t kMaxNodes = 24;
    if (domain && result_.groups[group].nodes.size() < kMaxNodes) {
      Add(group, i);
      domain_of_[group] = *domain;
    } else {
      domain_of_[Open(&PointwiseKernel(), i)] = own;
    }
  }

  // Merges an element-wise group into the only group that reads its 8-bit result if a table of 256
  // results then stands for both, such as q = sigmoid(x) and x * q.
  void MergeTables() {
    std::vector<int> order;  // by last node, so that what is merged may be merged again
    for (size_t g = 0; g < result_.groups.size(); ++g) order.push_back(static_cast<int>(g));
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return result_.groups[a].nodes.back() < result_.groups[b].nodes.back();
    });
    std::vector<bool> is_gone(result_.groups.size(), false);
    for (const int g : order) {
      const int reader = OnlyReader(g);
      if (reader < 0) continue;
      std::vector<int> both = result_.groups[g].nodes;
      const std::vector<int>& others = result_.groups[reader].nodes;
      both.insert(both.end(), others.begin(), others.end());
      std::sort(both.begin(), both.end());
      both.erase(std::unique(both.begin(), both.end()), both.end());
      if (!IsTable(both)) continue;
      for (const int node : result_.groups[g].nodes) {
        if (result_.group_of[node] == g) result_.group_of[node] = reader;
        if (copied_to_[node].erase(g) > 0) copied_to_[node].insert(reader);
      }
      // What other groups contain too stays a copy; the result's widening is read here only.
      std::vector<int>& copies = result_.groups[reader].copies;
      copies.insert(copies.end(), result_.groups[g].copies.begin(), result_.groups[g].copies.end());
      std::sort(copies.begin(), copies.end());
      copies.erase(std::unique(copies.begin(), copies.end()), copies.end());
      result_.groups[reader].nodes = std::move(both);
      domain_of_[reader] = *Common(domain_of_.at(g), domain_of_.at(reader));
      is_gone[g] = true;
    }
    std::vector<int> number(result_.groups.size(), -1);
    std::vector<Group> left;
    for (size_t g = 0; g < result_.groups.size(); ++g) {
      if (is_gone[g]) continue;
      number[g] = static_cast<int>(left.size());
      left.push_back(std::move(result_.groups[g]));
    }
    result_.groups = std::move(left);
    for (int& group : result_.group_of) group = group < 0 ? group : number[group];
  }

  // The element-wise group that alone reads the result of the element-wise group g; -1 if there is
  // none.
  int OnlyReader(int g) const {
    const Group& group = result_.groups[g];
    if (group.def != &PointwiseKernel()) return -1;
    const Value v(uses_.nodes[group.nodes.back()], 0);
    if (!IsByte(v.dtype()) || uses_.IsOutput(v)) return -1;
    absl::flat_hash_set<int> readers;
    for (const int user : uses_.Users(v)) {
      const NodeRole role = result_.role[user];
      if (role != NodeRole::kKernel && role != NodeRole::kCopied) return -1;
      if (result_.group_of[user] >= 0) readers.insert(result_.group_of[user]);
      readers.insert(copied_to_[user].begin(), copied_to_[user].end());
    }
    if (readers.size() != 1) return -1;
    const int reader = *readers.begin();
    if (result_.groups[reader].def != &PointwiseKernel()) return -1;
    return Common(domain_of_.at(g), domain_of_.at(reader)).has_value() ? reader : -1;
  }

  bool IsTable(const std::vector<int>& numbers) const {
    std::vector<NodePtr> nodes;
    std::vector<Value> inputs;
    std::vector<bool> is_static;
    nodes.reserve(numbers.size());
    for (const int number : numbers) nodes.push_back(uses_.nodes[number]);
    for (const NodePtr& node : nodes) {
      for (const Value& v : node->inputs()) {
        const int from = uses_.NodeOf(v.node());
        if (std::binary_search(numbers.begin(), numbers.end(), from)) continue;
        if (std::find(inputs.begin(), inputs.end(), v) != inputs.end()) continue;
        inputs.push_back(v);
        is_static.push_back(uses_.is_static[from]);
      }
    }
    return TableSource(nodes, inputs, is_static).has_value();
  }

  const UseTable& uses_;
  NodeTraitsCache& traits_;
  int threads_;
  bool fuse_layout_;
  absl::flat_hash_map<int, Domain> domain_of_;  // by element-wise group
  std::vector<bool> is_widening_;               // by node: IntegerOperand::nodes, casts from bf16
  std::vector<absl::flat_hash_set<int>> copied_to_;  // by node: groups
  // By group of an integer product: the nodes of its zero point and scales.
  absl::flat_hash_map<int, absl::flat_hash_set<int>> numbers_of_;
  Grouping result_;
};

}  // namespace

Grouping GroupNodes(const UseTable& uses, NodeTraitsCache& traits, int threads, bool fuse_layout) {
  return Grouper(uses, traits, threads, fuse_layout).Run();
}

}  // namespace lemma::cpu
