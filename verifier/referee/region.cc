#include "verifier/referee/region.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/sizes/specialize.h"
#include "verifier/prover/graph_claim.h"
#include "verifier/referee/constants.h"
#include "verifier/referee/error_bounds.h"
#include "verifier/referee/near_numbers.h"
#include "verifier/referee/one_sided.h"

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

// What is known of all elements.
enum class Signs { kUnknown, kZeroOrOne, kNoneNegative, kNonePositive };

// Zeros must have the sign of the other elements.
Signs SignsOf(const BoundedTensor& tensor) {
  bool positive = false, negative = false, mask = tensor.exact();
  for (size_t i = 0; i < tensor.value.size(); ++i) {
    const double x = tensor.value[i];
    const bool is_certain =
        tensor.exact() ? !std::isnan(x)
                       : tensor.magnitude[i] == 0 ||
                             std::abs(x) > BoundOf(tensor.magnitude[i], tensor.roundings[i]);
    if (!is_certain) return Signs::kUnknown;
    (std::signbit(x) ? negative : positive) = true;
    mask &= x == 0 || x == 1;
    if (positive && negative) break;
  }
  if (positive == negative) return Signs::kUnknown;
  if (negative) return Signs::kNonePositive;
  return mask ? Signs::kZeroOrOne : Signs::kNoneNegative;
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
    region.stands = stands_;
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
      return InputFor(value, value.dtype());
    }
    if (!node.is_op()) return AsConstant(node);
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
    // Constants are computed in double, which does not hold all integers.
    if (options_.weights != CutOptions::Weights::kFew || options_.constants == nullptr ||
        !value.node().is_op() || !IsFloat(value.dtype()) ||
        options_.constants->count(&value.node()) == 0 ||
        value.type().num_elements() > kMaxConstant) {
      return std::nullopt;
    }
    const auto computed = evaluator_.Of(value);
    if (computed == nullptr || !computed->exact()) return std::nullopt;
    auto tensor = Tensor::FromDoubles(value.type(), computed->value);
    if (!tensor.ok()) return std::nullopt;
    return Value(Node::Constant(*std::move(tensor)), 0);
  }

  // With kSigns: the input that stands for a constant of known signs.
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
    const Signs signs = computed == nullptr ? Signs::kUnknown : SignsOf(*computed);
    absl::StatusOr<Value> restricted = Value();
    switch (signs) {
      case Signs::kUnknown:
        return std::nullopt;
      case Signs::kZeroOrOne:
        restricted = Apply1("where", {InputFor(value, DType::kBool), Number(value.dtype(), 1),
                                      Number(value.dtype(), 0)});
        break;
      case Signs::kNoneNegative:
      case Signs::kNonePositive:
        restricted = Apply1("abs", {InputFor(value, value.dtype())});
        if (restricted.ok() && signs == Signs::kNonePositive) {
          restricted = Apply1("neg", {*restricted});
        }
        break;
    }
    return restricted.ok() ? std::optional<Value>(*restricted) : std::nullopt;
  }

  static Value Number(DType dtype, double x) {
    return Value(Node::Constant(*Tensor::FromDoubles({dtype, {}}, {x})), 0);
  }

  static Value AsConstant(const Node& node) { return Value(Node::Constant(node.payload()), 0); }

  // With another element type, the input stands for a value that makes `value`.
  Value InputFor(const Value& value, DType dtype) {
    auto [it, added] = inputs_.try_emplace(value, Value());
    if (added) {
      const TensorType type{dtype, value.shape()};
      it->second = Value(Node::Input(static_cast<int>(stands_.size()), type), 0);
      stands_.push_back(value);
      types_.push_back(type);
      const Node& node = value.node();
      finite_.push_back(!node.is_op() && node.has_payload() && node.is_finite());
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
  std::vector<Value> stands_;
  std::vector<TensorType> types_;  // of the inputs
  std::vector<bool> finite_;
  int counts_[2] = {0, 0};
  bool too_large_ = false;
};

// Whether an operator stores floats that are narrower than the widest ones that come in.
bool Narrows(const Graph& before, const Graph& after) {
  int64_t widest = 0;
  for (const Value& input : before.inputs()) {
    if (IsFloat(input.dtype())) widest = std::max(widest, SizeOf(input.dtype()));
  }
  for (const Graph* graph : {&before, &after}) {
    for (const NodePtr& node : graph->nodes()) {
      if (!node->is_op()) continue;
      for (const TensorType& type : node->types()) {
        if (IsFloat(type.dtype) && SizeOf(type.dtype) < widest) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<Region> CutRegion(const absl::flat_hash_set<const Node*>& shared, const Value& u,
                                const Value& w, const CutOptions& options) {
  return Cutter(shared, options).Run(u, w);
}

Verdict RegionProver::Prove(const Region& region, int64_t work) {
  const Key key = {region.before.outputs()[0], region.after.outputs()[0], region.finite};
  auto it = known_.find(key);
  if (it != known_.end() && (IsProved(it->second.verdict) || it->second.work >= work)) {
    ++remembered_;
    return it->second.verdict;
  }
  ++proofs_;
  Verdict verdict = ProveAnew(region, work);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    Join(*proved, &evidence_);
    proved->log = {};  // it may be long
  }
  known_[key] = {verdict, work};
  return verdict;
}

// The ranges of the region's symbolic dimensions, and the assumptions on them.
std::vector<Guard> RegionProver::RequirementsOn(const Region& region) const {
  std::map<std::string, SizeRange> dims = DimsOf(region.before);
  for (const auto& dim : DimsOf(region.after)) dims.insert(dim);
  std::vector<Guard> requirements;
  for (const auto& [name, range] : dims) {
    const IndexExpr dim = SymbolicDim(name, range);
    requirements.push_back(Le(range.least, dim));
    if (range.most < SizeRange::kNoLimit) requirements.push_back(Le(dim, range.most));
  }
  if (!dims.empty()) {
    requirements.insert(requirements.end(), assumptions_.begin(), assumptions_.end());
  }
  return requirements;
}

Verdict RegionProver::ProveAnew(const Region& region, int64_t work) const {
  if (std::string reason = ReadsElsewhere(region); !reason.empty()) return Unknown{reason};
  const OneSidedConversions conversions = ConversionsOf(region);
  if (conversions.to_half) {
    return Unknown{"only one model stores these integers in half precision, which rounds them"};
  }
  for (const Value& input : region.before.inputs()) {
    if (!MayBeEmpty(input.shape())) continue;
    return Unknown{"a value has no elements, which no proof covers"};
  }
  auto claim = prover::MakeClaim(region.before, region.after, false);
  if (!claim.ok()) return Unknown{std::string(claim.status().message())};
  // The statement's first inputs are the region's.
  for (size_t i = 0; i < region.finite.size(); ++i) {
    if (region.finite[i]) claim->statement.finite[i] = true;
  }
  claim->statement.requirements = RequirementsOn(region);
  ProverOptions options = options_;
  options.work = work;
  Verdict verdict = prover::ProveClaim(*claim, options);
  if (!IsProved(verdict) && UnifyNearNumbers(&claim->statement)) {
    options.strictest = FloatContract::kReassociates;
    verdict = prover::ProveClaim(*claim, options);
  }
  auto* proved = std::get_if<Proved>(&verdict);
  if (proved != nullptr && conversions.any) {
    proved->contract = std::max(proved->contract, FloatContract::kReassociates);
  }
  if (proved != nullptr && proved->contract == FloatContract::kRealOnly &&
      Narrows(region.before, region.after)) {
    // In f16, 123456.7 is infinite and 1e-12 is 0: that is more than rounding.
    return Unknown{"equal as real numbers, but some are stored in a narrower type"};
  }
  return verdict;
}

}  // namespace lemma::referee
