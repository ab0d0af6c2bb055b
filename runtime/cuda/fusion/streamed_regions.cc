#include "runtime/cuda/fusion/streamed_regions.h"

#include <algorithm>
#include <limits>
#include <set>

#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cuda {

using codegen::GridOptions;
using codegen::ProductPrecision;
using codegen::StreamSize;

namespace {

std::optional<StreamSize> SizeOf(const std::vector<int>& members, const UseTable& uses,
                                 const GridOptions& options, std::optional<DType> stored) {
  std::vector<NodePtr> nodes;
  for (int member : members) nodes.push_back(uses.nodes[member]);
  const std::vector<Value> operands = OperandsOf(nodes);
  absl::StatusOr<Definition> definition = ComposeNodes(nodes, operands);
  if (!definition.ok()) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    DType& dtype = definition->inputs[i].dtype;
    if (stored && dtype == DType::kF32) dtype = *stored;
    // Values that several kernels read are not widened before: fusion.cc.
    if (!stored && !uses.IsOutput(operands[i]) && IsWidening(operands[i].node())) {
      dtype = operands[i].node().inputs()[0].dtype();
    }
  }
  return codegen::StreamedSize(*definition, options);
}

class Search {
 public:
  Search(int root, const UseTable& uses, NodeTraitsCache& traits,
         const std::function<bool(int)>& is_product)
      : root_(root), uses_(uses), traits_(traits), is_product_(is_product) {}

  // The region whose softmax is `operand` of the root.
  StreamedRegion Run(int operand) {
    members_.clear();
    if (!AddAbove(uses_.nodes[root_]->inputs()[operand])) return {};
    const auto product =
        std::find_if(members_.begin(), members_.end(), [&](int n) { return is_product_(n); });
    if (product == members_.end()) return {};
    KeepUsersOf(*product);
    if (members_.size() > kMostNodes) return {};
    const int scores = *product;
    const bool has_rows = std::any_of(members_.begin(), members_.end(), [&](int n) {
      return n != scores && !IsLayout(n) && !traits_.Of(*uses_.nodes[n]).pointwise;
    });
    if (!has_rows) return {};
    members_.insert(root_);
    const std::vector<int> inner(members_.begin(), members_.end());
    if (!std::all_of(inner.begin(), inner.end(),
                     [&](int n) { return n == root_ || IsInside(n); })) {
      return {};
    }
    // Masks are read as they are before they are expanded or transposed.
    for (int node : inner) {
      for (const Value& v : uses_.nodes[node]->inputs()) AddLayouts(v);
    }
    return {{members_.begin(), members_.end()}, scores, operand, {}};
  }

 private:
  // Larger than any attention made of small operators; and what is computed before it, such as a
  // mask. They bound the time of the search.
  static constexpr size_t kMostNodes = 24, kMostAbove = 200;

  bool IsLayout(int n) {
    const NodeTraits& traits = traits_.Of(*uses_.nodes[n]);
    return IsWidening(*uses_.nodes[n]) || traits.reshapes || traits.views.size() == 1;
  }

  bool CanJoin(int n) const {
    const NodePtr& node = uses_.nodes[n];
    return node->is_op() && !uses_.is_static[n] && node->num_outputs() == 1 &&
           !uses_.IsOutput(Value(node, 0));
  }

  // Whether only members read node n's value.
  bool IsInside(int n) const {
    const std::vector<int>& users = uses_.Users(Value(uses_.nodes[n], 0));
    return CanJoin(n) && std::all_of(users.begin(), users.end(),
                                     [&](int user) { return members_.count(user) > 0; });
  }

  // Adds the operators that compute `v`, down to products; false if they are too many.
  bool AddAbove(const Value& v) {
    const int n = uses_.NodeOf(v.node());
    if (!CanJoin(n) || !members_.insert(n).second) return true;
    if (members_.size() > kMostAbove) return false;
    if (is_product_(n)) return true;
    const std::vector<Value>& inputs = v.node().inputs();
    return std::all_of(inputs.begin(), inputs.end(), [&](const Value& in) { return AddAbove(in); });
  }

  // Removes members that are not computed from `product`'s value.
  void KeepUsersOf(int product) {
    std::set<int> kept = {product};
    for (int n : members_) {
      const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
      const bool uses = std::any_of(inputs.begin(), inputs.end(), [&](const Value& v) {
        return kept.count(uses_.NodeOf(v.node())) > 0;
      });
      if (uses && !is_product_(n)) kept.insert(n);
    }
    members_ = std::move(kept);
  }

  // Adds casts from 16 bits and layout operators that only members read.
  void AddLayouts(const Value& v) {
    const int n = uses_.NodeOf(v.node());
    if (members_.count(n) > 0 || !CanJoin(n) || !IsLayout(n) || !IsInside(n)) return;
    members_.insert(n);
    AddLayouts(v.node().inputs()[0]);
  }

  const int root_;
  const UseTable& uses_;
  NodeTraitsCache& traits_;
  const std::function<bool(int)>& is_product_;
  std::set<int> members_;
};

}  // namespace

StreamedRegion FindStreamedRegion(int root, const UseTable& uses, NodeTraitsCache& traits,
                                  const std::function<bool(int)>& is_product,
                                  const GridOptions& options, std::optional<DType> stored) {
  if (options.precision == ProductPrecision::kF32 ||
      options.architecture != codegen::kWarpgroupArchitecture || !is_product(root) ||
      uses.nodes[root]->num_outputs() != 1) {
    return {};
  }
  Search search(root, uses, traits, is_product);
  for (size_t k = 0; k < uses.nodes[root]->inputs().size(); ++k) {
    StreamedRegion region = search.Run(static_cast<int>(k));
    if (region.nodes.empty()) continue;
    const std::optional<StreamSize> size = SizeOf(region.nodes, uses, options, stored);
    if (!size) continue;
    region.size = *size;
    return region;
  }
  return {};
}

double GainOfStreaming(const StreamSize& size, const GridOptions& options) {
  const std::optional<codegen::StreamTile> tile = codegen::ChooseStreamTile(size);
  if (options.stream) return std::numeric_limits<double>::infinity();
  if (!tile) return 0;
  const ProductPrecision separate = options.precision == ProductPrecision::kStored
                                        ? ProductPrecision::kBf16  // as fast as kF16
                                        : options.precision;
  return codegen::SeparateMicroseconds(size, separate) - codegen::StreamedMicroseconds(size, *tile);
}

bool IsStreamed(const std::vector<int>& nodes, const UseTable& uses, const GridOptions& options) {
  return SizeOf(nodes, uses, options, std::nullopt).has_value();
}

}  // namespace lemma::cuda
