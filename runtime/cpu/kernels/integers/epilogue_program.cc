#include "runtime/cpu/kernels/integers/epilogue_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma::cpu {
namespace {

using Form = EpilogueGraph::Form;

// How `type` is broadcast over `product`.
std::optional<Form> FormOf(const TensorType& type, const TensorType& product, int channel) {
  if (type.shape == product.shape) return Form::kFull;
  if (type.num_elements() == 1) return Form::kNumber;
  const int behind = product.rank() - type.rank();
  if (behind < 0) return std::nullopt;
  for (int d = 0; d < type.rank(); ++d) {
    if (type.shape[d] != 1 && d + behind != channel) return std::nullopt;
  }
  return Form::kVector;
}

}  // namespace

absl::StatusOr<EpilogueGraph> MakeEpilogueGraph(const Value& product,
                                                absl::Span<const NodePtr> nodes, int channel,
                                                int64_t rows, int64_t columns) {
  const Shape block = {rows, columns};
  EpilogueGraph result;
  GraphBuilder builder("epilogue");
  absl::flat_hash_map<Value, Value> made;
  made[product] = builder.Input("product", {product.dtype(), block});
  for (const NodePtr& node : nodes) {
    std::vector<Value> operands;
    for (const Value& v : node->inputs()) {
      auto [entry, fresh] = made.try_emplace(v);
      if (fresh) {
        const std::optional<Form> form = FormOf(v.type(), product.type(), channel);
        if (!form) {
          return absl::UnimplementedError(absl::StrCat(
              "an operand ", v.type().ToString(), " behind a product ", product.type().ToString()));
        }
        const Shape shape = *form == Form::kFull     ? block
                            : *form == Form::kVector ? Shape{columns}
                                                     : Shape{};
        entry->second =
            builder.Input(absl::StrCat("x", result.operands.size()), {v.dtype(), shape});
        result.operands.push_back(v);
        result.forms.push_back(*form);
      }
      operands.push_back(entry->second);
    }
    if (node->num_outputs() != 1) return absl::UnimplementedError("several results");
    LEMMA_ASSIGN_OR_RETURN(Value y, builder.Op(node->op().name, operands, node->attrs()));
    made[Value(node, 0)] = std::move(y);
  }
  const Value y = nodes.empty() ? made.at(product) : made.at(Value(nodes.back(), 0));
  if (y.shape() != block) return absl::UnimplementedError("a result of another shape");
  builder.Output("y", y);
  LEMMA_ASSIGN_OR_RETURN(result.graph, std::move(builder).Build());
  return result;
}

std::vector<NodePtr> NodesBehind(const Value& product, absl::Span<const NodePtr> nodes) {
  absl::flat_hash_set<const Node*> needed = {nodes.back().get()};
  std::vector<NodePtr> result;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!needed.contains(it->get()) || *it == product.node_ptr()) continue;
    for (const Value& v : (*it)->inputs()) needed.insert(&v.node());
    result.push_back(*it);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

absl::Status RunIn(Arithmetic arithmetic, const LoopProgram& program,
                   absl::Span<const TensorView> inputs, absl::Span<const MutableTensorView> outputs,
                   const RunOptions& options) {
  switch (arithmetic) {
    case Arithmetic::kFloat:
      return lemma::Run<float>(program, inputs, outputs, options);
    case Arithmetic::kInteger:
      return lemma::Run<int64_t>(program, inputs, outputs, options);
    case Arithmetic::kDouble:
      return lemma::Run<double>(program, inputs, outputs, options);
  }
  return absl::InternalError("an unknown arithmetic");
}

}  // namespace lemma::cpu
