#include "pet/symbolic/product_count.h"

#include <utility>

#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/mutants/recipe.h"
#include "pet/regions/polynomial.h"

namespace lemma::pet {
namespace {

absl::StatusOr<int64_t> ProductsAt(const Value& value, const Box& box, PolynomialReader* reader) {
  LEMMA_ASSIGN_OR_RETURN(const Family family, reader->Read(value, box));
  if (!family.pieces.empty()) return absl::InternalError("a part that has to be cut");
  Rational sum;
  for (const auto& [term, coefficient] : family.terms) {
    Rational products = coefficient;
    for (int64_t extent : term.extents) products = products * Rational::Of(extent);
    sum = sum + products;
  }
  if (sum.denominator != 1 || sum.numerator < 1) {
    return absl::InvalidArgumentError("an element over ones is no positive number of products");
  }
  return sum.numerator;
}

}  // namespace

absl::StatusOr<Graph> GraphOf(const Graph& like, const Value& output) {
  GraphBuilder builder(like.name());
  for (size_t i = 0; i < like.inputs().size(); ++i) {
    builder.Input(like.input_names()[i], like.inputs()[i].type());
  }
  builder.Output("y", output);
  return std::move(builder).Build();
}

absl::StatusOr<std::vector<Count>> CountsOf(const Graph& original, const Graph& mutant,
                                            const Region& region) {
  PolynomialReader reader;
  std::vector<Count> counts;
  for (const Box& part : region.parts) {
    LEMMA_ASSIGN_OR_RETURN(const int64_t a, ProductsAt(original.outputs()[0], part, &reader));
    LEMMA_ASSIGN_OR_RETURN(const int64_t b, ProductsAt(mutant.outputs()[0], part, &reader));
    counts.push_back({part, a, b});
  }
  return counts;
}

absl::StatusOr<Graph> OverOnes(const Graph& graph) {
  LeafMap leaves;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) continue;
    const Value leaf(node, 0);
    leaves[leaf] = leaf;
    if (node->kind() == Node::Kind::kConstant) continue;
    LEMMA_ASSIGN_OR_RETURN(const Value zero, Apply1("scalar_mul", {leaf}, {{"alpha", 0.0}}));
    LEMMA_ASSIGN_OR_RETURN(const Tensor one, Tensor::Filled({leaf.dtype(), {}}, 1));
    LEMMA_ASSIGN_OR_RETURN(leaves[leaf], Apply1("add", {zero, Value(Node::Constant(one), 0)}));
  }
  LEMMA_ASSIGN_OR_RETURN(Value y, Rebuilt(graph, leaves, {}, 1));
  return GraphOf(graph, y);
}

absl::StatusOr<Graph> Counted(const Graph& like, const Box& box, int64_t count) {
  const DType dtype = like.outputs()[0].dtype();
  Shape shape;
  for (const Range& r : box) shape.push_back(r.count);
  LEMMA_ASSIGN_OR_RETURN(const Tensor summands, Tensor::Filled({dtype, {count}}, 1));
  LEMMA_ASSIGN_OR_RETURN(const Value sum,
                         Apply1("reduce_sum", {Value(Node::Constant(summands), 0)},
                                {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}}));
  LEMMA_ASSIGN_OR_RETURN(const Value y, Apply1("expand", {sum}, {{"shape", shape}}));
  return GraphOf(like, y);
}

}  // namespace lemma::pet
