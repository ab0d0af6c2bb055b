#include "runtime/cuda/fusion/rounded_factors.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/builder.h"
#include "runtime/cuda/fusion/read_traits.h"
#include "runtime/cuda/fusion/rebuilt_graph.h"
#include "runtime/cuda/fusion/store_factors.h"

namespace lemma::cuda {

using codegen::ProductPrecision;

namespace {

// What a product rounds if its kernels are of one operator.
struct Factors {
  bool multiplies = false;    // on tensor cores
  std::vector<int> operands;  // the numbers of the operands that are factors; empty: not known
  // The result is a sum of products of two operands, plus at most elements of a third one.
  bool is_sum = false;
};

// Whether `e` is a reduction, perhaps plus an element of a tensor that is none of `factors`.
bool IsSum(const ScalarExpr& e, const std::vector<int>& factors) {
  if (e.kind() == ScalarExpr::Kind::kReduce) return true;
  if (e.kind() != ScalarExpr::Kind::kApply || e.fn() != ScalarFn::kAdd) return false;
  const ScalarExpr &sum = e.args()[0], &added = e.args()[1];
  return sum.kind() == ScalarExpr::Kind::kReduce && added.kind() == ScalarExpr::Kind::kRead &&
         std::count(factors.begin(), factors.end(), added.tensor()) == 0;
}

Factors FactorsOf(const Definition& definition, const codegen::GridOptions& options) {
  Factors result;
  absl::StatusOr<codegen::GridProgram> program = codegen::MakeGridProgram(definition, options);
  if (!program.ok()) return result;
  bool known = true;
  for (const codegen::GridKernel& kernel : program->kernels) {
    if (!kernel.tile || kernel.tile->precision != options.precision) continue;
    result.multiplies = true;
    for (int slot : {kernel.tile->a_tensor, kernel.tile->b_tensor}) {
      known = known && slot >= 0 && slot < definition.num_inputs();
      if (std::count(result.operands.begin(), result.operands.end(), slot) == 0) {
        result.operands.push_back(slot);
      }
    }
  }
  for (int operand : result.operands) {
    // Elsewhere, the operator reads unrounded numbers.
    int reads = 0;
    for (const TensorExpr& tensor : definition.tensors) {
      if (known) reads += CountReads(tensor.body, operand);
    }
    known = known && (reads == 1 || (reads == 2 && result.operands.size() == 1));
  }
  if (!known) result.operands.clear();
  result.is_sum = result.operands.size() == 2 && definition.tensors.size() == 1 &&
                  IsSum(definition.tensors[0].body, result.operands);
  return result;
}

class Rounder {
 public:
  explicit Rounder(const codegen::GridOptions& options) : options_(options) {}

  std::vector<Value> Rounded(const NodePtr& node, const ValueMap& now) {
    std::vector<Value> inputs = now.Of(node->inputs());
    const Factors factors = Known(*node);
    const bool splits = options_.precision == ProductPrecision::kF32x3;
    const bool wide =
        std::all_of(factors.operands.begin(), factors.operands.end(),
                    [&](int operand) { return inputs[operand].dtype() == DType::kF32; });
    const bool can = !factors.operands.empty() && wide && (!splits || factors.is_sum);
    if (factors.multiplies) ++(can ? products_ : left_);
    if (factors.multiplies && can && splits) return {Split(*node, inputs, factors.operands)};
    if (factors.multiplies && can) {
      for (int operand : factors.operands) inputs[operand] = Round(inputs[operand]);
    }
    const NodePtr same = Again(*node, std::move(inputs));
    std::vector<Value> outputs;
    outputs.reserve(node->num_outputs());
    for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(same, i);
    return outputs;
  }

  int products() const { return products_; }
  int left() const { return left_; }

 private:
  static NodePtr Again(const Node& node, std::vector<Value> inputs) {
    return Node::Apply(&node.op(), std::move(inputs), node.attrs(), node.types());
  }

  Value Round(const Value& v) const {
    switch (options_.precision) {
      case ProductPrecision::kTf32:
      case ProductPrecision::kF32x3:
        return *Apply1("round_tf32", {v});
      case ProductPrecision::kF16:
      case ProductPrecision::kBf16: {
        const std::string narrow = codegen::Name(options_.precision);
        return *Apply1("cast", {*Apply1("cast", {v}, {{"dtype", narrow}})},
                       {{"dtype", std::string("f32")}});
      }
      default:
        return v;
    }
  }

  // (a + a') (b + b') without a' b', where a and b are the rounded factors, in the order in which
  // WordsF32x3 (kernels/codegen/prelude.cuh) adds the products. What the operator adds to the sum
  // is added to the largest product.
  Value Split(const Node& node, const std::vector<Value>& inputs,
              const std::vector<int>& factors) const {
    std::vector<Value> large = inputs, mixed[2];
    for (std::vector<Value>& operands : mixed) {
      for (const Value& v : inputs) operands.push_back(Zeros(v));
    }
    for (int i = 0; i < 2; ++i) {
      const int factor = factors[i];
      large[factor] = Round(inputs[factor]);
      mixed[i][factor] = Round(*Apply1("sub", {inputs[factor], large[factor]}));  // exact
      mixed[1 - i][factor] = large[factor];
    }
    const auto product = [&](std::vector<Value> operands) {
      return Value(Again(node, std::move(operands)), 0);
    };
    const Value corrections = *Apply1("add", {product(mixed[0]), product(mixed[1])});
    return *Apply1("add", {corrections, product(large)});
  }

  static Value Zeros(const Value& v) {
    return Value(Node::Constant(*Tensor::Filled(v.type(), 0)), 0);
  }

  const Factors& Known(const Node& node) {
    const auto [known, is_new] = known_.try_emplace(HashApplication(node));
    if (!is_new) return known->second;
    absl::StatusOr<Definition> definition = DefinitionOf(node);
    if (definition.ok()) known->second = FactorsOf(*definition, options_);
    return known->second;
  }

  const codegen::GridOptions& options_;
  absl::flat_hash_map<uint64_t, Factors> known_;
  int products_ = 0, left_ = 0;
};

}  // namespace

RoundedFactors RoundFactors(const Graph& graph, NodeTraitsCache& traits,
                            const codegen::GridOptions& options) {
  RoundedFactors result;
  Rounder rounder(options);
  // Where kernels read factors in 16 bits, products of few rows are on tensor cores too.
  result.graph = WithNodes(
      StoreFactors(graph, traits, options),
      [&](const NodePtr& node, const ValueMap& now) { return rounder.Rounded(node, now); });
  result.products = rounder.products();
  result.left = rounder.left();
  return result;
}

}  // namespace lemma::cuda
