#include "verifier/certificate/run_graphs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/field.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma::certificate {
namespace {

uint64_t Bits(Field value) { return value.raw(); }
uint64_t Bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

Field NumberOf(double value, const Field*) { return Field::FromDouble(value); }
double NumberOf(double value, const double*) { return value; }
Field RandomReal(uint64_t hash, bool, const Field*) { return Field::FromRaw(hash % Field::kPrime); }
double RandomReal(uint64_t hash, bool positive, const double*) {
  const double number = static_cast<double>((hash & 0xfffff) + 1) * 0x1p-19;
  return positive || hash >> 63 == 0 ? number : -number;
}

template <class Number>
class Evaluator {
 public:
  using Row = std::vector<Number>;

  Evaluator(absl::Span<const Value> free, const RandomValues& random)
      : free_(free.begin(), free.end()), random_(random) {
    options_.threads = random.threads;
  }

  absl::StatusOr<std::vector<Row>> Run(absl::Span<const Value> wanted) {
    const std::vector<NodePtr> order = Order(wanted);
    for (const Value& v : wanted) ++uses_[v];
    for (const NodePtr& node : order) {
      for (const Value& v : node->inputs()) ++uses_[v];
    }
    for (const NodePtr& node : order) LEMMA_RETURN_IF_ERROR(Compute(node));
    std::vector<Row> rows;
    for (const Value& v : wanted) {
      if (rows_.find(v) == rows_.end()) rows_[v] = Leaf(v);
      rows.push_back(*rows_.at(v));
    }
    return rows;
  }

 private:
  using RowPtr = std::shared_ptr<const Row>;
  static constexpr int64_t kMostKept = int64_t{1} << 22;

  bool IsLeaf(const Value& v) const { return !v.node().is_op() || free_.contains(v); }

  // Lists the nodes to compute, operands first.
  std::vector<NodePtr> Order(absl::Span<const Value> wanted) const {
    std::vector<NodePtr> order;
    absl::flat_hash_set<const Node*> seen;
    for (const Value& root : wanted) {
      if (IsLeaf(root) || !seen.insert(&root.node()).second) continue;
      std::vector<std::pair<NodePtr, size_t>> stack = {{root.node_ptr(), 0}};
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == node->inputs().size()) {
          order.push_back(node);
          stack.pop_back();
          continue;
        }
        const Value& operand = node->inputs()[next++];
        if (IsLeaf(operand) || !seen.insert(&operand.node()).second) continue;
        stack.emplace_back(operand.node_ptr(), 0);
      }
    }
    return order;
  }

  RowPtr Leaf(const Value& v) {
    auto row = std::make_shared<Row>();
    const Node& node = v.node();
    const int64_t n = v.type().num_elements();
    const bool random_weight =
        node.kind() == Node::Kind::kWeight && IsFloat(v.dtype()) && random_.kept.count(&node) == 0;
    row->reserve(static_cast<size_t>(n));
    if (!free_.contains(v) && node.has_payload() && !random_weight) {
      for (double x : node.payload().ToDoubles()) row->push_back(NumberOf(x, Tag()));
      return row;
    }
    // By number, not by hash: two leaves may have equal hashes.
    const uint64_t number = numbers_.try_emplace(v, numbers_.size()).first->second;
    const uint64_t hash = HashCombine(random_.seed, number);
    for (int64_t i = 0; i < n; ++i) row->push_back(Random(HashCombine(hash, i), v.dtype()));
    return row;
  }

  Number Random(uint64_t hash, DType dtype) const {
    if (IsFloat(dtype)) return RandomReal(hash, random_.positive, Tag());
    return NumberOf(random_.zeros ? 0 : static_cast<double>(hash % 2), Tag());
  }

  absl::Status Compute(const NodePtr& node) {
    std::vector<RowPtr> operands;
    for (const Value& v : node->inputs()) {
      RowPtr& row = rows_[v];
      if (row == nullptr) row = Leaf(v);
      operands.push_back(row);
    }
    std::vector<std::shared_ptr<Row>> results;
    for (const TensorType& type : node->types()) {
      results.push_back(std::make_shared<Row>(static_cast<size_t>(type.num_elements())));
    }
    auto definition =
        std::is_same_v<Number, double> ? DefinitionOf(*node) : FieldDefinitionOf(*node);
    if (definition.ok()) {
      LEMMA_RETURN_IF_ERROR(RunLoops(*node, *definition, operands, results));
    } else {
      Guess(*node, operands, results);
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value v(node, i);
      // If one output of a node is free, another may already be in use.
      if (uses_.contains(v) && !free_.contains(v)) rows_[v] = std::move(results[i]);
    }
    for (const Value& v : node->inputs()) {
      // A large leaf is drawn again for its next reader: weights take twice their size as rows.
      const bool is_large_leaf = IsLeaf(v) && v.type().num_elements() > kMostKept;
      if (--uses_[v] == 0 || is_large_leaf) rows_.erase(v);
    }
    return absl::OkStatus();
  }

  absl::Status RunLoops(const Node& node, const Definition& definition,
                        const std::vector<RowPtr>& operands,
                        const std::vector<std::shared_ptr<Row>>& results) {
    LEMMA_ASSIGN_OR_RETURN(const LoopProgram program, CompileLoops(definition));
    std::vector<TensorView> in;
    for (size_t i = 0; i < operands.size(); ++i) {
      in.push_back({operands[i]->data(), std::nullopt, DenseStrides(node.inputs()[i].shape())});
    }
    std::vector<MutableTensorView> out;
    for (size_t i = 0; i < results.size(); ++i) {
      const int output = static_cast<int>(i);
      out.push_back({results[i]->data(), std::nullopt, DenseStrides(node.type(output).shape)});
    }
    return lemma::Run<Number>(program, in, out, options_);
  }

  // An operator without a definition is a random function of its operands.
  void Guess(const Node& node, const std::vector<RowPtr>& operands,
             const std::vector<std::shared_ptr<Row>>& results) const {
    uint64_t hash = node.operator_hash();
    for (const RowPtr& row : operands) {
      hash = HashCombine(hash, row->size());
      for (const Number& x : *row) hash = HashCombine(hash, Bits(x));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const uint64_t output = HashCombine(hash, i);
      for (size_t j = 0; j < results[i]->size(); ++j) {
        (*results[i])[j] = Random(HashCombine(output, j), node.type(static_cast<int>(i)).dtype);
      }
    }
  }

  static const Number* Tag() { return nullptr; }

  const absl::flat_hash_set<Value> free_;
  const RandomValues& random_;
  RunOptions options_;
  absl::flat_hash_map<Value, int> uses_;
  absl::flat_hash_map<Value, uint64_t> numbers_;  // of leaves, in the order of their first use
  absl::flat_hash_map<Value, RowPtr> rows_;
};

}  // namespace

uint64_t SeedOf(uint64_t seed, const Value& input) {
  return HashCombine(seed, static_cast<uint64_t>(input.node().input_index()));
}

// Rounds real attributes as constants are rounded: in the field every bit matters.
absl::StatusOr<Definition> FieldDefinitionOf(const Node& node) {
  Attrs attrs = node.attrs();
  std::vector<TensorType> types = node.input_types();
  types.insert(types.end(), node.types().begin(), node.types().end());
  const bool doubles = std::any_of(
      types.begin(), types.end(), [](const TensorType& type) { return type.dtype == DType::kF64; });
  for (auto& [name, value] : attrs) {
    double* real = std::get_if<double>(&value);
    if (real != nullptr && !doubles) *real = static_cast<float>(*real);
  }
  return Define(node.op(), node.input_types(), attrs);
}

template <class Number>
absl::StatusOr<std::vector<std::vector<Number>>> Evaluate(absl::Span<const Value> wanted,
                                                          absl::Span<const Value> free,
                                                          const RandomValues& random) {
  return Evaluator<Number>(free, random).Run(wanted);
}

template absl::StatusOr<std::vector<std::vector<Field>>> Evaluate<Field>(absl::Span<const Value>,
                                                                         absl::Span<const Value>,
                                                                         const RandomValues&);
template absl::StatusOr<std::vector<std::vector<double>>> Evaluate<double>(absl::Span<const Value>,
                                                                           absl::Span<const Value>,
                                                                           const RandomValues&);

}  // namespace lemma::certificate
