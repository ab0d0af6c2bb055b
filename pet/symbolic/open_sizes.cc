#include "pet/symbolic/open_sizes.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma::pet {

absl::StatusOr<OpenSizes> OpenSizes::Of(const Graph& original, const Recipe& recipe) {
  OpenSizes sizes(original, recipe);
  sizes.Find();
  if (sizes.open_.empty()) return absl::InvalidArgumentError("no size is open");
  return sizes;
}

OpenSizes::OpenSizes(const Graph& original, const Recipe& recipe)
    : original_(original), recipe_(recipe) {
  for (const NodePtr& node : original.nodes()) {
    if (!node->is_op() && node->kind() != Node::Kind::kConstant) leaves_.emplace_back(node, 0);
  }
}

absl::StatusOr<Graph> OpenSizes::At(const Sizes& sizes) const {
  std::vector<Shape> shapes = ShapesOf();
  for (size_t s = 0; s < open_.size(); ++s) {
    for (const LeafDim& d : open_[s].dims) shapes[d.leaf][d.dim] = open_[s].factor * sizes[s];
  }
  return Resized(shapes);
}

std::vector<Shape> OpenSizes::ShapesOf() const {
  std::vector<Shape> shapes;
  for (const Value& leaf : leaves_) shapes.push_back(leaf.shape());
  return shapes;
}

// The original with new sizes.
absl::StatusOr<Graph> OpenSizes::Resized(const std::vector<Shape>& shapes) const {
  LeafMap leaves;
  for (const NodePtr& node : original_.nodes()) {
    if (!node->is_op()) leaves[Value(node, 0)] = Value(node, 0);
  }
  GraphBuilder builder(original_.name());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Node& node = leaves_[i].node();
    const TensorType type = {leaves_[i].dtype(), shapes[i]};
    leaves[leaves_[i]] = node.kind() == Node::Kind::kInput
                             ? builder.Input(original_.input_names()[node.input_index()], type)
                             : builder.Weight(node.name(), type);
  }
  LEMMA_ASSIGN_OR_RETURN(Value y, Rebuilt(original_, leaves, {}, 1));
  builder.Output("y", std::move(y));
  return std::move(builder).Build();
}

// Whether the original is well-formed with these dimensions doubled. If they include no dimension
// of the data, exactly one dimension of the result must double; else it is the size of a window.
bool OpenSizes::MayDouble(const std::vector<LeafDim>& dims) const {
  std::vector<Shape> shapes = ShapesOf();
  bool data = false;
  for (const LeafDim& d : dims) {
    shapes[d.leaf][d.dim] *= 2;
    data = data || leaves_[d.leaf] == Data();
  }
  auto doubled = Resized(shapes);
  if (!doubled.ok()) return false;
  if (data) return true;
  const Shape &before = original_.outputs()[0].shape(), &after = doubled->outputs()[0].shape();
  int twice = 0, same = 0;
  for (size_t d = 0; d < before.size() && after.size() == before.size(); ++d) {
    twice += after[d] == 2 * before[d];
    same += after[d] == before[d];
  }
  return twice == 1 && same + 1 == static_cast<int>(before.size());
}

// The number by which the layout divides the dimensions; 0 if they were padded for it.
int64_t OpenSizes::FactorOf(const std::vector<LeafDim>& dims) const {
  int64_t factor = 1;
  for (const LeafDim& d : dims) {
    if (leaves_[d.leaf] != Data()) continue;
    const auto dim = static_cast<int>(d.dim);
    for (const DigitMove& move : recipe_.layout.digits) {
      if (move.from == dim) factor *= move.factor;
    }
    for (const BlockMove& move : recipe_.layout.blocks) {
      if (move.from == dim) factor *= move.blocks;
    }
    if (leaves_[d.leaf].shape()[d.dim] % factor != 0) return 0;
  }
  return factor;
}

void OpenSizes::Find() {
  std::vector<LeafDim> all;
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    for (size_t dim = 0; dim < leaves_[leaf].shape().size(); ++dim) all.push_back({leaf, dim});
  }
  auto size = [&](const LeafDim& d) { return leaves_[d.leaf].shape()[d.dim]; };
  std::vector<bool> taken(all.size(), false);
  for (size_t i = 0; i < all.size(); ++i) {
    if (taken[i] || size(all[i]) < 2) continue;
    std::vector<std::vector<size_t>> groups = {{i}};
    for (size_t j = 0; j < all.size(); ++j) {
      if (j != i && !taken[j] && size(all[j]) == size(all[i])) groups.push_back({i, j});
    }
    for (const std::vector<size_t>& group : groups) {
      OpenSize open;
      for (size_t member : group) open.dims.push_back(all[member]);
      if (!MayDouble(open.dims)) continue;
      open.factor = FactorOf(open.dims);
      open.value = size(all[i]) / std::max<int64_t>(open.factor, 1);
      if (open.factor > 0 && open.value > 1) open_.push_back(open);
      for (size_t member : group) taken[member] = true;
      break;
    }
  }
}

}  // namespace lemma::pet
