#include "verifier/kernels/meaning.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/expr/field.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/loops/cost.h"

namespace lemma::kernels {
namespace {

Arithmetic ArithmeticOf(absl::Span<const Definition> definitions) {
  Definition all;
  for (const Definition& d : definitions) {
    all.inputs.insert(all.inputs.end(), d.inputs.begin(), d.inputs.end());
    all.tensors.insert(all.tensors.end(), d.tensors.begin(), d.tensors.end());
  }
  return ArithmeticFor(definitions.size() == 1 ? definitions[0] : all);
}

// The range of numbers drawn for an integer type. Without `whole`, small ones.
std::pair<int64_t, int64_t> RangeOf(DType dtype, bool whole) {
  constexpr int64_t kSmall = 1 << 20;
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    case DType::kU32:
    case DType::kU64:
      return {0, whole ? (int64_t{1} << 32) - 1 : kSmall};
    default:
      break;
  }
  if (!whole) return {-kSmall, kSmall};
  if (dtype == DType::kI32) return {-(int64_t{1} << 31), (int64_t{1} << 31) - 1};
  return {INT64_MIN, INT64_MAX};
}

// What matters to functions that jump: their presence, and constants.
class Jumps {
 public:
  void Walk(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return;
    if (e.kind() == ScalarExpr::Kind::kConst && !std::isnan(e.value())) {
      constants.insert({e.value(), static_cast<float>(e.value())});
    }
    if (e.kind() == ScalarExpr::Kind::kReduce) {
      sums = sums || e.reduce() == ReduceKind::kSum || e.reduce() == ReduceKind::kProd;
    }
    if (e.kind() == ScalarExpr::Kind::kApply) {
      const ScalarFn fn = e.fn();
      asks = asks || fn == ScalarFn::kIsNan || fn == ScalarFn::kIsInf;
      any = any || Info(fn).discontinuous() || fn == ScalarFn::kWhere;
      kinks = kinks || fn == ScalarFn::kAbs || fn == ScalarFn::kMax || fn == ScalarFn::kMin;
    }
    for (const ScalarExpr& arg : e.args()) Walk(arg);
  }

  bool any = false;    // a function jumps
  bool kinks = false;  // one has a kink
  bool asks = false;   // one asks for infinities or NaN
  bool sums = false;   // there is a sum or a product of many numbers
  std::set<double> constants = {0};

 private:
  absl::flat_hash_set<const ScalarNode*> seen_;
};

// A number near one of `constants`, or a small one; for an integer, one that may be a position too.
template <class Random>
double FewOf(const std::vector<double>& constants, bool integer, int64_t positions,
             Random* random) {
  const uint64_t drawn = (*random)();
  const auto small = static_cast<double>((drawn >> 8) % 5) - 2;
  const uint64_t kind = drawn % 4;
  if (kind == 0) return small;
  if (integer && kind == 1) return static_cast<double>((drawn >> 8) % positions);
  const double constant = constants[(drawn >> 16) % constants.size()];
  return kind == 2 ? constant + std::clamp(small, -1.0, 1.0) : constant;
}

template <class Number>
absl::Status RunNode(const LoopProgram& program, absl::Span<const SlotMemory* const> inputs,
                     bool integers, std::vector<SlotMemory>* outputs) {
  std::vector<TensorView> views;
  for (size_t k = 0; k < inputs.size(); ++k) {
    TensorView view;
    view.data = inputs[k]->values.data();
    if (inputs[k]->integers && !integers) view.storage = DType::kI64;
    view.strides = DenseStrides(program.inputs()[k].dims);
    views.push_back(std::move(view));
  }
  std::vector<MutableTensorView> results;
  outputs->resize(program.outputs().size());
  for (size_t k = 0; k < outputs->size(); ++k) {
    const LoopProgram::Tensor& tensor = program.outputs()[k];
    SlotMemory& output = (*outputs)[k];
    int64_t elements = 1;
    for (int64_t dim : tensor.dims) elements *= dim;
    output.dtype = tensor.dtype;
    output.integers = integers;
    output.values.resize(elements);
    MutableTensorView view;
    view.data = output.values.data();
    view.strides = DenseStrides(tensor.dims);
    results.push_back(std::move(view));
  }
  return Run<Number>(program, views, results);
}

}  // namespace

namespace {

// Whether `e` has a sum over axes: of products of two numbers that are read, or of others.
bool HasSum(const ScalarExpr& e, bool of_products) {
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() == ReduceKind::kSum) {
    const ScalarExpr& term = e.args()[0];
    const bool product = term.kind() == ScalarExpr::Kind::kApply && term.fn() == ScalarFn::kMul;
    if (product == of_products) return true;
  }
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return HasSum(arg, of_products); });
}

bool HasSum(const Definition& definition, bool of_products) {
  return std::any_of(definition.tensors.begin(), definition.tensors.end(),
                     [&](const TensorExpr& t) { return HasSum(t.body, of_products); });
}

// Whether the definition only moves elements and converts them.
bool IsMove(const Definition& definition) {
  return std::all_of(definition.tensors.begin(), definition.tensors.end(), [](const TensorExpr& t) {
    const ScalarExpr* e = &t.body;
    while (e->kind() == ScalarExpr::Kind::kApply && IsStored(e->fn())) e = &e->args()[0];
    return e->kind() == ScalarExpr::Kind::kRead;
  });
}

// By node, whether it is the last one to compute what a softmax makes of products before another
// product takes it, or moves or converts that.
std::vector<bool> WeightsOf(absl::Span<const NodePtr> nodes,
                            absl::Span<const Definition> definitions) {
  enum State { kNone, kScores, kWeights, kAfter };
  absl::flat_hash_map<const Node*, std::pair<State, size_t>> known;  // and positions
  std::vector<bool> weights(nodes.size(), false);
  for (size_t n = 0; n < nodes.size(); ++n) {
    State state = kNone;
    for (const Value& input : nodes[n]->inputs()) {
      const auto found = known.find(&input.node());
      if (found != known.end()) state = std::max(state, found->second.first);
    }
    const bool product = HasSum(definitions[n], true), sum = HasSum(definitions[n], false);
    if (state == kWeights && product) {
      state = kAfter;
      for (const Value& input : nodes[n]->inputs()) {
        // Back through moves to what computes.
        for (auto at = known.find(&input.node());
             at != known.end() && at->second.first == kWeights;) {
          const size_t position = at->second.second;
          weights[position] = true;
          if (!IsMove(definitions[position]) || nodes[position]->inputs().size() != 1) break;
          at = known.find(&nodes[position]->inputs()[0].node());
        }
      }
    } else if (state == kNone && product) {
      state = kScores;
    } else if (state == kScores && sum) {
      state = kWeights;
    }
    known[nodes[n].get()] = {state, n};
  }
  return weights;
}

}  // namespace

absl::StatusOr<Meaning> Meaning::Of(absl::Span<const NodePtr> nodes, std::vector<Value> operands,
                                    bool streams) {
  Meaning meaning;
  meaning.nodes_.assign(nodes.begin(), nodes.end());
  meaning.operands_ = std::move(operands);
  for (const NodePtr& node : nodes) {
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) return definition.status();
    meaning.definitions_.push_back(*std::move(definition));
  }
  meaning.arithmetic_ = ArithmeticOf(meaning.definitions_);
  meaning.is_index_.assign(meaning.operands_.size(), false);
  const std::vector<bool> weights =
      streams ? WeightsOf(nodes, meaning.definitions_) : std::vector<bool>(nodes.size(), false);
  Jumps jumps;
  for (size_t n = 0; n < nodes.size(); ++n) {
    Definition& definition = meaning.definitions_[n];
    auto work = CountWork(definition);
    if (!work.ok()) return work.status();
    meaning.operations_ += work->flops;
    const std::vector<bool> is_index = InputsReadAsIndex(definition);
    for (size_t i = 0; i < is_index.size(); ++i) {
      const auto operand =
          std::find(meaning.operands_.begin(), meaning.operands_.end(), nodes[n]->inputs()[i]);
      if (is_index[i] && operand != meaning.operands_.end()) {
        meaning.is_index_[operand - meaning.operands_.begin()] = true;
      }
    }
    for (const TensorExpr& tensor : definition.tensors) jumps.Walk(tensor.body);
    const DType dtype = Value(nodes[n], 0).dtype();
    if (weights[n] && IsHalfFloat(dtype)) {
      if (meaning.free_rounding_ && *meaning.free_rounding_ != dtype) {
        return absl::InvalidArgumentError("a softmax is rounded to two types");
      }
      meaning.free_rounding_ = dtype;
    } else if (n + 1 < nodes.size()) {
      definition = WithStoredOutputs(std::move(definition), meaning.arithmetic_);
    }
  }
  // Sums in tiles may have more terms, which are 0 times a number, and NaN if that is infinite.
  meaning.special_ = jumps.asks || !jumps.sums;
  const bool matter = jumps.any || (jumps.kinks && meaning.special_);
  if (matter) meaning.constants_.assign(jumps.constants.begin(), jumps.constants.end());
  return meaning;
}

bool Meaning::needs_extremes() const {
  constexpr double kFew = 1e6;
  return std::any_of(definitions_.begin(), definitions_.end(), [&](const Definition& definition) {
    return HasExtremes(definition, /*only_reductions=*/operations_ > kFew);
  });
}

bool Meaning::has_indices() const {
  return std::count(is_index_.begin(), is_index_.end(), true) > 0;
}

void Meaning::UseIntegersAsIndices() {
  for (size_t k = 0; k < operands_.size(); ++k) {
    const DType dtype = operands_[k].dtype();
    if (!IsFloat(dtype) && SizeOf(dtype) >= 4) is_index_[k] = true;
  }
}

SlotMemory Meaning::Draw(size_t k, int64_t least, int64_t end, uint64_t seed, bool few) const {
  // Two operands may be one value, with the same numbers.
  k = std::find(operands_.begin(), operands_.end(), operands_[k]) - operands_.begin();
  const TensorType& type = operands_[k].type();
  SlotMemory memory;
  memory.dtype = type.dtype;
  memory.integers = !IsFloat(type.dtype);
  memory.values.resize(type.num_elements());
  std::mt19937_64 random(Mix(seed + k));
  auto [lo, hi] = RangeOf(type.dtype, integers());
  if (is_index_[k]) {
    const bool wide = type.dtype == DType::kI64 || !memory.integers;
    const auto [type_lo, type_hi] = RangeOf(type.dtype, true);
    lo = wide ? least : std::clamp(least, type_lo, type_hi);
    hi = wide ? end - 1 : std::clamp(end - 1, type_lo, type_hi);
  }
  const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;  // 0: 2^64
  int64_t positions = 1;
  std::vector<Value> values = operands_;
  for (const NodePtr& node : nodes_) values.push_back(Value(node, 0));
  for (const Value& v : values) {
    for (int64_t dim : v.shape()) positions = std::max(positions, dim);
  }
  for (int64_t& value : memory.values) {
    if (few && !constants_.empty() && !is_index_[k] && type.dtype != DType::kBool) {
      const double number = FewOf(constants_, memory.integers, positions, &random);
      if (memory.integers) {
        const auto [type_lo, type_hi] = RangeOf(type.dtype, true);
        const bool fits = number > -9e15 && number < 9e15;
        value = std::clamp(fits ? static_cast<int64_t>(number) : 0, type_lo, type_hi);
        continue;
      }
      constexpr double kSpecial[] = {INFINITY, -INFINITY, NAN};
      const bool special = special_ && random() % 4 == 0;
      const double x = special ? kSpecial[random() % 3] : std::isfinite(number) ? number : 0;
      value = static_cast<int64_t>(Field::FromDouble(x).raw());
      continue;
    }
    const uint64_t drawn = random();
    if (!memory.integers && !is_index_[k]) {
      value = static_cast<int64_t>(drawn % Field::kPrime);
    } else {
      value = static_cast<int64_t>(static_cast<uint64_t>(lo) + (span == 0 ? drawn : drawn % span));
      if (!memory.integers) value = static_cast<int64_t>(Field(value).raw());
    }
  }
  return memory;
}

SlotMemory Meaning::DrawInTurn(size_t k, int64_t least, int64_t end, uint64_t seed,
                               int64_t turn) const {
  SlotMemory memory = Draw(k, least, end, seed, false);
  k = std::find(operands_.begin(), operands_.end(), operands_[k]) - operands_.begin();
  if (!HasPositions(k)) return memory;
  const auto [type_lo, type_hi] = RangeOf(memory.dtype, true);
  const uint64_t span = static_cast<uint64_t>(end - least);
  for (uint64_t i = 0; i < memory.values.size(); ++i) {
    // Another beginning for each row of `span` numbers: pairs of indices come in all combinations.
    const uint64_t begin = Mix(seed + i / span) >> 8;
    int64_t value = least + static_cast<int64_t>((begin + i + static_cast<uint64_t>(turn)) % span);
    if (memory.integers) value = std::clamp(value, type_lo, type_hi);
    memory.values[i] = memory.integers ? value : static_cast<int64_t>(Field(value).raw());
  }
  return memory;
}

std::set<int64_t> Meaning::Axes(int64_t most) const {
  std::set<int64_t> axes;
  std::vector<Value> values = operands_;
  for (const NodePtr& node : nodes_) values.push_back(Value(node, 0));
  for (const Value& v : values) {
    for (int64_t dim : v.shape()) {
      if (dim >= 1 && dim <= most) axes.insert(dim);
    }
  }
  return axes;
}

bool Meaning::HasPositions(size_t k) const {
  const DType dtype = operands_[k].dtype();
  return is_index_[k] || (needs_few_numbers() && !IsFloat(dtype) && dtype != DType::kBool);
}

int64_t Meaning::LeastPositions() const {
  int64_t least = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    const int64_t elements = operands_[k].type().num_elements();
    if (HasPositions(k) && elements > 0) least = least == 0 ? elements : std::min(least, elements);
  }
  return least;
}

absl::StatusOr<std::vector<SlotMemory>> Meaning::Evaluate(
    absl::Span<const SlotMemory* const> operands, bool floats,
    const std::optional<Extremes>& extremes) const {
  absl::flat_hash_map<Value, const SlotMemory*> values;
  for (size_t k = 0; k < operands.size(); ++k) values[operands_[k]] = operands[k];
  std::vector<std::vector<SlotMemory>> results(nodes_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    auto program = CompileLoops(Restated(definitions_[n], floats, extremes));
    if (!program.ok()) return program.status();
    std::vector<const SlotMemory*> inputs;
    for (const Value& v : nodes_[n]->inputs()) inputs.push_back(values.at(v));
    const absl::Status s = integers() ? RunNode<int64_t>(*program, inputs, true, &results[n])
                                      : RunNode<Field>(*program, inputs, false, &results[n]);
    if (!s.ok()) return s;
    for (size_t k = 0; k < results[n].size(); ++k) {
      values[Value(nodes_[n], static_cast<int>(k))] = &results[n][k];
    }
  }
  return std::move(results.back());
}

}  // namespace lemma::kernels
