#include "pet/mutants/recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma::pet {

std::string Layout::ToString() const {
  std::string text;
  for (const Pad& pad : pads) {
    absl::StrAppend(&text, "pad dim ", pad.dim, " by ", pad.before, "+", pad.after, ", ");
  }
  for (const BlockMove& move : blocks) absl::StrAppend(&text, move.ToString(), ", ");
  for (const DigitMove& move : digits) absl::StrAppend(&text, move.ToString(), ", ");
  return text.substr(0, text.size() - 2);
}

std::vector<DigitMove> Layout::Back() const {
  std::vector<DigitMove> back;
  for (auto m = digits.rbegin(); m != digits.rend(); ++m) back.push_back(m->Inverse());
  for (auto m = blocks.rbegin(); m != blocks.rend(); ++m) {
    back.push_back({m->to, m->from, m->blocks, false, false});
  }
  return back;
}

absl::StatusOr<Value> LaidOut(Value x, const Layout& layout) {
  for (const Pad& pad : layout.pads) {
    LEMMA_ASSIGN_OR_RETURN(x, PadDim(x, pad.dim, pad.before, pad.after));
  }
  for (const BlockMove& move : layout.blocks) {
    LEMMA_ASSIGN_OR_RETURN(x, ApplyMove(x, move));
  }
  for (const DigitMove& move : layout.digits) {
    LEMMA_ASSIGN_OR_RETURN(x, ApplyMove(x, move));
  }
  return x;
}

Shape ShapeAfter(Shape shape, const Layout& layout) {
  for (const Pad& pad : layout.pads) shape[pad.dim] += pad.before + pad.after;
  for (const BlockMove& move : layout.blocks) {
    const int64_t whole = shape[move.from] - move.overlap;
    if (whole <= 0 || whole % move.blocks != 0) return {};
    shape[move.from] = whole / move.blocks + move.overlap;
    shape[move.to] *= move.blocks;
  }
  for (const DigitMove& move : layout.digits) {
    shape = ShapeAfter(std::move(shape), move);
    if (shape.empty()) return {};
  }
  return shape;
}

void RoundUp(const Shape& shape, int dim, int64_t f, std::vector<Pad>* pads) {
  int64_t size = shape[dim];
  for (const Pad& pad : *pads) size += pad.dim == dim ? pad.before + pad.after : 0;
  if (size % f != 0) pads->push_back({dim, 0, f - size % f});
}

Attrs Changed(const Node& node, const AttrChange& change, int64_t factor) {
  Attrs attrs = node.attrs();
  unsigned list = 0;
  for (const AttrSpec& spec : node.op().attrs) {
    if (spec.kind != AttrKind::kInts) continue;
    const unsigned bit = 1u << list++;
    auto& entries = std::get<std::vector<int64_t>>(attrs[spec.name]);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (((change.entries >> (i % 2)) & 1) == 0) continue;
      if (change.divided & bit) entries[i] = (entries[i] + factor - 1) / factor;
      if (change.zeroed & bit) entries[i] = 0;
    }
  }
  return attrs;
}

std::string Recipe::ToString() const {
  return absl::StrCat(layout.ToString(), change.divided != 0 ? "; attributes divided" : "",
                      change.zeroed != 0 ? "; padding made explicit" : "",
                      with_weights ? "; weights too" : "");
}

absl::StatusOr<LeafMap> MovedLeaves(const Graph& original, int data, const Layout& layout,
                                    bool with_weights) {
  const Value& x = original.inputs()[static_cast<size_t>(data)];
  LeafMap leaves;
  for (const NodePtr& node : original.nodes()) {
    if (node->is_op()) continue;
    const Value leaf(node, 0);
    leaves[leaf] = leaf;
    if (leaf == x) {
      LEMMA_ASSIGN_OR_RETURN(leaves[leaf], LaidOut(leaf, layout));
    } else if (with_weights && node->kind() == Node::Kind::kWeight &&
               leaf.type().rank() == x.type().rank()) {
      Layout same;
      same.digits = layout.digits;
      for (const DigitMove& move : layout.digits) {
        RoundUp(leaf.shape(), move.from, move.factor, &same.pads);
      }
      LEMMA_ASSIGN_OR_RETURN(leaves[leaf], LaidOut(leaf, same));
    }
  }
  return leaves;
}

absl::StatusOr<Value> Rebuilt(const Graph& original, const LeafMap& leaves,
                              const AttrChange& change, int64_t factor) {
  LeafMap now = leaves;
  for (const NodePtr& node : original.nodes()) {
    if (!node->is_op()) continue;
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now.at(v));
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<Value> outputs,
        ApplyOp(node->op().name, std::move(inputs), Changed(*node, change, factor)));
    for (size_t i = 0; i < outputs.size(); ++i) now[Value(node, static_cast<int>(i))] = outputs[i];
  }
  return now.at(original.outputs()[0]);
}

absl::StatusOr<Value> MovedBack(Value y, const std::vector<DigitMove>& moves, const Value& wanted) {
  for (const DigitMove& move : moves) {
    if (std::max(move.from, move.to) >= y.type().rank()) {
      return absl::InvalidArgumentError("the result has no such dimension");
    }
    LEMMA_ASSIGN_OR_RETURN(y, ApplyMove(y, move));
  }
  const Shape& shape = wanted.shape();
  if (y.dtype() != wanted.dtype() || y.shape().size() != shape.size()) {
    return absl::InvalidArgumentError("another type");
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (y.shape()[d] < shape[d]) return absl::InvalidArgumentError("too small");
  }
  return SliceOf(y, Shape(shape.size(), 0), shape);
}

absl::StatusOr<Graph> ApplyRecipe(const Graph& original, const Recipe& recipe) {
  LEMMA_ASSIGN_OR_RETURN(const LeafMap leaves,
                         MovedLeaves(original, recipe.data, recipe.layout, recipe.with_weights));
  LEMMA_ASSIGN_OR_RETURN(Value y, Rebuilt(original, leaves, recipe.change, recipe.layout.factor()));
  const std::vector<DigitMove> moves =
      recipe.back ? recipe.layout.Back() : std::vector<DigitMove>();
  LEMMA_ASSIGN_OR_RETURN(y, MovedBack(std::move(y), moves, original.outputs()[0]));
  return original.WithOutputs({std::move(y)});
}

}  // namespace lemma::pet
