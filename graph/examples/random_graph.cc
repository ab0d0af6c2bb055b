#include "graph/examples/random_graph.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/expr/arithmetic.h"

namespace lemma {
namespace {

const std::vector<std::vector<OpExample>>& ExamplesByOperator() {
  static const auto* all = [] {
    auto* result = new std::vector<std::vector<OpExample>>;
    std::map<std::string, size_t> at;
    for (OpExample& example : AllExamples()) {
      if (!example.op->version.empty()) continue;  // one seed is one graph in every program
      const auto [entry, is_new] = at.try_emplace(example.op->name, result->size());
      if (is_new) result->emplace_back();
      (*result)[entry->second].push_back(std::move(example));
    }
    return result;
  }();
  return *all;
}

class Maker {
 public:
  Maker(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), builder_(absl::StrCat("random_", seed)) {
    special_ = Below(8) == 0;
    for (int i = 0; i < kNumDTypes; ++i) {
      const DType dtype = static_cast<DType>(i);
      if (IsSmallFloat(dtype) || (BitsOf(dtype) < 8 && !options.narrow_integers)) continue;
      if (!options.allowed_type || options.allowed_type(dtype)) types_.push_back(dtype);
    }
    const DType half = Below(2) == 0 ? DType::kF16 : DType::kBF16;
    if (Below(6) == 0 && std::count(types_.begin(), types_.end(), half) > 0) real_ = half;
  }

  RandomGraph Make() {
    const int operators = 1 + Below(options_.operators);
    NewInput({real_, RandomShape()});
    for (int made = 0, tries = 0; made < operators && tries < 20 * operators; ++tries) {
      made += Step() ? 1 : 0;
    }
    builder_.Output("last", values_.back());
    for (int i = 0; Below(3) == 0 && i < 3; ++i) {
      builder_.Output(absl::StrCat("other", i), values_[Below(static_cast<int>(values_.size()))]);
    }
    if (options_.part) AddUnusedOutputs();
    RandomGraph result;
    result.graph = *std::move(builder_).Build();
    result.inputs = std::move(inputs_);
    return result;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(std::max(n, 1))); }

  Shape RandomShape() {
    static const int64_t kDims[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33};
    Shape shape;
    do {
      shape.clear();
      for (int rank = Below(5); rank > 0; --rank) shape.push_back(kDims[Below(11)]);
    } while (NumElements(shape) > options_.most_elements / 4);
    if (!shape.empty() && Below(24) == 0) shape[Below(static_cast<int>(shape.size()))] = 0;
    return shape;
  }

  double RandomNumber(DType dtype) {
    if (dtype == DType::kBool) return Below(2);
    if (dtype == DType::kU8) return Below(2) == 0 ? Below(4) : Below(256);
    if (dtype == DType::kI8) return Below(2) == 0 ? Below(7) - 3 : Below(256) - 128;
    if (IsUnsigned(dtype)) {
      // The highest bits, of the numbers that a double holds.
      const double high = static_cast<double>(random_() >> 11) * 0x1p-53;
      return Below(4) == 0 ? std::floor(std::ldexp(high, static_cast<int>(BitsOf(dtype))))
                           : Below(7);
    }
    if (dtype == DType::kI16 && Below(4) == 0) return Below(65536) - 32768;
    if (IsInteger(dtype)) {
      return Below(8) == 0 ? static_cast<double>(static_cast<int32_t>(random_())) : Below(7) - 3;
    }
    if (special_ && Below(12) == 0) {
      constexpr double kInf = std::numeric_limits<double>::infinity();
      const double kSpecial[] = {kInf, -kInf, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0};
      return kSpecial[Below(5)];
    }
    const double scale = Below(6) == 0 ? 8 : 1;
    return scale * (static_cast<double>(random_() % 20001) / 10000 - 1);
  }

  Value NewValue(const TensorType& type, std::vector<double> numbers) {
    const std::string name = absl::StrCat("x", names_++);
    Tensor tensor = *Tensor::FromDoubles(type, numbers);
    const int kind = Below(6);
    if (kind == 0) return builder_.Constant(tensor);
    if (kind <= 2) return builder_.Weight(name, tensor);
    inputs_.push_back(std::move(tensor));
    return builder_.Input(name, type);
  }
  Value NewInput(const TensorType& type) {
    std::vector<double> numbers(static_cast<size_t>(type.num_elements()));
    for (double& number : numbers) number = RandomNumber(type.dtype);
    values_.push_back(NewValue(type, std::move(numbers)));
    return values_.back();
  }

  std::optional<Value> Existing(const std::function<bool(const Value&)>& fits) {
    std::vector<Value> all;
    for (const Value& v : values_) {
      if (fits(v)) all.push_back(v);
    }
    if (all.empty()) return std::nullopt;
    // Prefers the last one, so that chains arise.
    return Below(3) > 0 ? all.back() : all[Below(static_cast<int>(all.size()))];
  }

  void AddUnusedOutputs() {
    int count = 0;
    for (size_t i = 0; i + 1 < values_.size(); ++i) {
      const Value& v = values_[i];
      if (!v.node().is_op() || used_.count(v) > 0) continue;
      builder_.Output(absl::StrCat("unused", count++), v);
    }
  }

  bool Step() {
    if (options_.part && Below(5) < 3) return Part();
    if (Below(7) == 0) return Cast();
    if (Below(5) == 0) return View();
    const auto& all = ExamplesByOperator();
    const std::vector<OpExample>& examples = all[Below(static_cast<int>(all.size()))];
    OpExample example = examples[Below(static_cast<int>(examples.size()))];
    for (TensorType& type : example.inputs) {
      if (type.dtype == DType::kF32 && Below(8) > 0) type.dtype = real_;
    }
    if (options_.allowed && !options_.allowed(*example.op)) return false;
    if (special_ && options_.finite_only && options_.finite_only(*example.op)) return false;
    for (const TensorType& type : example.inputs) {
      if (std::find(types_.begin(), types_.end(), type.dtype) == types_.end()) return false;
    }
    absl::StatusOr<Definition> definition = Define(*example.op, example.inputs, example.attrs);
    if (!definition.ok()) return false;  // opaque
    for (const bool as_example : {false, true}) {
      const std::vector<Value> operands = OperandsFor(example, *definition, as_example);
      if (Apply(example.op->name, operands, example.attrs)) return true;
    }
    return false;
  }

  bool Apply(const std::string& op, const std::vector<Value>& operands, const Attrs& attrs) {
    const auto outputs = builder_.Ops(op, operands, attrs);
    if (!outputs.ok()) return false;
    for (const Value& v : *outputs) {
      if (v.type().num_elements() > options_.most_elements) return false;
    }
    used_.insert(operands.begin(), operands.end());
    for (const Value& v : *outputs) {
      if (std::find(types_.begin(), types_.end(), v.dtype()) != types_.end()) values_.push_back(v);
    }
    return true;
  }

  // A value of that type: an existing one, cut and padded, or a new one.
  Value ValueOf(const TensorType& type) {
    if (const auto v = Existing([&](const Value& o) { return o.type() == type; });
        v && Below(8) > 0)
      return *v;
    const auto like = Existing([&](const Value& o) {
      return o.dtype() == type.dtype && o.type().rank() == type.rank() && type.rank() > 0 &&
             o.type().num_elements() > 0;
    });
    if (!like || Below(4) == 0) return NewInput(type);
    const size_t rank = type.shape.size();
    std::vector<int64_t> starts(rank, 0), sizes = like->shape(), pads(2 * rank, 0);
    for (size_t d = 0; d < rank; ++d) {
      sizes[d] = std::min(sizes[d], type.shape[d]);
      starts[d] = Below(static_cast<int>(like->shape()[d] - sizes[d] + 1));
      pads[rank + d] = type.shape[d] - sizes[d];
    }
    Value v = *like;
    if (v.shape() != sizes) Apply("slice", {v}, {{"starts", starts}, {"sizes", sizes}});
    if (v.shape() != sizes) v = values_.back();
    if (v.shape() != type.shape) Apply("pad", {v}, {{"pads", pads}});
    return v.type() == type ? v : values_.back().type() == type ? values_.back() : NewInput(type);
  }

  // A weight of a part: mostly positive, since it may be a variance.
  Value NewWeight(const TensorType& type) {
    const bool positive = Below(4) > 0;
    std::vector<double> numbers(static_cast<size_t>(type.num_elements()));
    for (double& number : numbers) {
      number =
          positive && IsFloat(type.dtype) ? 0.25 + Below(1000) / 500.0 : RandomNumber(type.dtype);
    }
    return builder_.Weight(absl::StrCat("x", names_++), *Tensor::FromDoubles(type, numbers));
  }

  // Whether operators and types may occur here.
  bool MayOccur(const Graph& part) const {
    for (const NodePtr& node : part.nodes()) {
      if (node->is_op() && options_.allowed && !options_.allowed(node->op())) return false;
      if (node->is_op() && special_ && options_.finite_only && options_.finite_only(node->op())) {
        return false;
      }
      for (const TensorType& type : node->types()) {
        if (type.num_elements() > options_.most_elements) return false;
        if (std::find(types_.begin(), types_.end(), type.dtype) == types_.end()) return false;
      }
    }
    return true;
  }

  bool Part() {
    const std::optional<Graph> part = options_.part(random_());
    if (!part || !MayOccur(*part)) return false;
    absl::flat_hash_map<Value, Value> here;
    for (const NodePtr& node : part->nodes()) {
      const Value first(node, 0);
      if (node->kind() == Node::Kind::kInput) {
        here[first] = ValueOf(node->type(0));
      } else if (node->kind() == Node::Kind::kWeight && !node->has_payload()) {
        here[first] = NewWeight(node->type(0));
      } else if (!node->is_op()) {
        here[first] = builder_.Constant(node->payload());
      } else {
        std::vector<Value> operands;
        for (const Value& v : node->inputs()) operands.push_back(here.at(v));
        const auto outputs = builder_.Ops(node->op().name, operands, node->attrs());
        if (!outputs.ok()) return false;
        used_.insert(operands.begin(), operands.end());
        for (int k = 0; k < node->num_outputs(); ++k) here[Value(node, k)] = (*outputs)[k];
      }
    }
    for (const Value& v : part->outputs()) values_.push_back(here.at(v));
    return true;
  }

  // Operands like the example's: the first has its rank and type, and the sizes of the others
  // change in proportion.
  std::vector<Value> OperandsFor(const OpExample& example, const Definition& definition,
                                 bool as_example) {
    const auto numbers = ExampleValues(example);
    std::map<int64_t, int64_t> sizes;  // of the example: here
    std::vector<Value> operands;
    const std::vector<bool> read_as_index = InputsReadAsIndex(definition);
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      TensorType type = example.inputs[i];
      const bool is_index = read_as_index[i];
      if (!as_example && !is_index) {
        auto fits = [&](const Value& v) {
          if (v.dtype() != type.dtype || v.type().rank() != type.rank()) return false;
          for (size_t d = 0; d < type.shape.size(); ++d) {
            const auto known = sizes.find(type.shape[d]);
            if (known != sizes.end() && known->second != v.shape()[d]) return false;
          }
          return true;
        };
        if (auto v = Existing(fits); v && Below(6) > 0) {
          for (size_t d = 0; d < type.shape.size(); ++d) {
            sizes.try_emplace(type.shape[d], v->shape()[d]);
          }
          operands.push_back(*v);
          continue;
        }
        for (int64_t& dim : type.shape) {
          if (const auto known = sizes.find(dim); known != sizes.end()) dim = known->second;
        }
      }
      if (type == example.inputs[i] && (is_index || Below(2) == 0)) {
        operands.push_back(NewValue(type, numbers[i]));
      } else if (is_index) {
        operands.push_back(
            NewValue(type, std::vector<double>(static_cast<size_t>(type.num_elements()), 0)));
      } else {
        operands.push_back(NewInput(type));
      }
    }
    return operands;
  }

  bool Cast() {
    const Value v = values_[Below(2) == 0 ? Below(static_cast<int>(values_.size()))
                                          : static_cast<int>(values_.size()) - 1];
    const DType to = types_[Below(static_cast<int>(types_.size()))];
    // Casts mostly to the type of most operators.
    return Apply("cast", {v}, {{"dtype", std::string(Name(Below(2) == 0 ? real_ : to))}});
  }

  // The operators that planners turn into views.
  bool View() {
    const Value v = values_.back();
    const int rank = v.type().rank();
    if (rank == 0) return false;
    const int axis = Below(rank);
    const int64_t size = v.shape()[axis];
    switch (Below(4)) {
      case 0: {
        std::vector<int64_t> perm(rank);
        for (int i = 0; i < rank; ++i) perm[i] = i;
        std::shuffle(perm.begin(), perm.end(), random_);
        return Apply("transpose", {v}, {{"perm", perm}});
      }
      case 1: {
        std::vector<int64_t> starts(rank, 0), sizes(v.shape());
        starts[axis] = Below(2) == 0 ? 0 : Below(static_cast<int>(size));
        sizes[axis] = Below(static_cast<int>(size - starts[axis] + 1));
        return Apply("slice", {v}, {{"starts", starts}, {"sizes", sizes}});
      }
      case 2: {
        const auto other = Existing([&](const Value& o) {
          if (o.dtype() != v.dtype() || o.type().rank() != rank) return false;
          for (int d = 0; d < rank; ++d) {
            if (d != axis && o.shape()[d] != v.shape()[d]) return false;
          }
          return true;
        });
        return Apply("concat", {v, other.value_or(v)}, {{"axis", int64_t{axis}}});
      }
      default: {
        std::vector<int64_t> pads(2 * rank, 0);
        pads[axis] = Below(3);
        pads[rank + axis] = Below(3);
        return Apply("pad", {v}, {{"pads", pads}});
      }
    }
  }

  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  GraphBuilder builder_;
  std::vector<DType> types_;
  std::vector<Value> values_;
  absl::flat_hash_set<Value> used_;  // by an operator
  std::vector<Tensor> inputs_;
  bool special_ = false;
  DType real_ = DType::kF32;  // in place of f32 in most examples
  int names_ = 0;
};

}  // namespace

RandomGraph MakeRandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Maker(seed, options).Make();
}

}  // namespace lemma
