#include "runtime/cuda/fusion/byte_factors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "runtime/cuda/fusion/rebuilt_graph.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/integer_values.h"

namespace lemma::cuda {
namespace {

Value Widened(Tensor bytes, DType dtype) {
  return *Apply1("cast", {Value(Node::Constant(std::move(bytes)), 0)},
                 {{"dtype", std::string(Name(dtype))}});
}

bool Contains(const IntegerRange& range, const IntegerRange& part) {
  return range.low <= part.low && part.high <= range.high;
}

// The known elements of `v` as integers of type `dtype`, which has to hold them.
Tensor StoredAsBytes(const Value& v, DType dtype) {
  const Tensor& values = v.node().payload();
  std::vector<int64_t> integers(static_cast<size_t>(values.size()));
  for (int64_t i = 0; i < values.size(); ++i) {
    integers[i] = static_cast<int64_t>(values.AtDouble(i));
  }
  return *Tensor::FromInts({dtype, v.shape()}, integers);
}

class ByteStore {
 public:
  explicit ByteStore(NodeTraitsCache& traits) : traits_(traits) {}

  // The operands in the form that FindByteFactors recognizes; nullopt: the node is no product of
  // integers of 8 bits.
  std::optional<std::vector<Value>> Factors(const Node& node, const std::vector<Value>& operands) {
    if (!ReadsTwoApart(node) || !(IsComputed(operands[0]) || IsComputed(operands[1]))) {
      return std::nullopt;
    }
    const std::optional<Value> left = Factor(operands[0]), right = Factor(operands[1]);
    if (!left || !right) return std::nullopt;
    return std::vector<Value>{*left, *right};
  }

 private:
  // Whether the node reads two operands, and not element by element. Products do.
  bool ReadsTwoApart(const Node& node) {
    return node.num_outputs() == 1 && node.inputs().size() == 2 && !traits_.Of(node).pointwise;
  }
  bool IsComputed(const Value& v) {
    return !v.node().has_payload() && CenteredBytesOf(v, traits_).has_value();
  }

  // `v` in that form; nullopt: it has none.
  std::optional<Value> Factor(const Value& v) {
    if (v.node().has_payload()) return Known(v);
    const std::optional<CenteredBytes> bytes = CenteredBytesOf(v, traits_);
    if (!bytes) return std::nullopt;
    if (!bytes->zero || !bytes->zero.node().has_payload()) return v;
    const std::optional<IntegerRange> zero = RangeOfIntegers(bytes->zero, traits_);
    const DType dtype = bytes->source.dtype();
    if (!zero || !Contains(RangeOfBytes(dtype), *zero)) return std::nullopt;
    const NodePtr& difference = bytes->nodes.back();
    const Value whole(bytes->nodes.front(), 0);
    if (zero->low == 0 && zero->high == 0) return whole;
    const Value stored = Widened(StoredAsBytes(bytes->zero, dtype), v.dtype());
    const bool first = difference->inputs()[0] == whole;
    return Value(
        Node::Apply(&difference->op(),
                    first ? std::vector<Value>{whole, stored} : std::vector<Value>{stored, whole},
                    difference->attrs(), difference->types()),
        0);
  }

  std::optional<Value> Known(const Value& v) {
    if (v.dtype() != DType::kF32 && v.dtype() != DType::kI32) return std::nullopt;
    const std::optional<IntegerRange> range = RangeOfIntegers(v, traits_);
    if (!range) return std::nullopt;
    for (DType dtype : {DType::kI8, DType::kU8}) {
      if (Contains(RangeOfBytes(dtype), *range)) return Widened(StoredAsBytes(v, dtype), v.dtype());
    }
    return std::nullopt;
  }

  NodeTraitsCache& traits_;
};

// Whether a kernel of the definition multiplies bytes.
bool IsInBytes(const Definition& definition, const codegen::GridOptions& options) {
  const absl::StatusOr<codegen::GridProgram> program =
      codegen::MakeGridProgram(definition, options);
  return program.ok() && std::any_of(program->kernels.begin(), program->kernels.end(),
                                     [](const codegen::GridKernel& kernel) {
                                       return kernel.tile && kernel.tile->precision ==
                                                                 codegen::ProductPrecision::kBytes;
                                     });
}

class ByteFactorFinder {
 public:
  ByteFactorFinder(const UseTable& uses, NodeTraitsCache& traits,
                   const codegen::GridOptions& options)
      : uses_(uses), traits_(traits), options_(options), factors_(uses.nodes.size()) {}

  std::vector<bool> Run() {
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      if (!uses_.nodes[i]->is_op() || uses_.is_static[i]) continue;
      std::vector<int> factors = FactorsOf(*uses_.nodes[i]);
      if (!factors.empty() && IsByteProduct(factors, static_cast<int>(i))) {
        factors_[i] = std::move(factors);
      }
    }
    // A product drops out if something else uses one of its factors, and then others may.
    while (DropShared()) {
    }
    return Marked();
  }

 private:
  // The nodes between the integers of 8 bits and the product, ascending; empty: it is no such
  // product.
  std::vector<int> FactorsOf(const Node& product) {
    std::vector<int> nodes;
    if (product.num_outputs() != 1 || product.inputs().size() != 2) return nodes;
    for (const Value& v : product.inputs()) {
      const std::optional<CenteredBytes> bytes = CenteredBytesOf(v, traits_);
      if (!bytes) return {};
      for (const NodePtr& node : bytes->nodes) nodes.push_back(uses_.NodeOf(*node));
      if (!bytes->zero) continue;
      if (!WidensBytes(bytes->zero, traits_)) return {};
      nodes.push_back(uses_.NodeOf(bytes->zero.node()));
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  // Whether code generation multiplies bytes if these nodes are one kernel.
  bool IsByteProduct(const std::vector<int>& factors, int product) {
    std::vector<NodePtr> nodes;
    nodes.reserve(factors.size() + 1);
    for (int factor : factors) nodes.push_back(uses_.nodes[factor]);
    nodes.push_back(uses_.nodes[product]);
    const absl::StatusOr<Definition> definition = ComposeNodes(nodes, OperandsOf(nodes));
    if (!definition.ok()) return false;
    std::string key = definition->ToString();
    for (const ExprType& input : definition->inputs) {
      absl::StrAppend(&key, " ", Name(input.dtype));
      for (const IndexExpr& dim : input.dims) absl::StrAppend(&key, ",", dim.ToString());
    }
    const auto [known, is_new] = known_.emplace(std::move(key), false);
    if (!is_new) return known->second;
    return known->second = IsInBytes(*definition, options_);
  }

  std::vector<bool> Marked() const {
    std::vector<bool> marked(uses_.nodes.size(), false);
    for (const std::vector<int>& factors : factors_) {
      for (int node : factors) marked[node] = true;
    }
    return marked;
  }

  bool DropShared() {
    const std::vector<bool> marked = Marked();
    bool dropped = false;
    for (std::vector<int>& factors : factors_) {
      const bool shared = std::any_of(factors.begin(), factors.end(), [&](int node) {
        const Value v(uses_.nodes[node], 0);
        if (v.type().num_elements() == 1) return false;  // a zero point: it costs nothing
        const std::vector<int>& users = uses_.Users(v);
        return uses_.IsOutput(v) || std::any_of(users.begin(), users.end(), [&](int user) {
                 return !marked[user] && factors_[user].empty();
               });
      });
      if (!shared) continue;
      factors.clear();
      dropped = true;
    }
    return dropped;
  }

  const UseTable& uses_;
  NodeTraitsCache& traits_;
  const codegen::GridOptions& options_;
  std::vector<std::vector<int>> factors_;  // by node, if it is a product of bytes; else empty
  absl::flat_hash_map<std::string, bool> known_;  // by definition
};

}  // namespace

Graph StoreByteFactors(const Graph& graph, NodeTraitsCache& traits) {
  ByteStore store(traits);
  const bool changes =
      std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const NodePtr& node) {
        if (!node->is_op()) return false;
        const auto factors = store.Factors(*node, node->inputs());
        return factors && *factors != node->inputs();
      });
  if (!changes) return graph;
  return WithNodes(graph, [&](const NodePtr& node, const ValueMap& now) {
    std::vector<Value> inputs = now.Of(node->inputs());
    if (auto factors = store.Factors(*node, inputs)) inputs = *std::move(factors);
    const NodePtr rebuilt = inputs == node->inputs() ? node
                                                     : Node::Apply(&node->op(), std::move(inputs),
                                                                   node->attrs(), node->types());
    std::vector<Value> outputs;
    outputs.reserve(node->num_outputs());
    for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(rebuilt, i);
    return outputs;
  });
}

std::vector<bool> FindByteFactors(const UseTable& uses, NodeTraitsCache& traits,
                                  const codegen::GridOptions& options) {
  return ByteFactorFinder(uses, traits, options).Run();
}

bool MultipliesBytes(const std::vector<NodePtr>& nodes, const codegen::GridOptions& options) {
  const absl::StatusOr<Definition> definition = ComposeNodes(nodes, OperandsOf(nodes));
  return definition.ok() && IsInBytes(*definition, options);
}

}  // namespace lemma::cuda
