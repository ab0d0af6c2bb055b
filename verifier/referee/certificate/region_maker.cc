#include "verifier/referee/certificate/region_maker.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma::referee {
namespace {

constexpr size_t kMostOperators = 400;  // the referee itself makes no region so large

absl::Status Refused(std::string problem) {
  return absl::FailedPreconditionError(std::move(problem));
}

class RegionMaker {
 public:
  // `cuts`: by value, what the proof uses of its elements. `own_numbers`: nodes of formulas
  // whose numbers the first model does not have.
  RegionMaker(const absl::flat_hash_map<Value, Known>& cuts,
              const absl::flat_hash_set<const Node*>& own_numbers, ConstantEvaluator* evaluator)
      : cuts_(cuts), own_numbers_(own_numbers), evaluator_(*evaluator) {}

  absl::StatusOr<RegionClaim> Run(const Value& before, const Value& after) {
    LEMMA_ASSIGN_OR_RETURN(const Value x, Side(before));
    LEMMA_ASSIGN_OR_RETURN(const Value y, Side(after));
    RegionClaim claim;
    LEMMA_ASSIGN_OR_RETURN(claim.before, Build("before", x));
    LEMMA_ASSIGN_OR_RETURN(claim.after, Build("after", y));
    claim.finite = finite_;
    claim.near_numbers = near_numbers_;
    return claim;
  }

 private:
  absl::StatusOr<Value> Side(const Value& output) {
    copied_.clear();
    return Copy(output);
  }

  absl::StatusOr<Value> Copy(const Value& value) {
    const Node& node = value.node();
    if (auto cut = cuts_.find(value); cut != cuts_.end()) return CutAt(value, cut->second);
    // The author of the certificate chose these numbers, so what rounding explains may add up to
    // any difference.
    near_numbers_ &= !own_numbers_.contains(&node);
    if (!node.is_op()) {
      return node.has_payload() ? Value(Node::Constant(node.payload()), 0)
                                : InputFor(value, Known::kAny);
    }
    if (auto it = copied_.find(&node); it != copied_.end()) {
      return Value(it->second, value.output());
    }
    if (entered_.size() >= kMostOperators) return Refused("it is too large");
    entered_.push_back(&node);
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) {
      LEMMA_ASSIGN_OR_RETURN(operands.emplace_back(), Copy(operand));
    }
    NodePtr copy = Node::Apply(&node.op(), std::move(operands), node.attrs(), node.types());
    copied_[&node] = copy;
    return Value(copy, value.output());
  }

  absl::StatusOr<Value> CutAt(const Value& value, Known known) {
    if (known == Known::kAny) return InputFor(value, known);
    if (known == Known::kElements) {
      auto constant = AsConstant(value, &evaluator_);
      if (!constant) return Refused("a value that it takes as known is not computed exactly");
      near_numbers_ &= !DependsOn(value, own_numbers_);
      return *constant;
    }
    const auto computed = IsFloat(value.dtype()) ? evaluator_.Of(value) : nullptr;
    if (computed == nullptr || !Implies(SignsOf(*computed), known)) {
      return Refused(absl::StrCat("a value is not ", Name(known)));
    }
    return Restricted(known, value.dtype(), InputFor(value, known));
  }

  static bool Implies(Known is, Known claimed) {
    return is == claimed || (is == Known::kZeroOrOne && claimed == Known::kNotNegative);
  }

  Value InputFor(const Value& value, Known known) {
    auto [it, added] = inputs_.try_emplace(value, Value());
    if (added) {
      types_.push_back({InputTypeFor(known, value.dtype()), value.shape()});
      it->second = Value(Node::Input(static_cast<int>(types_.size()) - 1, types_.back()), 0);
      finite_.push_back(value.node().has_payload() && value.node().is_finite());
    }
    return it->second;
  }

  absl::StatusOr<Graph> Build(const std::string& name, const Value& output) const {
    GraphBuilder builder(name);
    for (size_t i = 0; i < types_.size(); ++i) builder.Input(absl::StrCat("x", i), types_[i]);
    builder.Output("y", output);
    return std::move(builder).Build();
  }

  const absl::flat_hash_map<Value, Known>& cuts_;
  const absl::flat_hash_set<const Node*>& own_numbers_;
  bool near_numbers_ = true;
  ConstantEvaluator& evaluator_;
  absl::flat_hash_map<const Node*, NodePtr> copied_;
  std::vector<const Node*> entered_;
  absl::flat_hash_map<Value, Value> inputs_;
  std::vector<TensorType> types_;
  std::vector<bool> finite_;
};

}  // namespace

bool DependsOn(const Value& value, const absl::flat_hash_set<const Node*>& nodes) {
  std::vector<const Node*> stack = {&value.node()};
  absl::flat_hash_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (nodes.contains(node)) return true;
    for (const Value& operand : node->inputs()) stack.push_back(&operand.node());
  }
  return false;
}

absl::StatusOr<RegionClaim> MakeRegion(const Value& before, const Value& after,
                                       const absl::flat_hash_map<Value, Known>& cuts,
                                       const absl::flat_hash_set<const Node*>& own_numbers,
                                       ConstantEvaluator* evaluator) {
  return RegionMaker(cuts, own_numbers, evaluator).Run(before, after);
}

}  // namespace lemma::referee
