#include "verifier/normal_form/stored_bytes.h"

#include <algorithm>

#include "verifier/normal_form/storage.h"

namespace lemma::prover {
namespace {

// Whether every value of `e` is a value of `dtype`, as values are that are only moved.
bool Fits(const ScalarExpr& e, DType dtype, const Definition& d) {
  const auto low = static_cast<double>(LeastInteger(dtype));
  const auto high = static_cast<double>(LargestInteger(dtype));
  auto all_fit = [&](size_t from) {
    return std::all_of(e.args().begin() + from, e.args().end(),
                       [&](const ScalarExpr& arg) { return Fits(arg, dtype, d); });
  };
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return e.value() >= low && e.value() <= high &&
             e.value() == static_cast<double>(static_cast<int64_t>(e.value()));
    case ScalarExpr::Kind::kRead: {
      const DType from = d.TypeOf(e.tensor()).dtype;
      if (e.tensor() >= d.num_inputs()) return false;
      return Holds(dtype, from);
    }
    case ScalarExpr::Kind::kSelect:
      return all_fit(0);
    case ScalarExpr::Kind::kReduce: {
      const bool extreme = e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin;
      const bool nonempty = e.guard().is_true() &&
                            std::all_of(e.axes().begin(), e.axes().end(), [](const Axis& axis) {
                              return axis.extent.AsConst().value_or(0) > 0;
                            });
      return extreme && nonempty && all_fit(0);
    }
    case ScalarExpr::Kind::kApply:
      break;
    case ScalarExpr::Kind::kParam:
    case ScalarExpr::Kind::kIndex:
      return false;
  }
  if (Info(e.fn()).truth()) return true;
  switch (e.fn()) {
    case ScalarFn::kMin:
    case ScalarFn::kMax:
      return all_fit(0);
    case ScalarFn::kWhere:
      return all_fit(1);
    default:
      return false;
  }
}

// Whether it computes in reals; otherwise in integers.
bool ComputesInReals(const Definition& d) {
  auto is_float = [](const auto& tensor) { return IsReal(tensor.dtype); };
  return std::any_of(d.inputs.begin(), d.inputs.end(), is_float) ||
         std::any_of(d.tensors.begin(), d.tensors.end(), is_float);
}

}  // namespace

Definition StoredBytes(Definition definition) {
  for (TensorId id : definition.outputs) {
    if (id < definition.num_inputs()) continue;
    TensorExpr& tensor = definition.tensors[id - definition.num_inputs()];
    if (!IsInteger(tensor.dtype) || BitsOf(tensor.dtype) > 8) continue;
    const auto least = static_cast<double>(LeastInteger(tensor.dtype));
    const auto most = static_cast<double>(LargestInteger(tensor.dtype));
    const ScalarExpr x = tensor.body;
    if (Fits(x, tensor.dtype, definition)) continue;
    if (ComputesInReals(definition)) {
      const bool whole = x.kind() == ScalarExpr::Kind::kApply && x.fn() == ScalarFn::kTrunc;
      const ScalarExpr integer = whole ? x : Apply(ScalarFn::kTrunc, x);
      tensor.body = Apply(ScalarFn::kMin, Apply(ScalarFn::kMax, integer, least), most);
    } else {
      const ScalarExpr offset = least == 0 ? 0.0 : -least;  // no -0
      tensor.body = Apply(ScalarFn::kMod, x + offset, most - least + 1) - offset;
    }
  }
  return definition;
}

}  // namespace lemma::prover
