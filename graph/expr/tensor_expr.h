// Definitions: expressions that define whole tensors, element by element.
#ifndef LEMMA_GRAPH_EXPR_TENSOR_EXPR_H_
#define LEMMA_GRAPH_EXPR_TENSOR_EXPR_H_

#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// The type of a tensor: its element type and its dimensions, which are constants or expressions
// over symbols.
struct ExprType {
  DType dtype = DType::kF32;
  Idx dims;

  int rank() const { return static_cast<int>(dims.size()); }
};

// The definition of one tensor. Its element at index (axes[0].var, axes[1].var, …) has the value
// `body`; the extents of `axes` are its dimensions.
struct TensorExpr {
  DType dtype = DType::kF32;
  std::vector<Axis> axes;
  ScalarExpr body;
};

// The meaning of one operator application, or of a composed graph.
//
// Tensor ids 0 … inputs.size()-1 are the inputs. Id inputs.size() + i is tensors[i], whose body
// reads only tensors with smaller ids. A tensor that is not an output is a local: a shared subterm
// that is evaluated once. Replacing each read of a local by the local's body gives an equal
// definition (Inline, compose.h).
struct Definition {
  std::vector<ExprType> inputs;
  std::vector<TensorExpr> tensors;
  std::vector<TensorId> outputs;
  int num_vars = 0;  // all VarIds lie in [0, num_vars)

  int num_inputs() const { return static_cast<int>(inputs.size()); }
  ExprType TypeOf(TensorId id) const;  // of an input or tensor
  // A line for each tensor: "out t1[i0 < 4] = exp(t0[i0])". For a local, "let" replaces "out".
  std::string ToString() const;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_TENSOR_EXPR_H_
