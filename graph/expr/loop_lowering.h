// From expressions to loop nests. Internal to evaluation.
#ifndef LEMMA_GRAPH_EXPR_LOOP_LOWERING_H_
#define LEMMA_GRAPH_EXPR_LOOP_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/expr/loop_ir.h"
#include "graph/expr/scalar_expr.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {
namespace loops {

// A tensor in memory. Slots are numbered like the tensors read by the expressions.
struct Slot {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

// A box of a tensor as written by a definition: body at every value of `axes`, stored at
// `out` of tensor `slot`. Extents are constants and no variable of `axes` is bound again.
struct NestSource {
  int slot = -1;
  std::vector<Axis> axes;
  Idx out;
  ScalarExpr body;
};

bool IsEmpty(const NestSource& source);

// All of `tensor`, with every variable bound once; `fresh` numbers new variables.
NestSource SourceOf(const TensorExpr& tensor, int slot, int* fresh);

// The tensors of `definition`, row-major.
std::vector<Slot> DenseSlots(const Definition& definition);

struct LowerOptions {
  bool merge_axes = true;  // of the output box; those of reductions always are
};

// Lowers `source`. Variable i of the nest is source.axes[i]. Indices are brought to a normal form
// in which reshapes of dense tensors cancel; what the ranges of the variables decide (guards,
// bounds, quotients) is decided. Consecutive axes that everything treats as one become one. The
// result is unscheduled.
Nest Lower(const NestSource& source, absl::Span<const Slot> slots,
           const LowerOptions& options = {});

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_LOOP_LOWERING_H_
