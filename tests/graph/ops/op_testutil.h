// Applies one operator in a test.
#ifndef LEMMA_TESTS_GRAPH_OPS_OP_TESTUTIL_H_
#define LEMMA_TESTS_GRAPH_OPS_OP_TESTUTIL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma {

using Ints = std::vector<int64_t>;

// An operand: its type, and its values in row-major order.
struct Arg {
  Arg(Shape shape, std::vector<double> values, DType dtype = DType::kF32)
      : type{dtype, std::move(shape)}, values(std::move(values)) {}
  TensorType type;
  std::vector<double> values;

  // The element at `index`, which must lie inside the tensor.
  double At(const std::vector<int64_t>& index) const;
  // The element at `index`, or 0 outside the tensor.
  double AtOr0(const std::vector<int64_t>& index) const;
};

// Small whole numbers without a pattern, the same in every run.
Arg SomeNumbers(Shape shape, int seed = 1);

struct Outputs {
  std::vector<TensorType> types;            // by output
  std::vector<std::vector<double>> values;  // by output, in row-major order
};
// The outputs of the operator `op`, computed by its definition in double. `attrs` may leave out
// attributes that have default values.
absl::StatusOr<Outputs> Eval(absl::string_view op, const std::vector<Arg>& args, Attrs attrs = {});
// The values of the first output. On error, the test fails and no values are returned.
std::vector<double> Eval1(absl::string_view op, const std::vector<Arg>& args, Attrs attrs = {});

// The type of output `i` as text, such as "f32[1,2]", or the error message.
std::string TypeOf(absl::string_view op, const std::vector<TensorType>& inputs, Attrs attrs = {},
                   int i = 0);

// The requirements (graph/op_def.h) of `op` for f32 operands with these dimensions, as text; on
// error the test fails. For each operand, `dims` has the list of its dimensions, which are sizes or
// names of symbols: {"N", "C", "3"}.
std::vector<std::string> Requirements(absl::string_view op,
                                      const std::vector<std::vector<std::string>>& dims,
                                      ExprAttrs attrs = {});
// One index expression per element of `names`: a number if the element is a size such as "3",
// otherwise the symbol with this name.
Idx Symbols(const std::vector<std::string>& names);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_OPS_OP_TESTUTIL_H_
