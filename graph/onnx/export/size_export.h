// Writes symbolic sizes as ONNX nodes that compute them from the inputs' shapes. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_SIZE_EXPORT_H_
#define LEMMA_GRAPH_ONNX_EXPORT_SIZE_EXPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

class SizeExport {
 public:
  // Adds a node with one output of a fresh name, and returns that name.
  using Emit = std::function<std::string(absl::string_view op_type, std::vector<std::string> inputs,
                                         std::map<std::string, int64_t> attrs)>;
  // Returns the name of a constant i64 vector with these elements.
  using Constant = std::function<std::string(const std::vector<int64_t>& elements)>;
  // Returns the name of a value of the graph.
  using NameOf = std::function<std::string(const Value&)>;
  SizeExport(const Graph& graph, Emit emit, Constant constant, NameOf name_of)
      : graph_(graph),
        emit_(std::move(emit)),
        constant_(std::move(constant)),
        name_of_(std::move(name_of)) {}

  // Returns the name of an i64 vector that holds `sizes`, and adds the nodes that compute it. Each
  // size is computed once for the whole model.
  std::string Vector(absl::Span<const int64_t> sizes);
  // An error if a size could not be computed. Unimplemented if a dimension
  // cannot be read from any shape: no input and no result of an opaque operator
  // has exactly this dimension (`n`, not `2*n`) as a size.
  const absl::Status& status() const { return status_; }

 private:
  // One() and Make() return the name of a vector whose only element is the
  // size; so does Dim() for a symbolic dimension. One() reuses a vector that
  // exists; Make() adds new nodes.
  std::string One(const IndexExpr& e);
  std::string Make(const IndexExpr& e);
  std::string Dim(const IndexExpr& symbol);
  // The dimension, read from the shape of `value`, whose name in the model is name(); "" if no size
  // of `value` is exactly the dimension.
  std::string DimOf(const IndexExpr& symbol, const Value& value,
                    const std::function<std::string()>& name);

  const Graph& graph_;
  const Emit emit_;
  const Constant constant_;
  const NameOf name_of_;
  std::map<std::string, std::string> made_;    // by an expression's text, the name of its vector
  std::map<std::string, std::string> shapes_;  // by a value's name, the name of its shape
  absl::Status status_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_SIZE_EXPORT_H_
