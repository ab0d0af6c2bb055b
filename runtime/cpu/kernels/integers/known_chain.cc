#include "runtime/cpu/kernels/integers/known_chain.h"

#include <algorithm>

#include "absl/types/span.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::cpu {
namespace {

bool IsStepFn(ScalarFn fn) {
  switch (fn) {
    case ScalarFn::kAdd:
    case ScalarFn::kSub:
    case ScalarFn::kMul:
    case ScalarFn::kDiv:
    case ScalarFn::kMin:
    case ScalarFn::kMax:
    case ScalarFn::kRound:
      return true;
    default:
      return IsStored(fn);
  }
}

// narrow: the result has 8 bits.
bool HasOnlySteps(const ScalarExpr& e, bool narrow) {
  if (e.kind() == ScalarExpr::Kind::kApply && !IsStepFn(e.fn()) &&
      !(narrow && e.fn() == ScalarFn::kTrunc)) {
    return false;
  }
  return std::all_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return HasOnlySteps(arg, narrow); });
}

}  // namespace

std::optional<KnownChain> KnownChain::Compile(const CpuKernelSpec& spec, const Value& start,
                                              const StaticValues& statics) {
  if (!kernels::HasIntegerTiles() || start.dtype() != DType::kF32) return std::nullopt;
  const std::vector<NodePtr> behind = NodesBehind(start, spec.nodes);
  const auto until = std::find(spec.nodes.begin(), spec.nodes.end(), start.node_ptr());
  for (const NodePtr& node : behind) {  // what is in front of `start` is not computed again
    if (until != spec.nodes.end() && std::find(spec.nodes.begin(), until + 1, node) != until + 1) {
      return std::nullopt;
    }
  }
  const auto chain = ChainProgram::Compile(spec, start, behind, 0);
  if (!chain || chain->has_vectors()) return std::nullopt;
  std::vector<void*> inputs(spec.inputs.size(), nullptr);
  for (const ChainProgram::Source& source : chain->sources()) {
    if (chain->IsLoaded(source) || chain->IsGate(source)) return std::nullopt;
    if (!spec.inputs[source.input].is_static) return std::nullopt;
    inputs[source.input] = const_cast<void*>(statics[source.input].raw());
  }
  const std::vector<int64_t> row_steps(spec.inputs.size(), 0);
  KnownChain result;
  result.steps_ = chain->Bound(inputs, {0, 0, 0, 0, row_steps});
  result.result_ = chain->result();
  result.result_bytes_ = result.result_ == kernels::ChainResult::kF32 ? 4 : 1;
  if (result.result_bytes_ == 1 && kernels::BestIntegerIsa() == kernels::IntegerIsa::kVnni) {
    result.requantization_ = kernels::Requantization::OfElements(result.steps_);
  }
  return result;
}

void KnownChain::Run(const float* x, int64_t rows, int64_t columns, void* y, int64_t y_step) const {
  if (y_step == columns) {  // one long row
    columns *= rows;
    y_step = columns;
    rows = 1;
  }
  if (!requantization_) {
    kernels::ApplyChain(x, columns, rows, columns, steps_.data(), static_cast<int>(steps_.size()),
                        result_, y, y_step);
    return;
  }
  kernels::Requantization::Rows all;
  all.rows = rows;
  all.columns = all.x_step = columns;
  all.x = x;
  all.y = y;
  all.y_step = y_step;
  requantization_->Run(all);
}

bool MayBeKnownStep(const Value& v, const Node& user) {
  if (v.dtype() != DType::kF32 || !kernels::HasIntegerTiles()) return false;
  const DType to = user.type(0).dtype;
  const bool narrow = to == DType::kU8 || to == DType::kI8;
  if (!narrow && to != DType::kF32) return false;
  const NodeTraits& traits = NodeTraitsOf(user);
  if (!traits.pointwise || !traits.element) return false;
  if (!HasOnlySteps(traits.element->body, narrow)) return false;
  return std::all_of(user.inputs().begin(), user.inputs().end(), [&](const Value& in) {
    return in == v || (in.type().num_elements() == 1 && IsStaticValue(in));
  });
}

}  // namespace lemma::cpu
