// Prints and parses the text form of graphs. A printed graph reads back as the same graph:
// structure, names, labels and every bit of every payload. The grammar is in graph/text/syntax.h,
// printing in print.cc, the values of weights and constants in payload.cc.
//
//   graph two_heads(x: f32[8,64], wq: weight f32[64,32], b: weight f32[2] = [1.0, 2.0]) {
//     q = matmul(x, wq)
//     c = constant f32[3] fill 0.5
//     l, r = split(q) {axis = 1, sizes = [16, 16]}
//     top, index: i64[1] = opaque(c) {op_type = "TopK"}     # opaque operators state their types
//     return l, r
//   }
#ifndef LEMMA_GRAPH_TEXT_TEXT_H_
#define LEMMA_GRAPH_TEXT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/text/syntax.h"

namespace lemma {

struct ParseOptions {
  std::string file = "text";  // the name of the text in errors
  // Limit on the bytes of all `fill` payloads of a text together: a few characters can fill a
  // tensor of any size.
  int64_t max_fill_bytes = int64_t{1} << 32;
};

// Parses a text that holds exactly one graph. Errors are InvalidArgument and read
// "file:line:column: message"; the message names what would be accepted.
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ParseOptions& options = {});
// All graphs of a text, in order; rules are skipped.
absl::StatusOr<std::vector<Graph>> ParseGraphs(absl::string_view text,
                                               const ParseOptions& options = {});
// The graph of one block of a syntax tree.
absl::StatusOr<Graph> BuildGraph(const text::Block& block, const ParseOptions& options = {});

struct PrintOptions {
  bool elide = false;  // long payloads are printed as "...", which does not read back
  bool types = false;  // print the type of every value
};
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});

namespace text {

// The operator whose name is most similar to `name` ("relu" for "relo"), or "" if none is near.
std::string NearestOp(absl::string_view name);
// A literal as an attribute; fails for names and calls.
absl::StatusOr<AttrValue> LiteralAttr(const Expr& expr, absl::string_view file);
absl::StatusOr<TensorType> ConcreteType(const Type& type, absl::string_view file);
// Subtracts the bytes of a `fill` from *fill_budget.
absl::StatusOr<Tensor> ReadPayload(const TensorType& type, const Payload& payload,
                                   absl::string_view file, int64_t* fill_budget);
// "[1.0, 2.0]", "fill 0.5", "base64 \"…\"" or, for a long payload if `elide`, "...".
std::string PrintPayload(const Tensor& tensor, bool elide);

}  // namespace text
}  // namespace lemma

#endif  // LEMMA_GRAPH_TEXT_TEXT_H_
