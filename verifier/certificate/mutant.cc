#include "verifier/certificate/mutant.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/field.h"
#include "graph/graph.h"
#include "verifier/certificate/exact.h"
#include "verifier/certificate/refusal.h"
#include "verifier/certificate/run_graphs.h"
#include "verifier/certificate/step.h"

namespace lemma::certificate {
namespace {

constexpr int kSamples = 2;
constexpr int64_t kMostElements = int64_t{1} << 28;
constexpr size_t kMostNodes = 1000;

bool OnlySumsAndProducts(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply && !Info(e.fn()).algebraic()) return false;
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() != ReduceKind::kSum) return false;
  return std::all_of(e.args().begin(), e.args().end(), OnlySumsAndProducts);
}

// Whether real attributes are f32 numbers beside f32 operands. The field rounds them to f32; the
// definitions do not.
bool HoldsAttributes(const Node& node) {
  for (const TensorType& type : node.input_types()) {
    if (type.dtype == DType::kF64) return true;
  }
  return std::all_of(node.attrs().begin(), node.attrs().end(), [](const auto& attr) {
    const double* real = std::get_if<double>(&attr.second);
    return real == nullptr || static_cast<double>(static_cast<float>(*real)) == *real;
  });
}

absl::Status CheckOperators(const Value& value, absl::flat_hash_set<const Node*>* seen) {
  const Node& node = value.node();
  if (!IsFloat(value.dtype())) return Refused("it computes with integers");
  if (!node.is_op() || !seen->insert(&node).second) return absl::OkStatus();
  if (!HoldsAttributes(node)) return Refused("an attribute is no f32 number");
  LEMMA_ASSIGN_OR_RETURN(const Definition definition, DefinitionOf(node));
  for (const TensorExpr& tensor : definition.tensors) {
    if (!OnlySumsAndProducts(tensor.body)) {
      return Refused(absl::StrCat(node.op().name, " is no sum of products"));
    }
  }
  for (const Value& input : node.inputs()) LEMMA_RETURN_IF_ERROR(CheckOperators(input, seen));
  return absl::OkStatus();
}

// The rule's variables as inputs, of the sizes in the rule.
absl::StatusOr<std::vector<Value>> Variables(const Substitution& rule) {
  std::vector<Value> vars;
  for (const PatternVar& var : rule.vars) {
    auto dims = Evaluate(var.dims, {});
    auto constant = dims ? ToAttrValue(*dims) : std::nullopt;
    auto* shape = constant ? std::get_if<Shape>(&*constant) : nullptr;
    if (shape == nullptr || !var.dtype) return Refused("a variable's type is open");
    if (NumElements(*shape) < 1) return Refused("a variable is empty");
    if (NumElements(*shape) > kMostElements) return Refused("a variable is huge");
    const int number = static_cast<int>(vars.size());
    vars.emplace_back(Node::Input(number, {*var.dtype, std::move(*shape)}), 0);
  }
  return vars;
}

absl::StatusOr<Value> OnlyOutput(const Substitution& rule, const Pattern& side,
                                 const std::vector<Value>& vars) {
  if (side.nodes.size() > kMostNodes) return Refused("it has too many operators");
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> outputs, Applied(rule, side, vars));
  if (outputs.size() != 1) return Refused("it has more than one output");
  if (outputs[0].type().num_elements() > kMostElements) return Refused("its output is huge");
  absl::flat_hash_set<const Node*> seen;
  LEMMA_RETURN_IF_ERROR(CheckOperators(outputs[0], &seen));
  return outputs[0];
}

struct Sides {
  std::vector<Value> vars;
  Value source, target;
};

absl::StatusOr<Sides> SidesOf(const Substitution& rule) {
  if (!rule.symbols.empty() || !rule.where.empty()) return Refused("it is not about one size");
  Sides sides;
  LEMMA_ASSIGN_OR_RETURN(sides.vars, Variables(rule));
  LEMMA_ASSIGN_OR_RETURN(sides.source, OnlyOutput(rule, rule.source, sides.vars));
  LEMMA_ASSIGN_OR_RETURN(sides.target, OnlyOutput(rule, rule.target, sides.vars));
  if (sides.target.type() != sides.source.type()) return Refused("the sides have different types");
  return sides;
}

void CollectTypes(const Value& value, absl::flat_hash_set<Value>* seen, std::set<DType>* types) {
  if (!seen->insert(value).second) return;
  types->insert(value.dtype());
  for (const Value& input : value.node().inputs()) CollectTypes(input, seen, types);
}

absl::StatusOr<FloatContract> ContractOf(const Substitution& rule, const Sides& sides,
                                         uint64_t seed) {
  absl::flat_hash_set<Value> seen, finite;
  std::set<DType> types;
  for (const Value& v : sides.vars) CollectTypes(v, &seen, &types);
  for (const Value* side : {&sides.source, &sides.target}) CollectTypes(*side, &seen, &types);
  for (size_t i = 0; i < rule.vars.size(); ++i) {
    if (rule.vars[i].role != VarRole::kAny) finite.insert(sides.vars[i]);
  }
  LEMMA_ASSIGN_OR_RETURN(const auto source, ReadsOf(sides.source, finite, seed));
  LEMMA_ASSIGN_OR_RETURN(const auto target, ReadsOf(sides.target, finite, seed));
  return types.size() == 1 && source == target ? FloatContract::kReassociates
                                               : FloatContract::kRealOnly;
}

// By position: whether a box holds it. Boxes must not overlap.
absl::StatusOr<std::vector<bool>> Inside(const std::vector<CertificateMutant::Box>& boxes,
                                         const Shape& shape) {
  std::vector<bool> inside(static_cast<size_t>(NumElements(shape)), false);
  const std::vector<int64_t> strides = RowMajorStrides(shape);
  for (const CertificateMutant::Box& box : boxes) {
    if (box.size() != shape.size()) return Refused("a box has another rank than the output");
    std::vector<int64_t> positions = {0};
    for (size_t d = 0; d < box.size(); ++d) {
      const auto [first, count, step] = box[d];
      if (first < 0 || count < 1 || step < 1 || first >= shape[d] ||
          count - 1 > (shape[d] - 1 - first) / step) {
        return Refused("a box is not inside the output");
      }
      std::vector<int64_t> next;
      for (int64_t p : positions) {
        for (int64_t i = 0; i < count; ++i) next.push_back(p + (first + i * step) * strides[d]);
      }
      positions = std::move(next);
    }
    for (int64_t p : positions) {
      if (inside[static_cast<size_t>(p)]) return Refused("two boxes overlap");
      inside[static_cast<size_t>(p)] = true;
    }
  }
  return inside;
}

}  // namespace

absl::StatusOr<FloatContract> ContractOfSums(const Substitution& rule, uint64_t seed) {
  LEMMA_ASSIGN_OR_RETURN(const Sides sides, SidesOf(rule));
  return ContractOf(rule, sides, seed);
}

absl::StatusOr<CheckedMutant> CheckMutant(const Substitution& rule, const CertificateMutant& mutant,
                                          uint64_t seed, int threads) {
  LEMMA_ASSIGN_OR_RETURN(const Sides sides, SidesOf(rule));
  LEMMA_ASSIGN_OR_RETURN(const Sides others, SidesOf(mutant.rule));
  const Value &source = sides.source, &target = sides.target, &other = others.target;
  if (sides.vars != others.vars) return Refused("the mutant has other variables");
  if (others.source != source) return Refused("the mutant is of another source");
  LEMMA_RETURN_IF_ERROR(DecidedByField(source, target));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<bool> inside, Inside(mutant.differs, source.shape()));
  std::vector<bool> differed(inside.size(), false);
  for (int sample = 0; sample < kSamples; ++sample) {
    RandomValues random;
    random.seed = HashCombine(seed, sample);
    random.threads = threads;
    LEMMA_ASSIGN_OR_RETURN(const auto rows, Evaluate<Field>({source, target, other}, {}, random));
    if (rows[0] != rows[1]) return Refused("source and target differ in the field");
    for (size_t i = 0; i < inside.size(); ++i) {
      if (rows[0][i].is_special()) return Refused("an element has no value");
      differed[i] = differed[i] || rows[0][i] != rows[2][i];
    }
  }
  if (differed != inside) return Refused("the mutant differs elsewhere than the certificate says");
  CheckedMutant checked;
  checked.elements = source.type().num_elements();
  checked.prime = DrawPrime(seed);
  LEMMA_ASSIGN_OR_RETURN(checked.compared, CompareModulo(source, target, checked.prime, seed));
  LEMMA_ASSIGN_OR_RETURN(checked.contract, ContractOf(rule, sides, seed));
  if (rule.contract >= checked.contract) return checked;
  return Refused(absl::StrCat("it promises ", Name(rule.contract), ", but only ",
                              Name(checked.contract), " holds"));
}

}  // namespace lemma::certificate
