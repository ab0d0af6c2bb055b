#include "runtime/plan/node_traits.h"

#include <algorithm>
#include <utility>

#include "graph/builder.h"
#include "graph/sizes/specialize.h"
#include "runtime/plan/maximum.h"

namespace lemma {
namespace {

// Adds scale * e to constant + sum of coefficient[var] * var; false if `e` is not affine in `vars`.
bool AddAffine(const IndexExpr& e, int64_t scale, const absl::flat_hash_map<VarId, int>& vars,
               int64_t* constant, std::vector<int64_t>* coefficient) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      *constant += scale * e.value();
      return true;
    case IndexExpr::Kind::kVar: {
      auto it = vars.find(e.var());
      if (it == vars.end()) return false;
      (*coefficient)[it->second] += scale;
      return true;
    }
    case IndexExpr::Kind::kAdd:
      return AddAffine(e.lhs(), scale, vars, constant, coefficient) &&
             AddAffine(e.rhs(), scale, vars, constant, coefficient);
    case IndexExpr::Kind::kMul:
      if (e.lhs().is_const()) {
        return AddAffine(e.rhs(), scale * e.lhs().value(), vars, constant, coefficient);
      }
      return e.rhs().is_const() &&
             AddAffine(e.lhs(), scale * e.rhs().value(), vars, constant, coefficient);
    default:
      return false;
  }
}

absl::flat_hash_map<VarId, int> AxisOf(const TensorExpr& tensor) {
  absl::flat_hash_map<VarId, int> vars;
  for (size_t d = 0; d < tensor.axes.size(); ++d) vars[tensor.axes[d].var] = static_cast<int>(d);
  return vars;
}

std::optional<AffineView> ViewOf(const Definition& definition, const TensorExpr& tensor) {
  const ScalarExpr& body = tensor.body;
  if (body.kind() != ScalarExpr::Kind::kRead || body.tensor() >= definition.num_inputs() ||
      definition.inputs[body.tensor()].dtype != tensor.dtype) {
    return std::nullopt;
  }
  const absl::flat_hash_map<VarId, int> vars = AxisOf(tensor);
  const size_t rank = tensor.axes.size();
  AffineView view;
  view.input = body.tensor();
  view.output_rank = static_cast<int>(rank);
  for (const IndexExpr& index : body.indices()) {
    int64_t constant = 0;
    std::vector<int64_t> coefficient(rank, 0);
    if (!AddAffine(index, 1, vars, &constant, &coefficient)) return std::nullopt;
    for (int64_t c : coefficient) {
      if (c < 0) return std::nullopt;  // a reversed axis: layouts have no negative strides
    }
    view.offset.push_back(constant);
    view.coefficient.push_back(std::move(coefficient));
  }
  if (view.offset.size() != rank) return view;
  std::vector<int> permutation(rank, -1);
  for (size_t in = 0; in < rank; ++in) {
    int found = -1;
    for (size_t out = 0; out < rank; ++out) {
      if (view.coefficient[in][out] == 0) continue;
      if (view.coefficient[in][out] != 1 || found >= 0) return view;
      found = static_cast<int>(out);
    }
    if (found < 0 || permutation[found] >= 0 || view.offset[in] != 0) return view;
    // A part of the input, even from its start on, has another size.
    const auto size = tensor.axes[found].extent.AsConst();
    if (!size || size != definition.inputs[view.input].dims[in].AsConst()) return view;
    permutation[found] = static_cast<int>(in);
  }
  view.permutation = std::move(permutation);
  return view;
}

// The first value of an output index that `guard` refuses, and which index that is, if the guard
// admits all that are smaller: i <= c.
struct UpperBound {
  int dim = 0;
  int64_t end = 0;
};
std::optional<UpperBound> UpperBoundOf(const Guard& guard,
                                       const absl::flat_hash_map<VarId, int>& vars) {
  if (guard.kind() != Guard::Kind::kLe) return std::nullopt;
  int64_t constant = 0;
  std::vector<int64_t> coefficient(vars.size(), 0);
  if (!AddAffine(guard.lhs(), 1, vars, &constant, &coefficient) ||
      !AddAffine(guard.rhs(), -1, vars, &constant, &coefficient)) {
    return std::nullopt;
  }
  std::optional<UpperBound> bound;
  for (size_t dim = 0; dim < coefficient.size(); ++dim) {
    if (coefficient[dim] == 0) continue;
    if (coefficient[dim] != 1 || bound) return std::nullopt;
    bound = UpperBound{static_cast<int>(dim), 1 - constant};
  }
  return bound;
}

// Whether `part` is input `input`, all of it, moved by `start` along dimension `dim` of the output.
bool IsPart(const Definition& definition, const TensorExpr& tensor, const ScalarExpr& part,
            int input, int dim, int64_t start) {
  if (part.kind() != ScalarExpr::Kind::kRead || part.tensor() != input) return false;
  const ExprType& type = definition.inputs[input];
  if (type.dtype != tensor.dtype || type.dims.size() != tensor.axes.size()) return false;
  const absl::flat_hash_map<VarId, int> vars = AxisOf(tensor);
  for (size_t d = 0; d < tensor.axes.size(); ++d) {
    const bool moved = static_cast<int>(d) == dim;
    int64_t constant = 0;
    std::vector<int64_t> coefficient(vars.size(), 0), own(vars.size(), 0);
    own[d] = 1;
    if (!AddAffine(part.indices()[d], 1, vars, &constant, &coefficient) || coefficient != own ||
        constant != (moved ? -start : 0)) {
      return false;
    }
    if (!moved && type.dims[d].AsConst() != tensor.axes[d].extent.AsConst()) return false;
  }
  return true;
}

// Whether the output is: if i < end_0 then input 0, else if i < end_1 then input 1, …
std::optional<int> ConcatDimOf(const Definition& definition, const TensorExpr& tensor) {
  const absl::flat_hash_map<VarId, int> vars = AxisOf(tensor);
  const ScalarExpr* rest = &tensor.body;
  std::optional<int> dim;
  int64_t start = 0;
  for (int input = 0; input < definition.num_inputs(); ++input) {
    const bool last = input + 1 == definition.num_inputs();
    const ScalarExpr* part = rest;
    if (!last) {
      if (rest->kind() != ScalarExpr::Kind::kSelect) return std::nullopt;
      const std::optional<UpperBound> bound = UpperBoundOf(rest->guard(), vars);
      if (!bound || dim.value_or(bound->dim) != bound->dim) return std::nullopt;
      dim = bound->dim;
      part = &rest->args()[0];
      rest = &rest->args()[1];
      if (definition.inputs[input].dims.size() != tensor.axes.size() ||
          definition.inputs[input].dims[*dim].AsConst() != bound->end - start) {
        return std::nullopt;
      }
    }
    if (!dim || !IsPart(definition, tensor, *part, input, *dim, start)) return std::nullopt;
    start += definition.inputs[input].dims[*dim].AsConst().value_or(0);
  }
  return dim && tensor.axes[*dim].extent.AsConst() == start ? dim : std::nullopt;
}

// floor(number / divisor) mod modulus. Modulus 0: without the remainder.
struct Digit {
  IndexExpr number;
  int64_t divisor = 1, modulus = 0;
};
Digit DigitOf(const IndexExpr& e) {
  Digit digit;
  digit.number = e;
  auto take = [&digit](IndexExpr::Kind kind, int64_t* constant) {
    if (digit.number.kind() != kind || !digit.number.rhs().is_const()) return;
    *constant = digit.number.rhs().value();
    const IndexExpr lhs = digit.number.lhs();
    digit.number = lhs;
  };
  take(IndexExpr::Kind::kMod, &digit.modulus);
  take(IndexExpr::Kind::kFloorDiv, &digit.divisor);
  return digit;
}

// Whether the element of the input at `indices` has the output's own row-major position. Indices
// may be the digits of one number; then the number is the position.
bool KeepsPosition(const Idx& indices, const Shape& in, const TensorExpr& output,
                   const Shape& out) {
  const absl::flat_hash_map<VarId, int> vars = AxisOf(output);
  const Strides from = RowMajorStrides(in), to = RowMajorStrides(out);
  int64_t constant = 0;
  std::vector<int64_t> coefficient(out.size(), 0);
  std::optional<Digit> lower;  // the digit before, if higher ones of its number must follow
  for (size_t d = in.size(); d-- > 0;) {
    if (in[d] == 1) continue;  // its index is 0
    const Digit digit = DigitOf(indices[d]);
    if (digit.modulus != 0 && digit.modulus != in[d]) return false;
    if (lower) {
      if (!Identical(digit.number, lower->number) || digit.divisor != lower->divisor) return false;
    } else if (digit.divisor != 1 ||
               !AddAffine(digit.number, from[d], vars, &constant, &coefficient)) {
      return false;
    }
    lower.reset();
    if (digit.modulus != 0) lower = Digit{digit.number, digit.divisor * in[d], 0};
  }
  if (lower || constant != 0) return false;
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] != 1 && coefficient[d] != to[d]) return false;
  }
  return true;
}

// See NodeTraits::reshapes.
bool Reshapes(const Node& node, const Definition& definition) {
  if (node.inputs().size() != 1 || node.num_outputs() != 1 || definition.tensors.size() != 1) {
    return false;
  }
  const TensorType &in = node.inputs()[0].type(), &out = node.type(0);
  const ScalarExpr& body = definition.tensors[0].body;
  if (body.kind() != ScalarExpr::Kind::kRead || in.dtype != out.dtype || in.shape == out.shape ||
      in.num_elements() != out.num_elements()) {
    return false;
  }
  return in.num_elements() == 0 ||
         KeepsPosition(body.indices(), in.shape, definition.tensors[0], out.shape);
}

bool IsPointwise(const ScalarExpr& e, const Definition& definition,
                 const absl::flat_hash_map<VarId, int>& vars) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return true;
    case ScalarExpr::Kind::kRead: {
      const Idx dims = definition.TypeOf(e.tensor()).dims;
      int last = -1;
      for (size_t d = 0; d < e.indices().size(); ++d) {
        const IndexExpr& index = e.indices()[d];
        if (index.AsConst() == 0 && dims[d].AsConst() == 1) continue;
        if (index.kind() != IndexExpr::Kind::kVar) return false;
        auto axis = vars.find(index.var());
        if (axis == vars.end()) return false;
        // A permuted element is not at the output's own index, nor is one on a diagonal.
        if (axis->second <= last) return false;
        if (dims.size() == vars.size() && axis->second != static_cast<int>(d)) return false;
        last = axis->second;
      }
      return true;
    }
    case ScalarExpr::Kind::kApply:
      for (const ScalarExpr& arg : e.args()) {
        if (!IsPointwise(arg, definition, vars)) return false;
      }
      return true;
    default:
      return false;
  }
}

// Marks the inputs that `e` reads.
void CollectReads(const ScalarExpr& e, std::vector<bool>* reads) {
  if (e.kind() == ScalarExpr::Kind::kRead) (*reads)[e.tensor()] = true;
  for (const ScalarExpr& arg : e.args()) CollectReads(arg, reads);
}

// Whether the output is: if c then f(some inputs) else g(some inputs), with a scalar c.
std::optional<Choice> ChoiceOf(const Definition& definition, const TensorExpr& tensor,
                               const std::vector<bool>& is_index) {
  const ScalarExpr& body = tensor.body;
  if (definition.tensors.size() != 1 || body.kind() != ScalarExpr::Kind::kApply ||
      body.fn() != ScalarFn::kWhere) {
    return std::nullopt;
  }
  const ScalarExpr& test = body.args()[0];
  if (test.kind() != ScalarExpr::Kind::kRead || !test.indices().empty()) return std::nullopt;
  const auto inputs = static_cast<size_t>(definition.num_inputs());
  std::vector<bool> on_true(inputs), on_false(inputs);
  CollectReads(body.args()[1], &on_true);
  CollectReads(body.args()[2], &on_false);
  Choice choice;
  choice.condition = test.tensor();
  for (size_t i = 0; i < inputs; ++i) {
    const bool always =
        on_true[i] == on_false[i] || is_index[i] || static_cast<int>(i) == choice.condition;
    choice.sides.push_back(always       ? Choice::Side::kBoth
                           : on_true[i] ? Choice::Side::kThen
                                        : Choice::Side::kElse);
  }
  return choice;
}

DType Wide(DType dtype) { return IsHalfFloat(dtype) ? DType::kF32 : dtype; }

// See NodeTraits::widens. Compares both definitions.
bool Widens(const Node& node, const Definition& narrow) {
  auto is_half = [](const TensorType& type) { return IsHalfFloat(type.dtype); };
  const std::vector<TensorType> input_types = node.input_types();
  if (std::none_of(input_types.begin(), input_types.end(), is_half) &&
      std::none_of(node.types().begin(), node.types().end(), is_half)) {
    return false;
  }
  std::vector<Value> inputs;
  inputs.reserve(input_types.size());
  for (const auto& [dtype, shape] : input_types) {
    inputs.emplace_back(Node::Input(static_cast<int>(inputs.size()), {Wide(dtype), shape}), 0);
  }
  const absl::StatusOr<std::vector<Value>> wide_values =
      ApplyOp(node.op().name, std::move(inputs), node.attrs());
  if (!wide_values.ok()) return false;
  const absl::StatusOr<Definition> wide = DefinitionOf(wide_values->front().node());
  if (!wide.ok() || wide->ToString() != narrow.ToString()) return false;
  // A result that is read again has been rounded.
  std::vector<bool> reads(static_cast<size_t>(narrow.num_inputs()) + narrow.tensors.size());
  for (size_t i = 0; i < narrow.tensors.size(); ++i) {
    if (Wide(narrow.tensors[i].dtype) != wide->tensors[i].dtype) return false;
    CollectReads(narrow.tensors[i].body, &reads);
  }
  return std::none_of(narrow.outputs.begin(), narrow.outputs.end(),
                      [&](TensorId id) { return id >= narrow.num_inputs() && reads[id]; });
}

bool HasSymbols(const Node& node) {
  const auto is_symbolic = [](const Value& v) { return IsSymbolic(v.shape()); };
  return IsSymbolic(node) || std::any_of(node.inputs().begin(), node.inputs().end(), is_symbolic);
}

NodeTraits Analyze(const Node& node) {
  NodeTraits traits;
  if (HasSymbols(node)) return traits;  // it is executed only when its sizes are known
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok()) return traits;
  traits.defined = true;
  auto output = [&](int i) -> const TensorExpr* {
    int id = definition->outputs[i] - definition->num_inputs();
    return id < 0 ? nullptr : &definition->tensors[id];
  };
  for (int i = 0; i < node.num_outputs(); ++i) {
    const TensorExpr* tensor = output(i);
    std::optional<AffineView> view;
    if (tensor != nullptr) view = ViewOf(*definition, *tensor);
    if (!view) break;
    traits.views.push_back(*std::move(view));
  }
  if (static_cast<int>(traits.views.size()) != node.num_outputs()) traits.views.clear();
  traits.domain = DomainOf(*definition);
  traits.widens = Widens(node, *definition);
  traits.rounds = traits.widens && WithStoredOutputs(*definition, Arithmetic::kFloat).ToString() !=
                                       definition->ToString();
  traits.is_index = InputsReadAsIndex(*definition);
  const TensorExpr* tensor = output(0);
  traits.pointwise = node.num_outputs() == 1 && tensor != nullptr;
  if (traits.pointwise) traits.concat_dim = ConcatDimOf(*definition, *tensor);
  if (traits.pointwise) {
    traits.choice = ChoiceOf(*definition, *tensor, traits.is_index);
  }
  for (const TensorExpr& t : definition->tensors) {
    traits.pointwise = traits.pointwise && IsPointwise(t.body, *definition, AxisOf(t));
  }
  if (traits.pointwise) traits.element = ElementFunctionOf(*definition);
  traits.reshapes = Reshapes(node, *definition);
  traits.selects_largest = SelectsLargest(*definition);
  return traits;
}

}  // namespace

Strides AffineView::StridesOver(const Strides& input_strides) const {
  Strides result(output_rank, 0);
  for (size_t in = 0; in < coefficient.size(); ++in) {
    for (size_t out = 0; out < result.size(); ++out) {
      result[out] += coefficient[in][out] * input_strides[in];
    }
  }
  return result;
}

int64_t AffineView::OffsetOver(const Strides& input_strides) const {
  int64_t result = 0;
  for (size_t in = 0; in < offset.size(); ++in) result += offset[in] * input_strides[in];
  return result;
}

const NodeTraits& NodeTraitsCache::Of(const Node& node) {
  std::unique_ptr<NodeTraits>& entry = traits_[HashApplication(node)];
  if (entry == nullptr) entry = std::make_unique<NodeTraits>(Analyze(node));
  return *entry;
}

}  // namespace lemma
