// Writes a model with the values of its weights inside without a copy of the values. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma {

// `model` is a serialized ModelProto whose initializers have no values. The result's concatenation
// is the same model with `values[i]`, if it is not an empty handle, as raw_data of initializer i:
// what protobuf would serialize. The pieces lie in `model`, `values` and `headers`.
std::vector<absl::string_view> WithInlineValues(absl::string_view model,
                                                const std::vector<Tensor>& values,
                                                std::deque<std::string>* headers);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_
