// The example applications that the operator table gives.
#ifndef LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_
#define LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace lemma {

struct OpExample {
  const OpDef* op = nullptr;
  std::string text;
  std::vector<TensorType> inputs;
  Attrs attrs;  // complete
};
std::ostream& operator<<(std::ostream& out, const OpExample& example);

// "(f32[2,3], i64[4]) {axis = 1}".
absl::StatusOr<OpExample> ParseExample(const OpDef& op, absl::string_view text);

// The examples of all operators. Skips those that do not parse; another test reports them.
std::vector<OpExample> AllExamples();

// Values for the inputs of an example, the same in every run. Floats are in [0.1, 0.9). Integers
// are 1 and 2; next to floats they are -1 and 0, which are positions in any axis.
std::vector<std::vector<double>> ExampleValues(const OpExample& example);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXAMPLES_OP_EXAMPLES_H_
