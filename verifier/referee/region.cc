#include "verifier/referee/region.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "verifier/referee/evidence/constants.h"

namespace lemma::referee {
namespace {

// A leaf with more elements becomes an input.
constexpr int64_t kMaxConstant = 64;
constexpr int64_t kFew = 16;
constexpr int64_t kMaxWithSigns = 1 << 16;

bool AllEqual(const Tensor& tensor) {
  for (int64_t i = 1; i < tensor.size(); ++i) {
    if (tensor.AtDouble(i) != tensor.AtDouble(0)) return false;
  }
  return true;
}

class Cutter {
 public:
  Cutter(const absl::flat_hash_set<const Node*>& shared, const CutOptions& options)
      : shared_(shared), options_(options) {}

  std::optional<Region> Run(const Value& u, const Value& w) {
    Mark(w, options_.depth);
    for (const Value& value : frontier_) {
      if (reached_.count(&value.node()) == 0) MarkBelow(value.node());
    }
    if (too_large_) return std::nullopt;
    const Value before = Copy(u, 0), after = Copy(w, 1);
    if (too_large_ || !before || !after) return std::nullopt;
    Region region;
    region.before = Build("before", before);
    region.after = Build("after", after);
    region.finite = finite_;
    region.inputs = cuts_;
    region.constants = constants_;
    region.operators = counts_[0] + counts_[1];
    return region;
  }

 private:
  // Finds the shared values that `w` is computed from, `depth` operators below the first ones.
  void Mark(const Value& w, int depth) {
    const Node& node = w.node();
    if (!node.is_op()) return;
    const bool is_shared = shared_.count(&node) > 0;
    if (is_shared && depth == 0) {
      frontier_.insert(w);
      return;
    }
    auto [it, added] = reached_.emplace(&node, depth);
    if (!added && it->second >= depth) return;
    it->second = depth;
    if (static_cast<int>(reached_.size()) > options_.max_operators) {
      too_large_ = true;
      return;
    }
    for (const Value& operand : node.inputs()) Mark(operand, is_shared ? depth - 1 : depth);
  }

  // The other side may also stop at what the frontier is computed from.
  void MarkBelow(const Node& node) {
    for (const Value& operand : node.inputs()) {
      if (below_.insert(&operand.node()).second) MarkBelow(operand.node());
    }
  }

  bool IsCut(const Value& value) const {
    const Node& node = value.node();
    if (!node.is_op() || reached_.count(&node) > 0) return false;
    return frontier_.count(value) > 0 || below_.count(&node) > 0;
  }

  Value Copy(const Value& value, int side) {
    if (too_large_) return Value();
    const Node& node = value.node();
    if (auto constant = ComputedConstant(value)) return *constant;
    if (IsCut(value) || (!node.is_op() && !IsKept(node))) {
      if (auto constant = WithSigns(value)) return *constant;
      return InputFor(value, Known::kAny);
    }
    if (!node.is_op()) return Value(Node::Constant(node.payload()), 0);
    auto& copied = copied_[side];
    if (auto it = copied.find(&node); it != copied.end()) return Value(it->second, value.output());
    if (++counts_[side] > options_.max_operators) {
      too_large_ = true;
      return Value();
    }
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) {
      operands.push_back(Copy(operand, side));
      if (!operands.back()) return Value();
    }
    NodePtr copy = Node::Apply(&node.op(), std::move(operands), node.attrs(), node.types());
    copied[&node] = copy;
    return Value(copy, value.output());
  }

  // Whether the leaf's elements matter.
  bool IsKept(const Node& node) const {
    if (node.kind() == Node::Kind::kInput || !node.has_payload()) return false;
    if (options_.weights == CutOptions::Weights::kAll) return true;
    const Tensor& payload = node.payload();
    if (!IsFloat(payload.dtype()) || payload.size() <= 1) return true;
    if (node.kind() == Node::Kind::kConstant && payload.size() <= kMaxConstant) return true;
    if (options_.weights == CutOptions::Weights::kAny) return false;
    return AllEqual(payload) ||
           (options_.weights == CutOptions::Weights::kFew && payload.size() <= kFew);
  }
  std::optional<Value> ComputedConstant(const Value& value) {
    if (options_.weights != CutOptions::Weights::kFew || options_.constants == nullptr ||
        !value.node().is_op() || options_.constants->count(&value.node()) == 0 ||
        value.type().num_elements() > kMaxConstant) {
      return std::nullopt;
    }
    auto constant = AsConstant(value, &evaluator_);
    if (constant && known_.insert(value).second) constants_.push_back(value);
    return constant;
  }

  // With kSigns: a value with the signs of a constant.
  std::optional<Value> WithSigns(const Value& value) {
    const Node& node = value.node();
    if (options_.weights != CutOptions::Weights::kSigns || !IsFloat(value.dtype()) ||
        value.type().num_elements() > kMaxWithSigns) {
      return std::nullopt;
    }
    const bool is_constant =
        node.is_op() ? options_.constants != nullptr && options_.constants->count(&node) > 0
                     : node.has_payload();
    if (!is_constant) return std::nullopt;
    const auto computed = evaluator_.Of(value);
    const Known known = computed == nullptr ? Known::kAny : SignsOf(*computed);
    if (known == Known::kAny) return std::nullopt;
    auto restricted = Restricted(known, value.dtype(), InputFor(value, known));
    return restricted.ok() ? std::optional<Value>(*restricted) : std::nullopt;
  }

  Value InputFor(const Value& value, Known known) {
    auto [it, added] = inputs_.try_emplace(value, Value());
    if (added) {
      const TensorType type{InputTypeFor(known, value.dtype()), value.shape()};
      it->second = Value(Node::Input(static_cast<int>(cuts_.size()), type), 0);
      cuts_.push_back({value, known});
      types_.push_back(type);
      finite_.push_back(value.node().has_payload() && value.node().is_finite());
    }
    return it->second;
  }

  Graph Build(const std::string& name, const Value& output) const {
    GraphBuilder builder(name);
    for (size_t i = 0; i < types_.size(); ++i) builder.Input(absl::StrCat("x", i), types_[i]);
    builder.Output("y", output);
    return *std::move(builder).Build();
  }

  const absl::flat_hash_set<const Node*>& shared_;
  const CutOptions& options_;
  ConstantEvaluator evaluator_;
  absl::flat_hash_map<const Node*, int> reached_;  // by node: the largest depth left
  absl::flat_hash_set<Value> frontier_;
  absl::flat_hash_set<const Node*> below_;
  absl::flat_hash_map<const Node*, NodePtr> copied_[2];
  absl::flat_hash_map<Value, Value> inputs_;
  std::vector<Cut> cuts_;          // by input
  std::vector<TensorType> types_;  // of the inputs
  std::vector<Value> constants_;
  absl::flat_hash_set<Value> known_;  // the same
  std::vector<bool> finite_;
  int counts_[2] = {0, 0};
  bool too_large_ = false;
};

}  // namespace

std::vector<Value> ValuesOf(const std::vector<Cut>& cuts) {
  std::vector<Value> values;
  values.reserve(cuts.size());
  for (const Cut& cut : cuts) values.push_back(cut.value);
  return values;
}

std::optional<Region> CutRegion(const absl::flat_hash_set<const Node*>& shared, const Value& u,
                                const Value& w, const CutOptions& options) {
  return Cutter(shared, options).Run(u, w);
}

}  // namespace lemma::referee
