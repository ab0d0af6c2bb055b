// Requirements that many operators share, for their definitions. Each function returns
// InvalidArgument if its requirement is known to be false (LEMMA_REQUIRE).
#ifndef LEMMA_GRAPH_OPS_CHECKS_H_
#define LEMMA_GRAPH_OPS_CHECKS_H_

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Requires one numeric element type for all inputs.
inline absl::Status RequireNumeric(OpContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    LEMMA_REQUIRE(c, c.dtype(i) != DType::kBool, "element type must be a number, not bool");
    LEMMA_REQUIRE(c, c.dtype(i) == c.dtype(0), "inputs must have one element type, not both ",
                  Name(c.dtype(0)), " and ", Name(c.dtype(i)));
  }
  return absl::OkStatus();
}

// Requires one floating-point element type for all inputs.
inline absl::Status RequireFloat(OpContext& c) {
  LEMMA_REQUIRE(c, IsFloat(c.dtype(0)), "element type must be f32, f64, f16 or bf16, not ",
                Name(c.dtype(0)));
  return RequireNumeric(c);
}

// Requires that input `i` is a vector of `size` elements; `what` is its name in errors.
inline absl::Status RequireVector(OpContext& c, int i, const char* what, const IndexExpr& size) {
  LEMMA_REQUIRE(c, c.rank(i) == 1, what, " must be a vector of ", size.ToString(),
                " elements, not of rank ", c.rank(i));
  LEMMA_REQUIRE(c, Eq(c.Dim(i, 0), size), what, " must have ", size.ToString(), " elements, not ",
                c.Dim(i, 0).ToString());
  return absl::OkStatus();
}

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_CHECKS_H_
