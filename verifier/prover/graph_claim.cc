#include "verifier/prover/graph_claim.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "kernels/evaluate/evaluate.h"
#include "verifier/normal_form/resolve_integers.h"
#include "verifier/normal_form/stored_bytes.h"

namespace lemma::prover {
namespace {

constexpr int64_t kMaxChosen = 16, kMaxFolded = 4096;

// -0 is not exact: bit for bit it differs from 0.
bool IsExactInteger(double x) {
  return x == std::floor(x) && std::abs(x) < 9007199254740992.0 && !(x == 0 && std::signbit(x));
}

// The constant as a function of its index, in one of three cases: all elements are equal; integers
// that are affine in the index; or a few values, selected by the index. Other constants stay
// inputs.
std::optional<ScalarExpr> ClosedForm(const Tensor& t, const Idx& index) {
  if (t.size() == 0) return std::nullopt;
  const std::vector<int64_t> strides = RowMajorStrides(t.shape());
  bool same = true, integers = true, finite = true;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double x = t.AtDouble(i);
    same &= x == t.AtDouble(0) && std::signbit(x) == std::signbit(t.AtDouble(0));
    integers &= IsExactInteger(x);
    finite &= std::isfinite(x) && std::abs(x) < 9007199254740992.0;
  }
  if (!finite) return std::nullopt;
  if (same) return ScalarExpr(t.AtDouble(0));
  if (integers) {
    const int64_t first = t.AtInt(0);
    std::vector<int64_t> slopes;
    IndexExpr affine = first;
    for (size_t d = 0; d < strides.size(); ++d) {
      slopes.push_back(t.shape()[d] > 1 ? t.AtInt(strides[d]) - first : 0);
      affine = affine + IndexExpr(slopes[d]) * index[d];
    }
    bool is_affine = true;
    for (int64_t i = 0; i < t.size() && is_affine; ++i) {
      int64_t value = first;
      for (size_t d = 0; d < strides.size(); ++d) {
        value += slopes[d] * (i / strides[d] % t.shape()[d]);
      }
      is_affine = value == t.AtInt(i);
    }
    if (is_affine) return ScalarExpr::Index(affine);
  }
  if (t.size() > kMaxChosen) return std::nullopt;
  ScalarExpr chosen(t.AtDouble(t.size() - 1));
  for (int64_t i = t.size() - 1; i-- > 0;) {
    Guard here;
    for (size_t d = 0; d < strides.size(); ++d) {
      if (t.shape()[d] > 1) here = here && Eq(index[d], i / strides[d] % t.shape()[d]);
    }
    chosen = ScalarExpr::Select(here, ScalarExpr(t.AtDouble(i)), chosen);
  }
  return chosen;
}

std::optional<Definition> ConstantDefinition(const Tensor& t) {
  Definition definition;
  TensorExpr tensor;
  tensor.dtype = t.dtype();
  Idx index;
  for (int64_t dim : t.shape()) {
    index.push_back(IndexExpr::Var(definition.num_vars));
    tensor.axes.push_back({definition.num_vars++, dim});
  }
  auto body = ClosedForm(t, index);
  if (!body) return std::nullopt;
  tensor.body = *body;
  definition.tensors.push_back(std::move(tensor));
  definition.outputs = {0};
  return definition;
}

// Floats that are not multiples of 1/4096 were probably rounded.
bool LooksRounded(const Node& node) {
  for (const auto& [name, attr] : node.attrs()) {
    auto* x = std::get_if<double>(&attr);
    if (x != nullptr && std::isfinite(*x) && !IsExactInteger(*x * 4096)) return true;
  }
  if (!node.has_payload() || !IsFloat(node.type(0).dtype)) return false;
  for (int64_t i = 0; i < node.payload().size(); ++i) {
    if (!IsExactInteger(node.payload().AtDouble(i) * 4096)) return true;
  }
  return false;
}

// The integers or truth values that `node` computes from constants, if this is exact.
std::optional<std::vector<Tensor>> Folded(const Node& node, const std::vector<Tensor>& operands) {
  auto definition = DefinitionOf(node);
  auto program = definition.ok() ? CompileLoops(*definition) : definition.status();
  if (!program.ok()) return std::nullopt;
  std::vector<TensorView> views;
  for (const Tensor& t : operands) {
    if (IsReal(t.dtype())) return std::nullopt;
    views.push_back({t.raw(), t.dtype(), DenseStrides(t.shape())});
  }
  std::vector<Tensor> results;
  std::vector<MutableTensorView> targets;
  for (const TensorType& type : node.types()) {
    if (IsReal(type.dtype) || type.num_elements() > kMaxFolded) return std::nullopt;
    auto tensor = Tensor::Allocate(type);
    if (!tensor.ok()) return std::nullopt;
    targets.push_back({tensor->mutable_raw(), type.dtype, DenseStrides(type.shape)});
    results.push_back(*std::move(tensor));
  }
  if (!Run<int64_t>(*program, views, targets).ok()) return std::nullopt;
  return results;
}

// The definition with real attributes rounded to the operator's precision, as its constant operands
// are.
absl::StatusOr<Definition> DefinitionInPrecision(const Node& node) {
  Attrs attrs = node.attrs();
  bool doubles = node.type(0).dtype == DType::kF64;
  for (const Value& input : node.inputs()) doubles |= input.dtype() == DType::kF64;
  for (auto& [name, attr] : attrs) {
    auto* x = std::get_if<double>(&attr);
    if (x != nullptr && !doubles) *x = static_cast<double>(static_cast<float>(*x));
  }
  LEMMA_ASSIGN_OR_RETURN(Definition definition, Define(node.op(), node.input_types(), attrs));
  return StoredBytes(std::move(definition));
}

// Builds the claim. Both sides share inputs: graph inputs by position, weights by name, other
// values by content.
class Builder {
 public:
  Builder(const Graph& a, const Graph& b, bool cut, EqualWeights weights)
      : graphs_{&a, &b}, cut_(cut), equal_weights_(weights) {}

  absl::StatusOr<GraphClaim> Build();

 private:
  struct Side {
    std::vector<Definition> definitions;
    std::vector<std::vector<Source>> inputs;
    absl::flat_hash_map<Value, Source> where;
  };
  void MatchWeights();
  const Tensor* ConstantOf(const Value& value);
  absl::Status Visit(const Value& value, Side* side);
  bool IsCut(const Value& value) const;
  bool IsShared(const Node& node) const { return shared_.count(&node) > 0; }
  int InputFor(const Value& value);
  absl::StatusOr<Definition> Compose(const Graph& graph, Side* side, std::vector<int>* operators);

  const Graph* graphs_[2];
  const bool cut_;
  const EqualWeights equal_weights_;
  absl::flat_hash_set<const Node*> shared_;
  std::set<std::string> free_weights_;     // equal in both graphs: the claim holds for any values
  absl::flat_hash_map<Value, int> index_;  // number of the statement's input
  std::map<std::string, int> weights_;
  absl::flat_hash_map<Value, Tensor> constants_;
  std::vector<ExprType> types_;
  GraphClaim claim_;
};

void Builder::MatchWeights() {
  std::map<std::string, std::vector<const Node*>> by_name;
  for (const Graph* graph : graphs_) {
    for (const NodePtr& node : graph->nodes()) {
      if (node->kind() == Node::Kind::kWeight) by_name[node->name()].push_back(node.get());
    }
  }
  for (const auto& [name, nodes] : by_name) {
    if (nodes.size() != 2 || nodes[0]->type(0) != nodes[1]->type(0)) continue;
    const bool stored = nodes[0]->has_payload() && nodes[1]->has_payload();
    const bool free = !stored || (equal_weights_ == EqualWeights::kAnyValues &&
                                  nodes[0]->payload().SameBytes(nodes[1]->payload()));
    if (free) free_weights_.insert(name);
  }
}

int Builder::InputFor(const Value& value) {
  const Node& node = value.node();
  const bool free = node.kind() == Node::Kind::kWeight && free_weights_.count(node.name()) > 0;
  // Nodes are compared by content: both graphs share the node of an equal input or constant.
  auto [it, added] = index_.emplace(value, static_cast<int>(types_.size()));
  if (free) {
    auto [named, first] = weights_.emplace(node.name(), it->second);
    if (added && !first) {
      it->second = named->second;
      added = false;
    }
  }
  if (added) {
    types_.push_back(ToExprType(node.type(value.output())));
    claim_.known.emplace_back();
    claim_.statement.finite.push_back(node.has_payload() && node.is_finite());
    if (!node.is_op() && node.has_payload()) {
      if (free) {
        claim_.generalized.push_back(node.name());
      } else {
        claim_.known.back() = node.payload();
      }
    }
  }
  return it->second;
}

bool Builder::IsCut(const Value& value) const {
  const Node& node = value.node();
  if (!IsShared(node)) return false;
  return cut_ && IsFloat(value.dtype()) && (node.is_op() || node.payload().size() > 1);
}

// nullptr unless `value` is a constant or exact arithmetic on constants.
const Tensor* Builder::ConstantOf(const Value& value) {
  if (auto it = constants_.find(value); it != constants_.end()) return &it->second;
  const Node& node = value.node();
  if (node.kind() == Node::Kind::kConstant) return &(constants_[value] = node.payload());
  if (!node.is_op()) return nullptr;
  std::vector<Tensor> operands;
  for (const Value& operand : node.inputs()) {
    auto it = constants_.find(operand);
    if (it == constants_.end()) return nullptr;
    operands.push_back(it->second);
  }
  auto results = Folded(node, operands);
  if (!results) return nullptr;
  for (int o = 0; o < node.num_outputs(); ++o) {
    constants_[Value(value.node_ptr(), o)] = (*results)[o];
  }
  return &constants_[value];
}

absl::Status Builder::Visit(const Value& value, Side* side) {
  if (side->where.count(value) > 0) return absl::OkStatus();
  const Node& node = value.node();
  auto add = [&](Definition definition, std::vector<Source> inputs) {
    const int step = static_cast<int>(side->definitions.size());
    for (int o = 0; o < node.num_outputs(); ++o) {
      side->where[Value(value.node_ptr(), o)] = {step, o};
    }
    side->definitions.push_back(std::move(definition));
    side->inputs.push_back(std::move(inputs));
  };
  if (const Tensor* constant = ConstantOf(value); constant != nullptr && !IsCut(value)) {
    auto definition = ConstantDefinition(*constant);
    if (definition && node.num_outputs() == 1) {
      add(*std::move(definition), {});
      return absl::OkStatus();
    }
  }
  if (!node.is_op() || IsCut(value)) {
    side->where[value] = {-1, InputFor(value)};
    return absl::OkStatus();
  }
  auto definition = DefinitionInPrecision(node);
  if (!definition.ok() && IsShared(node)) {  // the same function of the same values
    side->where[value] = {-1, InputFor(value)};
    return absl::OkStatus();
  }
  if (!definition.ok()) return definition.status();
  std::vector<Source> inputs;
  for (const Value& operand : node.inputs()) inputs.push_back(side->where.at(operand));
  add(*std::move(definition), std::move(inputs));
  return absl::OkStatus();
}

absl::StatusOr<Definition> Builder::Compose(const Graph& graph, Side* side,
                                            std::vector<int>* operators) {
  std::vector<ComposeStep> steps;
  for (size_t i = 0; i < side->definitions.size(); ++i) {
    steps.push_back({&side->definitions[i], side->inputs[i]});
  }
  std::vector<Source> outputs;
  for (const Value& value : graph.outputs()) outputs.push_back(side->where.at(value));
  return Chain(types_, steps, outputs, operators);
}

absl::StatusOr<GraphClaim> Builder::Build() {
  for (const NodePtr& node : graphs_[0]->nodes()) shared_.insert(node.get());
  absl::flat_hash_set<const Node*> second;
  for (const NodePtr& node : graphs_[1]->nodes()) {
    if (IsShared(*node)) second.insert(node.get());
  }
  shared_ = std::move(second);
  MatchWeights();
  Side sides[2];
  for (int i = 0; i < 2; ++i) {
    for (const Value& input : graphs_[i]->inputs()) {
      LEMMA_RETURN_IF_ERROR(Visit(input, &sides[i]));
    }
    // Operands before users. Skips values that are only needed to compute a cut value.
    absl::flat_hash_set<Value> needed(graphs_[i]->outputs().begin(), graphs_[i]->outputs().end());
    const std::vector<NodePtr>& nodes = graphs_[i]->nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      for (int o = 0; o < (*it)->num_outputs(); ++o) {
        const Value value(*it, o);
        if (needed.count(value) == 0 || IsCut(value)) continue;
        needed.insert((*it)->inputs().begin(), (*it)->inputs().end());
      }
    }
    for (const NodePtr& node : nodes) {
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        if (needed.count(value) == 0) continue;
        LEMMA_RETURN_IF_ERROR(Visit(value, &sides[i]));
        claim_.rounded |= LooksRounded(*node);
      }
    }
  }
  LEMMA_ASSIGN_OR_RETURN(claim_.statement.source,
                         Compose(*graphs_[0], &sides[0], &claim_.statement.source_operators));
  LEMMA_ASSIGN_OR_RETURN(claim_.statement.target,
                         Compose(*graphs_[1], &sides[1], &claim_.statement.target_operators));
  if (UsesSmallFloats(claim_.statement)) {
    return absl::UnimplementedError("no proof knows floats of 8 and 4 bits");
  }
  claim_.operators = static_cast<int>(sides[0].definitions.size() + sides[1].definitions.size());
  claim_.statement.name = absl::StrCat(graphs_[0]->name(), " = ", graphs_[1]->name());
  return std::move(claim_);
}

}  // namespace

absl::StatusOr<GraphClaim> MakeClaim(const Graph& a, const Graph& b, bool cut,
                                     EqualWeights weights) {
  return Builder(a, b, cut, weights).Build();
}

Verdict ProveClaim(const GraphClaim& claim, const ProverOptions& options) {
  Statement statement = claim.statement;
  bool reads_at_data = false;
  statement.source = ResolveIntegers(statement.source, &reads_at_data);
  statement.target = ResolveIntegers(statement.target, &reads_at_data);
  ProverOptions only_proof = options;
  only_proof.samples = 0;
  Verdict verdict = Prove(statement, only_proof);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    proved->coverage = reads_at_data ? ", wherever both read inside their tensors" : "";
  }
  return verdict;
}

}  // namespace lemma::prover
