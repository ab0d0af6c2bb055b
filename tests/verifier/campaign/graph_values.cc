#include "tests/verifier/campaign/graph_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/expr/arithmetic.h"
#include "kernels/loops/cost.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

using Values = absl::flat_hash_map<Value, Tensor>;

bool IsAlgebraic(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply && !Info(e.fn()).algebraic()) return false;
  if (e.kind() == ScalarExpr::Kind::kReduce &&
      (e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin)) {
    return false;
  }
  return std::all_of(e.args().begin(), e.args().end(), IsAlgebraic);
}

template <class Test>
bool AnyFunction(const ScalarExpr& e, const Test& test) {
  if (e.kind() == ScalarExpr::Kind::kApply && test(e.fn())) return true;
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return AnyFunction(arg, test); });
}

bool Saturates(ScalarFn fn) { return fn >= ScalarFn::kExp && fn <= ScalarFn::kAtanh; }

bool Divides(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kDiv) return true;
  return std::any_of(e.args().begin(), e.args().end(), Divides);
}

bool LeavesZeroSignOpen(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() >= ReduceKind::kMax) return true;
  if (e.kind() == ScalarExpr::Kind::kApply) {
    for (ScalarFn fn : {ScalarFn::kMin, ScalarFn::kMax, ScalarFn::kSign, ScalarFn::kAbs}) {
      if (e.fn() == fn) return true;
    }
  }
  return std::any_of(e.args().begin(), e.args().end(), LeavesZeroSignOpen);
}

bool AddsUp(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() <= ReduceKind::kProd) return true;
  return std::any_of(e.args().begin(), e.args().end(), AddsUp);
}

Tensor ValueOf(const Value& v, const Values& values, const std::vector<Tensor>& inputs) {
  if (v.node().is_op()) return values.at(v);
  return v.node().has_payload() ? v.node().payload() : inputs[v.node().input_index()];
}

void Add(const Tensor& tensor, Seen* seen) {
  for (double x : tensor.ToDoubles()) {
    if (std::isfinite(x)) seen->largest = std::max(seen->largest, std::abs(x));
    seen->all_finite = seen->all_finite && std::isfinite(x);
  }
}

}  // namespace

absl::StatusOr<GraphRunner> GraphRunner::Of(const Graph& graph) {
  GraphRunner runner(graph);
  for (const NodePtr& node : graph.nodes()) {
    for (const TensorType& type : node->types()) {
      runner.integers_ = runner.integers_ || !IsFloat(type.dtype);
      runner.has_16_bit_floats_ = runner.has_16_bit_floats_ || IsHalfFloat(type.dtype);
      runner.all_f64_ = runner.all_f64_ && (!IsFloat(type.dtype) || type.dtype == DType::kF64);
    }
    if (!node->is_op()) continue;
    LEMMA_ASSIGN_OR_RETURN(Definition definition, DefinitionOf(*node));
    LEMMA_ASSIGN_OR_RETURN(LoopProgram program, CompileLoops(definition));
    const bool exact = ArithmeticFor(definition) == Arithmetic::kInteger;
    runner.operators_.push_back({node, std::move(program), exact});
    for (const TensorExpr& tensor : definition.tensors) {
      runner.rational_ = runner.rational_ && IsAlgebraic(tensor.body);
      runner.divides_ = runner.divides_ || Divides(tensor.body);
      runner.polynomial_ = runner.polynomial_ && !Divides(tensor.body);
      runner.discontinuous_ = runner.discontinuous_ || AnyFunction(tensor.body, [](ScalarFn fn) {
                                return Info(fn).discontinuous();
                              });
      runner.saturates_ = runner.saturates_ || AnyFunction(tensor.body, Saturates);
      runner.leaves_zero_sign_open_ =
          runner.leaves_zero_sign_open_ || LeavesZeroSignOpen(tensor.body);
      runner.adds_up_ = runner.adds_up_ || AddsUp(tensor.body);
    }
    LEMMA_ASSIGN_OR_RETURN(auto work, CountWork(definition));
    runner.work_ += work.flops;
    for (const TensorType& type : node->types()) {
      runner.work_ += static_cast<double>(type.num_elements());
    }
  }
  runner.rational_ = runner.rational_ && !runner.integers_;
  runner.polynomial_ = runner.polynomial_ && runner.rational_;
  return runner;
}

absl::StatusOr<std::vector<Tensor>> GraphRunner::Run(const std::vector<Tensor>& inputs,
                                                     bool rounded, Seen* seen) const {
  Values values;
  for (const Operator& op : operators_) {
    std::vector<Tensor> operands, results;
    std::vector<TensorView> in;
    std::vector<MutableTensorView> out;
    for (const Value& v : op.node->inputs()) operands.push_back(ValueOf(v, values, inputs));
    for (const Tensor& t : operands) {
      in.push_back({t.raw(), t.dtype(), RowMajorStrides(t.shape())});
      if (seen != nullptr) Add(t, seen);
    }
    for (TensorType type : op.node->types()) {
      if (!rounded && IsFloat(type.dtype)) type.dtype = DType::kF64;
      LEMMA_ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(type));
      results.push_back(std::move(t));
      Tensor& made = results.back();
      out.push_back({made.mutable_raw(), made.dtype(), RowMajorStrides(made.shape())});
    }
    LEMMA_RETURN_IF_ERROR(op.exact ? lemma::Run<int64_t>(op.program, in, out)
                                   : lemma::Run<double>(op.program, in, out));
    for (size_t i = 0; i < results.size(); ++i) {
      values[Value(op.node, static_cast<int>(i))] = results[i];
    }
  }
  std::vector<Tensor> outputs;
  for (const Value& v : graph_.outputs()) {
    outputs.push_back(ValueOf(v, values, inputs));
    if (seen != nullptr) Add(outputs.back(), seen);
  }
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> GraphRunner::RunTyped(const std::vector<Tensor>& inputs) const {
  return Run(inputs, true, nullptr);
}

absl::StatusOr<std::vector<std::vector<double>>> GraphRunner::RunReal(
    const std::vector<Tensor>& inputs, Seen* seen) const {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(inputs, false, seen));
  std::vector<std::vector<double>> rows;
  for (const Tensor& t : outputs) rows.push_back(t.ToDoubles());
  return rows;
}

absl::StatusOr<std::vector<std::vector<Field>>> GraphRunner::RunField(
    const std::vector<std::vector<Field>>& inputs) const {
  absl::flat_hash_map<Value, std::vector<Field>> values;
  auto value_of = [&](const Value& v) {
    if (v.node().is_op()) return values.at(v);
    if (!v.node().has_payload()) return inputs[v.node().input_index()];
    std::vector<Field> row;
    for (double x : v.node().payload().ToDoubles()) row.push_back(Field::FromDouble(x));
    return row;
  };
  for (const Operator& op : operators_) {
    std::vector<std::vector<Field>> operands, results;
    std::vector<TensorView> in;
    std::vector<MutableTensorView> out;
    for (const Value& v : op.node->inputs()) operands.push_back(value_of(v));
    for (size_t i = 0; i < operands.size(); ++i) {
      in.push_back({operands[i].data(), std::nullopt, DenseStrides(op.program.inputs()[i].dims)});
    }
    for (const TensorType& type : op.node->types()) results.emplace_back(type.num_elements());
    for (size_t i = 0; i < results.size(); ++i) {
      out.push_back({results[i].data(), std::nullopt, DenseStrides(op.program.outputs()[i].dims)});
    }
    LEMMA_RETURN_IF_ERROR(lemma::Run<Field>(op.program, in, out));
    for (size_t i = 0; i < results.size(); ++i) {
      values[Value(op.node, static_cast<int>(i))] = std::move(results[i]);
    }
  }
  std::vector<std::vector<Field>> outputs;
  for (const Value& v : graph_.outputs()) outputs.push_back(value_of(v));
  return outputs;
}

absl::StatusOr<std::vector<std::vector<double>>> RunNaively(const Graph& graph,
                                                            const std::vector<Tensor>& inputs) {
  absl::flat_hash_map<Value, std::vector<double>> values;
  auto value_of = [&](const Value& v) {
    if (v.node().is_op()) return values.at(v);
    if (v.node().has_payload()) return v.node().payload().ToDoubles();
    return inputs[v.node().input_index()].ToDoubles();
  };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    std::vector<std::vector<double>> operands;
    for (const Value& v : node->inputs()) operands.push_back(value_of(v));
    LEMMA_ASSIGN_OR_RETURN(Definition definition, DefinitionOf(*node));
    LEMMA_ASSIGN_OR_RETURN(auto outputs, OutputsNaively(definition, operands));
    for (size_t i = 0; i < outputs.size(); ++i) {
      values[Value(node, static_cast<int>(i))] = std::move(outputs[i]);
    }
  }
  std::vector<std::vector<double>> rows;
  for (const Value& v : graph.outputs()) rows.push_back(value_of(v));
  return rows;
}

}  // namespace lemma
