// Parses the example applications of the operator table (OpDef::examples) and makes inputs for
// them.
#ifndef LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_
#define LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace lemma {

// One application of an operator, at concrete types.
struct OpExample {
  const OpDef* op = nullptr;
  std::string text;  // as in OpDef::examples
  std::vector<TensorType> inputs;
  Attrs attrs;  // with default values for the attributes that `text` leaves out
};
// Writes the operator's name and `text`: "concat(f32[2,3], f32[2,1]) {axis = 1}".
std::ostream& operator<<(std::ostream& out, const OpExample& example);

// Parses "(f32[2,3], i64[4]) {axis = 1}". `op` must outlive the result. InvalidArgument if the text
// or an attribute is wrong. Does not check whether the operator accepts the types of the inputs.
absl::StatusOr<OpExample> ParseExample(const OpDef& op, absl::string_view text);

// The examples of all operators, also of operators that are defined in files. Skips examples that
// do not parse; tests/graph/conformance_test.cc reports them.
std::vector<OpExample> AllExamples();

// Values for the inputs of an example, one row-major list per input, the same in every run. Floats
// are in [0.1, 0.9), bools 0 or 1. Integers and small floats are 1 or 2 if no input has a float
// type (IsFloat); otherwise they are -1 or 0, which are valid positions on any axis that is not
// empty.
std::vector<std::vector<double>> ExampleValues(const OpExample& example);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_
