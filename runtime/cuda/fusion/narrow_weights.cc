#include "runtime/cuda/fusion/narrow_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/builder.h"
#include "graph/tensor.h"
#include "runtime/cuda/fusion/rebuilt_graph.h"
#include "runtime/plan/integer_values.h"
#include "runtime/reference/reference.h"
#include "runtime/reference/static_evaluator.h"

namespace lemma::cuda {
namespace {

constexpr int64_t kMostRows = 8, kFewWeights = int64_t{1} << 16;
constexpr int64_t kLeastBlock = 32, kMostBlock = 256;

bool MovesElements(const Node& node, NodeTraitsCache& traits) {
  if (!node.is_op() || node.inputs().size() != 1) return false;
  const NodeTraits& t = traits.Of(node);
  return t.reshapes || !t.views.empty();
}

// Whether the node is y[…, n] = sum(k) x[…, k] w[k, n].
bool IsPlainProduct(const Node& node) {
  const Value &x = node.inputs()[0], &w = node.inputs()[1];
  const absl::StatusOr<Value> product = Apply1("matmul", {x, w});
  if (!product.ok() || product->type() != node.type(0)) return false;
  const absl::StatusOr<Definition> a = DefinitionOf(node), b = DefinitionOf(product->node());
  return a.ok() && b.ok() && a->ToString() == b->ToString();
}

// Whether the node is a product of few rows and a matrix that is large enough.
bool IsFewRows(const Node& node) {
  if (!node.is_op() || node.num_outputs() != 1 || node.inputs().size() != 2) return false;
  const Value &x = node.inputs()[0], &w = node.inputs()[1];
  const TensorType& y = node.type(0);
  if (w.type().rank() != 2 || x.type().rank() < 2 || !IsFloat(w.dtype())) return false;
  if (w.dtype() == DType::kF64 || IsSmallFloat(w.dtype()) || x.dtype() != w.dtype()) return false;
  const int64_t depth = w.shape()[0], columns = w.shape()[1];
  if (depth * columns < kFewWeights || depth % kLeastBlock != 0 || y.num_elements() == 0) {
    return false;
  }
  return x.shape().back() == depth && y.shape.back() == columns &&
         y.num_elements() / columns <= kMostRows && !w.node().inputs().empty() &&
         IsPlainProduct(node);
}

// A weight as integers times scales, both of its shape.
struct WeightFactors {
  Tensor integers, scales;
};

// The weight as the kernel reads it.
struct Packed {
  int bits = 8;
  int64_t block = 0;
  std::vector<int64_t> bytes;  // u8 [columns, blocks, block * bits / 8]
  std::vector<double> zeros;   // one, or one for each block of each column; integers
  std::vector<double> scales;  // [columns, blocks]
};

Value Constant(Tensor tensor) { return Value(Node::Constant(std::move(tensor)), 0); }
Value Number(double x) { return Constant(*Tensor::FromDoubles({DType::kF32, {}}, {x})); }
Value AsType(const Value& v, DType dtype) {
  return *Apply1("cast", {v}, {{"dtype", std::string(Name(dtype))}});
}
Value Scaled(const Value& v, double by) { return *Apply1("scalar_mul", {v}, {{"alpha", by}}); }
Value Reshape(const Value& v, Shape shape) {
  return *Apply1("reshape", {v}, {{"shape", std::move(shape)}});
}

class WeightPacker {
 public:
  explicit WeightPacker(NodeTraitsCache& traits) : traits_(traits), evaluator_(1) {}

  // The weight of the product in its new form; nullopt: it stays.
  std::optional<Value> PackedWeight(const Node& node) {
    const std::optional<WeightFactors> factors = FactorsOf(node);
    if (!factors) return std::nullopt;
    const Value& w = node.inputs()[1];
    const int64_t depth = w.shape()[0], columns = w.shape()[1];
    const std::optional<Packed> packed = Pack(*factors, depth, columns);
    if (!packed) return std::nullopt;
    return Unpack(*packed, depth, columns, w.dtype());
  }

 private:
  std::optional<WeightFactors> FactorsOf(const Node& node) {
    if (!IsFewRows(node)) return std::nullopt;
    std::vector<Value> moved;  // from the weight inwards
    Value at = node.inputs()[1];
    while (MovesElements(at.node(), traits_)) {
      moved.push_back(at);
      at = at.node().inputs()[0];
    }
    const auto product = OperandsOfFunction(ScalarFn::kMul, at, traits_);
    if (!product || !IsKnown(at)) return std::nullopt;
    for (const auto& [integers, scale] :
         {*product, std::make_pair(product->second, product->first)}) {
      const absl::StatusOr<Tensor> q = evaluator_.Evaluate(integers);
      if (!q.ok()) return std::nullopt;
      if (!AreIntegers(*q)) continue;
      const absl::StatusOr<Tensor> s = evaluator_.Evaluate(scale);
      if (!s.ok()) return std::nullopt;
      std::optional<Tensor> whole = Moved(*q, at, moved), scales = Moved(*s, at, moved);
      if (!whole || !scales) return std::nullopt;
      return WeightFactors{*std::move(whole), *std::move(scales)};
    }
    return std::nullopt;
  }

  // Whether only constants are below `v`.
  bool IsKnown(const Value& v) {
    if (!v.node().is_op()) return v.node().has_payload();
    const auto [known, is_new] = known_.emplace(&v.node(), true);
    if (!is_new) return known->second;
    const bool all = std::all_of(v.node().inputs().begin(), v.node().inputs().end(),
                                 [this](const Value& operand) { return IsKnown(operand); });
    return known_[&v.node()] = all;
  }

  static bool AreIntegers(const Tensor& t) {
    for (int64_t i = 0; i < t.size(); ++i) {
      const double x = t.AtDouble(i);
      const bool is_negative_zero = x == 0 && std::signbit(x);
      if (!(std::fabs(x) <= kLargestStep) || x != std::nearbyint(x) || is_negative_zero) {
        return false;
      }
    }
    return true;
  }

  // `t`, broadcast to the shape of `at`, then moved as the weight's elements are.
  static std::optional<Tensor> Moved(const Tensor& t, const Value& at,
                                     const std::vector<Value>& moved) {
    Value v = Constant(t);
    if (v.shape() != at.shape()) {
      absl::StatusOr<Value> wide = Apply1("expand", {v}, {{"shape", at.shape()}});
      if (!wide.ok()) return std::nullopt;
      auto result = EvaluateNode(wide->node(), {t});
      if (!result.ok()) return std::nullopt;
      v = Constant((*result)[0]);
    }
    Tensor now = v.node().payload();
    for (auto move = moved.rbegin(); move != moved.rend(); ++move) {
      auto result = EvaluateNode(move->node(), {now});
      if (!result.ok()) return std::nullopt;
      now = (*result)[move->output()];
    }
    return now;
  }

  // The largest block that has one scale everywhere; 0 if there is none.
  static int64_t BlockOf(const std::vector<double>& scales, int64_t depth, int64_t columns) {
    for (int64_t block = kMostBlock; block >= kLeastBlock; block /= 2) {
      if (depth % block != 0) continue;
      bool same = true;
      for (int64_t k = 0; same && k < depth; ++k) {
        const int64_t first = k / block * block;
        same = std::equal(&scales[k * columns], &scales[k * columns] + columns,
                          &scales[first * columns]);
      }
      if (same) return block;
    }
    return 0;
  }

  static std::optional<Packed> Pack(const WeightFactors& factors, int64_t depth, int64_t columns) {
    const std::vector<double> q = factors.integers.ToDoubles(), s = factors.scales.ToDoubles();
    Packed result;
    result.block = BlockOf(s, depth, columns);
    if (result.block == 0) return std::nullopt;
    const int64_t block = result.block, blocks = depth / block;
    std::vector<double> least(columns * blocks, 2 * kLargestStep), most(columns * blocks, -1000);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        const int64_t b = n * blocks + k / block;
        least[b] = std::min(least[b], q[k * columns + n]);
        most[b] = std::max(most[b], q[k * columns + n]);
      }
    }
    if (!ChooseZeros(least, most, &result)) return std::nullopt;
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t g = 0; g < blocks; ++g) result.scales.push_back(s[g * block * columns + n]);
    }
    const int64_t per_block = block * result.bits / 8;
    result.bytes.resize(columns * blocks * per_block);
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t b = n * blocks + k / block, r = k % block;
        const double zero = result.zeros[result.zeros.size() == 1 ? 0 : b];
        const auto code = static_cast<int64_t>(q[k * columns + n] + zero);
        int64_t& byte = result.bytes[b * per_block + r % per_block];
        byte += r < per_block ? code : 16 * code;
      }
    }
    return result;
  }

  // The fewest bits, and zero points such that each integer plus its zero point has so many bits.
  static bool ChooseZeros(const std::vector<double>& least, const std::vector<double>& most,
                          Packed* packed) {
    const double low = *std::min_element(least.begin(), least.end());
    const double high = *std::max_element(most.begin(), most.end());
    double range = 0;
    for (size_t b = 0; b < least.size(); ++b) range = std::max(range, most[b] - least[b]);
    for (const int bits : {4, 8}) {
      const double codes = std::exp2(bits);
      packed->bits = bits;
      packed->zeros = {codes / 2};
      if (-codes / 2 <= low && high < codes / 2) return true;
      packed->zeros = {-low};
      if (high - low < codes) return true;
      if (range >= codes) continue;
      packed->zeros.clear();
      for (double x : least) packed->zeros.push_back(-x);
      return true;
    }
    return false;
  }

  // A constant [columns, blocks, 1, …] of rank `rank`, stored in 16 bits if that keeps its values.
  static Value PerBlock(const std::vector<double>& values, Shape shape) {
    Tensor exact = *Tensor::FromDoubles({DType::kF32, shape}, values);
    Tensor narrow = *Tensor::FromDoubles({DType::kF16, shape}, values);
    for (int64_t i = 0; i < exact.size(); ++i) {
      if (exact.AtDouble(i) != narrow.AtDouble(i)) return Constant(std::move(exact));
    }
    return AsType(Constant(std::move(narrow)), DType::kF32);
  }

  static Value Unpack(const Packed& packed, int64_t depth, int64_t columns, DType dtype) {
    const int64_t block = packed.block, blocks = depth / block, half = block * packed.bits / 8;
    const Value bytes =
        Constant(*Tensor::FromInts({DType::kU8, {columns, blocks, half}}, packed.bytes));
    Value q = AsType(bytes, DType::kF32);
    Shape each = {columns, blocks, 1};
    if (packed.bits == 4) {
      const Value high = *Apply1("floor", {Scaled(q, 1.0 / 16)});
      const Value low = *Apply1("sub", {q, Scaled(high, 16)});
      const Shape part = {columns, blocks, 1, half};
      q = *Apply1("concat", {Reshape(low, part), Reshape(high, part)}, {{"axis", int64_t{2}}});
      each.push_back(1);
    }
    q = *Apply1("sub", {q, packed.zeros.size() == 1 ? Number(packed.zeros[0])
                                                    : PerBlock(packed.zeros, each)});
    Value w = *Apply1("mul", {q, PerBlock(packed.scales, each)});
    if (dtype != DType::kF32) w = AsType(w, dtype);
    return *Apply1("transpose", {Reshape(w, {columns, depth})}, {{"perm", Shape{1, 0}}});
  }

  NodeTraitsCache& traits_;
  StaticEvaluator evaluator_;
  absl::flat_hash_map<const Node*, bool> known_;
};

// The nodes that compute `weight`, if it has the form of WeightPacker::Unpack; otherwise none.
std::vector<int> UnpackingOf(const Value& weight, const UseTable& uses, NodeTraitsCache& traits) {
  const Node& top = weight.node();
  const bool moves = MovesElements(top, traits) && MovesElements(top.inputs()[0].node(), traits);
  if (!moves || traits.Of(top).views.empty() || !traits.Of(top.inputs()[0].node()).reshapes) {
    return {};
  }
  constexpr size_t kMostNodes = 24;
  std::vector<int> nodes;
  std::vector<Value> open = {weight};
  bool widens = false;
  while (!open.empty()) {
    const Value v = open.back();
    open.pop_back();
    const Node& node = v.node();
    if (!node.is_op()) {
      if (!node.has_payload() || (!IsFloat(v.dtype()) && v.dtype() != DType::kU8)) return {};
      widens = widens || v.dtype() == DType::kU8;
      continue;
    }
    const int number = uses.NodeOf(node);
    if (std::count(nodes.begin(), nodes.end(), number) > 0) continue;
    if (!IsFloat(v.dtype()) || nodes.size() == kMostNodes) return {};
    nodes.push_back(number);
    open.insert(open.end(), node.inputs().begin(), node.inputs().end());
  }
  return widens ? nodes : std::vector<int>();
}

}  // namespace

std::vector<bool> FindUnpacking(const UseTable& uses, NodeTraitsCache& traits) {
  std::vector<bool> unpacks(uses.nodes.size(), false);
  for (size_t i = 0; i < uses.nodes.size(); ++i) {
    const Node& node = *uses.nodes[i];
    if (uses.is_static[i] || !IsFewRows(node)) continue;
    for (int n : UnpackingOf(node.inputs()[1], uses, traits)) unpacks[n] = true;
  }
  return unpacks;
}

Graph StoreNarrowWeights(const Graph& graph, NodeTraitsCache& traits) {
  WeightPacker packer(traits);
  absl::flat_hash_map<const Node*, Value> weights;  // by product
  for (const NodePtr& node : graph.nodes()) {
    if (auto weight = packer.PackedWeight(*node)) weights.emplace(node.get(), *std::move(weight));
  }
  if (weights.empty()) return graph;
  return WithNodes(graph, [&](const NodePtr& node, const ValueMap& now) {
    std::vector<Value> inputs = now.Of(node->inputs());
    if (const auto weight = weights.find(node.get()); weight != weights.end()) {
      inputs[1] = weight->second;
    }
    const NodePtr rebuilt = inputs == node->inputs() ? node
                                                     : Node::Apply(&node->op(), std::move(inputs),
                                                                   node->attrs(), node->types());
    std::vector<Value> outputs;
    outputs.reserve(node->num_outputs());
    for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(rebuilt, i);
    return outputs;
  });
}

}  // namespace lemma::cuda
