#include "runtime/cuda/fusion/store_factors.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/builder.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "runtime/cuda/fusion/byte_factors.h"
#include "runtime/cuda/fusion/narrow_weights.h"
#include "runtime/cuda/fusion/read_traits.h"
#include "runtime/cuda/fusion/rebuilt_graph.h"
#include "runtime/cuda/fusion/streamed_regions.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

using codegen::GridKernel;
using codegen::GridOptions;
using codegen::GridProgram;
using codegen::ProductPrecision;

namespace {

Value Cast(const Value& v, DType dtype) {
  return *Apply1("cast", {v}, {{"dtype", std::string(Name(dtype))}});
}

bool Is16Bit(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// A product as the planner would compute it.
struct Forecast {
  double microseconds = 0;
  bool by_warpgroup = false;
  std::vector<int> factors;  // the inputs that are factors and are read once
};

Forecast ForecastOf(const Definition& definition, const GridOptions& options) {
  Forecast result;
  absl::StatusOr<GridProgram> program = codegen::MakeGridProgram(definition, options);
  if (!program.ok()) return result;
  for (const GridKernel& kernel : program->kernels) {
    if (!kernel.tile) continue;
    if (result.microseconds > 0) return Forecast();  // several products
    result.microseconds = codegen::PredictedMicroseconds(kernel.tile->size, kernel.tile->choice,
                                                         kernel.tile->precision);
    result.by_warpgroup = !kernel.bulk.empty();
    const std::vector<int> slots = {kernel.tile->a_slot, kernel.tile->b_slot};
    const bool inputs = std::all_of(slots.begin(), slots.end(), [&](int slot) {
      return slot >= 0 && slot < definition.num_inputs();
    });
    if (inputs) result.factors = slots;
  }
  for (int input : result.factors) {
    int reads = 0;
    for (const TensorExpr& tensor : definition.tensors) reads += CountReads(tensor.body, input);
    const auto uses = std::count(result.factors.begin(), result.factors.end(), input);
    if (reads != static_cast<int>(uses)) return Forecast();
  }
  return result;
}

// Whether output element i is the input's element offset + i.
bool IsBox(const AffineView& view) {
  const size_t rank = view.offset.size();
  if (static_cast<size_t>(view.output_rank) != rank) return false;
  for (size_t d = 0; d < rank; ++d) {
    for (size_t o = 0; o < rank; ++o) {
      if (view.coefficient[d][o] != (d == o ? 1 : 0)) return false;
    }
  }
  return true;
}

// `graph` with slices in place of operators of several outputs that are boxes of their input
// (splits). A slice can be part of the kernel that reads it.
Graph WithSlices(const Graph& graph, NodeTraitsCache& traits) {
  return WithNodes(graph, [&](const NodePtr& node, const ValueMap& now) {
    const std::vector<Value> inputs = now.Of(node->inputs());
    const std::vector<AffineView>& views = traits.Of(*node).views;
    const bool boxes = node->num_outputs() > 1 && inputs.size() == 1 &&
                       views.size() == static_cast<size_t>(node->num_outputs()) &&
                       std::all_of(views.begin(), views.end(), IsBox);
    std::vector<Value> outputs;
    if (boxes) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        const std::vector<int64_t> steps(views[i].offset.size(), 1);
        outputs.push_back(*Apply1(
            "slice", inputs,
            {{"starts", views[i].offset}, {"sizes", node->type(i).shape}, {"steps", steps}}));
      }
      return outputs;
    }
    const NodePtr same = inputs == node->inputs()
                             ? node
                             : Node::Apply(&node->op(), inputs, node->attrs(), node->types());
    for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(same, i);
    return outputs;
  });
}

class FactorStore {
 public:
  FactorStore(const Graph& graph, NodeTraitsCache& traits, const GridOptions& options)
      : graph_(graph),
        traits_(traits),
        options_(options),
        dtype_(options.precision == ProductPrecision::kF16 ? DType::kF16 : DType::kBF16),
        uses_(graph),
        byte_factors_(FindByteFactors(uses_, traits, options)),
        unpacking_(FindUnpacking(uses_, traits)) {}

  Graph Run() {
    FindAttention();
    return WithNodes(graph_, [this](const NodePtr& node, const ValueMap& now) {
      const NodePtr rebuilt = Rebuilt(node, now);
      std::vector<Value> outputs;
      for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(rebuilt, i);
      return outputs;
    });
  }

 private:
  // A factor to store: an operand's number, and whether the cast stands above layout operators.
  struct StoredFactor {
    int operand;
    bool on_top;
  };

  // The operands that are the factors of a product.
  std::vector<int> FactorsOf(const Node& node) {
    absl::StatusOr<Definition> definition = DefinitionOf(node);
    if (!definition.ok()) return {};
    return Known(HashApplication(node), *definition).factors;
  }

  // Finds the factors to store for streamed kernels.
  void FindAttention() {
    const auto is_product = [this](int n) { return !FactorsOf(*uses_.nodes[n]).empty(); };
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      const NodePtr& node = uses_.nodes[i];
      if (!node->is_op() || uses_.is_static[i]) continue;
      const StreamedRegion region =
          FindStreamedRegion(static_cast<int>(i), uses_, traits_, is_product, options_, dtype_);
      if (region.nodes.empty()) continue;
      const NodePtr& scores = uses_.nodes[region.scores];
      std::vector<std::pair<const Node*, int>> factors;
      for (int k : FactorsOf(*scores)) factors.emplace_back(scores.get(), k);
      for (int k : FactorsOf(*node)) {
        if (k != region.softmax_operand) factors.emplace_back(node.get(), k);
      }
      std::vector<Value> stored;  // distinct
      double cost = 0;
      for (const auto& [product, k] : factors) {
        Value v = product->inputs()[k];
        while (IsLayout(v.node())) v = v.node().inputs()[0];
        if (v.dtype() != DType::kF32 || std::count(stored.begin(), stored.end(), v) > 0) continue;
        stored.push_back(v);
        const std::vector<int>& users = uses_.Users(v);
        const bool made_for_region =
            v.node().is_op() && !uses_.IsOutput(v) &&
            std::all_of(users.begin(), users.end(), [&](int user) {
              return std::binary_search(region.nodes.begin(), region.nodes.end(), user);
            });
        if (!made_for_region) cost += CostOfStoring(v, /*on_top=*/false);
      }
      if (GainOfStreaming(region.size, options_) <= cost) continue;
      for (const auto& [product, k] : factors) {
        if (product->inputs()[k].dtype() == DType::kF32) streamed_[product].push_back({k, false});
      }
    }
  }

  NodePtr Rebuilt(const NodePtr& node, const ValueMap& now) {
    std::vector<Value> inputs = now.Of(node->inputs());
    for (const StoredFactor& factor : FactorsToStore(node)) {
      Value& v = inputs[factor.operand];
      v = Cast(factor.on_top ? Cast(v, dtype_) : Narrow(v), DType::kF32);
    }
    const bool changed = inputs != node->inputs();
    return changed ? Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types())
                   : node;
  }

  bool IsLayout(const Node& node, DType dtype = DType::kF32) {
    if (!node.is_op() || node.num_outputs() != 1 || node.inputs().size() != 1) return false;
    const NodeTraits& traits = traits_.Of(node);
    return node.inputs()[0].dtype() == dtype && node.type(0).dtype == dtype &&
           (traits.reshapes || traits.views.size() == 1);
  }

  // The 16-bit type that `v` is widened from, below layout operators; or f32.
  DType WidenedFrom(Value v) {
    while (IsLayout(v.node())) v = v.node().inputs()[0];
    return IsWidening(v.node()) ? v.node().inputs()[0].dtype() : DType::kF32;
  }

  // `v` in 16 bits.
  Value Narrow(const Value& v) {
    const Node& node = v.node();
    if (IsWidening(node) && node.inputs()[0].dtype() == dtype_) return node.inputs()[0];
    if (!IsLayout(node)) return Cast(v, dtype_);
    const auto known = narrow_.find(v);
    if (known != narrow_.end()) return known->second;
    const NodePtr now = Node::Apply(&node.op(), {Narrow(node.inputs()[0])}, node.attrs(),
                                    {TensorType{dtype_, node.type(0).shape}});
    return narrow_[v] = Value(now, 0);
  }

  // The factors to store, if that is worth it.
  std::vector<StoredFactor> FactorsToStore(const NodePtr& node) {
    const auto streamed = streamed_.find(node.get());
    if (streamed != streamed_.end()) return streamed->second;
    absl::StatusOr<Definition> definition = DefinitionOf(*node);
    if (!definition.ok() || node->num_outputs() != 1) return {};
    const bool bytes =
        !node->inputs().empty() &&
        std::all_of(node->inputs().begin(), node->inputs().end(),
                    [&](const Value& v) { return byte_factors_[uses_.NodeOf(v.node())]; });
    if (bytes) return {};  // they are multiplied as bytes
    const bool unpacks =
        std::any_of(node->inputs().begin(), node->inputs().end(),
                    [&](const Value& v) { return unpacking_[uses_.NodeOf(v.node())]; });
    if (unpacks) return {};  // its weights have fewer bits
    const auto is_f32 = [](const ExprType& type) { return type.dtype == DType::kF32; };
    if (!std::all_of(definition->inputs.begin(), definition->inputs.end(), is_f32)) return {};
    const Forecast before = Known(HashApplication(*node), *definition);
    if (before.factors.empty() || before.by_warpgroup) return {};
    // Factors that are stored in another 16-bit type are read as they are.
    const DType from = WidenedFrom(node->inputs()[before.factors[0]]);
    if (Is16Bit(from) && from != dtype_ && WidenedFrom(node->inputs()[before.factors[1]]) == from) {
      return {};
    }
    // Casts below layout operators, or above those of one factor or of both.
    std::vector<StoredFactor> best;
    double least = before.microseconds;
    for (int above = 0; above < 4; ++above) {
      std::vector<StoredFactor> stored;
      double cost = 0;
      bool other = true;  // another form than before
      for (size_t i = 0; i < before.factors.size(); ++i) {
        const int k = before.factors[i];
        const bool on_top = (above >> i & 1) != 0;
        other = other && !(on_top && !IsLayout(node->inputs()[k].node()));
        stored.push_back({k, on_top});
        cost += CostOfStoring(node->inputs()[k], on_top);
      }
      if (!other || cost >= least) continue;
      const Forecast after = ForecastWith(node, stored);
      cost += after.microseconds;
      if (!after.by_warpgroup || cost >= least) continue;
      least = cost;
      best = std::move(stored);
    }
    return best;
  }

  // The product over narrow values, with all that stands between it and them.
  Forecast ForecastWith(const NodePtr& node, const std::vector<StoredFactor>& stored) {
    std::vector<Value> inputs = node->inputs();
    for (const StoredFactor& factor : stored) {
      Value& v = inputs[factor.operand];
      v = Cast(factor.on_top ? Cast(v, dtype_) : Narrow(v), DType::kF32);
    }
    const NodePtr product = Node::Apply(&node->op(), inputs, node->attrs(), node->types());
    std::vector<NodePtr> nodes;
    for (const StoredFactor& factor : stored) AddBelow(inputs[factor.operand], &nodes);
    nodes.push_back(product);
    absl::StatusOr<Definition> definition = ComposeNodes(nodes, OperandsOf(nodes));
    return definition.ok() ? ForecastOf(*definition, options_) : Forecast();
  }

  const Forecast& Known(uint64_t key, const Definition& definition) {
    auto it = forecasts_.find(key);
    if (it == forecasts_.end()) {
      it = forecasts_.emplace(key, ForecastOf(definition, options_)).first;
    }
    return it->second;
  }

  // The nodes from the stored value, exclusive, to `v`, operands first.
  void AddBelow(const Value& v, std::vector<NodePtr>* nodes) {
    if (!IsWidening(v.node()) && !IsLayout(v.node(), dtype_)) return;
    if (std::count(nodes->begin(), nodes->end(), v.node_ptr()) > 0) return;
    AddBelow(v.node().inputs()[0], nodes);
    nodes->push_back(v.node_ptr());
  }

  // The number of products that `v` is a factor of.
  int ProductsOf(const Value& v) {
    int products = 0;
    for (int user : uses_.Users(v)) {
      const Node& node = *uses_.nodes[user];
      const std::vector<int> factors = FactorsOf(node);
      products +=
          std::any_of(factors.begin(), factors.end(), [&](int k) { return node.inputs()[k] == v; })
              ? 1
              : 0;
    }
    return products;
  }

  // Microseconds. A value that only one operator reads is rounded by the kernel that makes it.
  double CostOfStoring(Value v, bool on_top) {
    while (!on_top && IsLayout(v.node())) v = v.node().inputs()[0];
    if (uses_.is_static[uses_.NodeOf(v.node())]) return 0;
    const bool widened = IsWidening(v.node());
    if (widened && !on_top && v.node().inputs()[0].dtype() == dtype_) return 0;
    const bool made_for_product = !IsLayout(v.node()) && v.node().is_op() && !widened &&
                                  !uses_.IsOutput(v) && uses_.Users(v).size() == 1;
    if (made_for_product) return 0;
    constexpr double kBytes = 4 + 2;
    const double cost =
        codegen::MovingMicroseconds(kBytes * static_cast<double>(v.type().num_elements()));
    return cost / std::max(1, ProductsOf(v));  // they share the narrow value
  }

  const Graph& graph_;
  NodeTraitsCache& traits_;
  const GridOptions& options_;
  const DType dtype_;
  const UseTable uses_;
  const std::vector<bool> byte_factors_, unpacking_;
  absl::flat_hash_map<Value, Value> narrow_;  // layout operators over 16 bits
  absl::flat_hash_map<uint64_t, Forecast> forecasts_;
  absl::flat_hash_map<const Node*, std::vector<StoredFactor>> streamed_;  // products
};

// Whether the node gives its operand's elements, each in its place, in another type.
bool OnlyConverts(const Node& node) {
  if (node.num_outputs() != 1 || node.type(0).shape != node.inputs()[0].shape()) return false;
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  return definition.ok() && codegen::KeepsOrder(*definition);
}

bool Converts(const Node& node, bool to_16_bits) {
  if (!node.is_op() || node.inputs().size() != 1) return false;
  DType wide = node.type(0).dtype, narrow = node.inputs()[0].dtype();
  if (to_16_bits) std::swap(wide, narrow);
  return wide == DType::kF32 && Is16Bit(narrow) && OnlyConverts(node);
}

}  // namespace

bool IsWidening(const Node& node) { return Converts(node, /*to_16_bits=*/false); }
bool IsNarrowing(const Node& node) { return Converts(node, /*to_16_bits=*/true); }

bool RoundsToTf32(const Node& node) {
  if (!node.is_op() || node.num_outputs() != 1 || node.inputs().size() != 1) return false;
  const absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok() || definition->tensors.size() != 1) return false;
  const ScalarExpr& body = definition->tensors[0].body;
  return body.kind() == ScalarExpr::Kind::kApply && body.fn() == ScalarFn::kRoundTf32 &&
         body.args()[0].kind() == ScalarExpr::Kind::kRead;
}

Graph StoreFactors(const Graph& graph, NodeTraitsCache& traits, const GridOptions& options) {
  const bool rounds =
      options.precision == ProductPrecision::kF16 || options.precision == ProductPrecision::kBf16;
  const Graph bytes = StoreNarrowWeights(StoreByteFactors(graph, traits), traits);
  if (!rounds || options.architecture != codegen::kWarpgroupArchitecture) return bytes;
  const Graph sliced = WithSlices(bytes, traits);
  return FactorStore(sliced, traits, options).Run();
}

}  // namespace lemma::cuda
