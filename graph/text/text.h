// Prints and parses the text form of graphs. A printed graph reads back as the same graph:
// structure, names, labels and every bit of every payload. A graph with symbolic sizes or elided
// payloads does not read back. graph/text/syntax.h gives the grammar.
//
//   graph two_heads(x: f32[8,64], wq: weight f32[64,32], b: weight f32[2] = [1.0, 2.0]) {
//     q = matmul(x, wq)
//     c = constant f32[3] fill 0.5
//     l, r = split(q) {axis = 1, sizes = [16, 16]}
//     top: f32[1], index: i64[1] = opaque(c) {op_type = "TopK"}  # opaque operators state types
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
  // Limit on the bytes of all `fill` payloads of one graph together: a few characters can fill a
  // tensor of any size.
  int64_t max_fill_bytes = int64_t{1} << 32;
};

// Parses a text that contains exactly one graph. Errors are InvalidArgument and begin with
// "file:line:column: " (with "file: " if the number of graphs is wrong). Syntax errors name what
// would be accepted. If Tensor::Allocate fails for a payload, its error is returned.
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ParseOptions& options = {});
// All graphs of a text, in order; there may be none. Rules are skipped.
absl::StatusOr<std::vector<Graph>> ParseGraphs(absl::string_view text,
                                               const ParseOptions& options = {});
// The graph of one block of a syntax tree, which must not be a rule.
absl::StatusOr<Graph> BuildGraph(const text::Block& block, const ParseOptions& options = {});

struct PrintOptions {
  bool elide = false;  // prints long payloads as "...", which is an error when read back
  bool types = false;  // prints the type of every value, not only where the grammar needs it
};
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});

namespace text {

// The operator whose name is most similar to `name` ("relu" for "relo"), or "" if all names differ
// from `name` by more than two typing errors.
std::string NearestOp(absl::string_view name);
// A literal as an attribute: a number, a string or a list of numbers. Here and below, errors have
// the form of ErrorAt (graph/text/lexer.h), where `file` is the name of the text.
absl::StatusOr<AttrValue> LiteralAttr(const Expr& expr, absl::string_view file);
// `type` as a TensorType; an error unless its element type is stated and its sizes are numbers.
absl::StatusOr<TensorType> ConcreteType(const Type& type, absl::string_view file);
// The values that `payload` gives for a tensor of `type`. Subtracts the bytes of a `fill` from
// *fill_budget; an error if they exceed it.
absl::StatusOr<Tensor> ReadPayload(const TensorType& type, const Payload& payload,
                                   absl::string_view file, int64_t* fill_budget);
// The payload as text. "fill 0.5" if all elements are equal and take at most 1 GiB; otherwise
// "[1.0, 2.0]" for up to 16 elements. In all other cases, and for values that a number cannot state
// exactly (such as NaN), "base64 \"…\"" or, if `elide`, "...".
std::string PrintPayload(const Tensor& tensor, bool elide);

}  // namespace text
}  // namespace lemma

#endif  // LEMMA_GRAPH_TEXT_TEXT_H_
