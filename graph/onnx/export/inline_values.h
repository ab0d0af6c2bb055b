// Writes a model that contains the values of its weights, without copying the values. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma {

// `model` is a serialized ModelProto whose initializers have no values. The returned pieces,
// joined, are what protobuf would serialize for the same model with `values[i]` as raw_data of
// initializer i; an empty handle stands for no raw_data. The pieces point into `model`, into
// `values`, and into `headers`: the function adds to `headers` the bytes (tag and length) that
// stand in front of a field. All three must outlive the pieces.
std::vector<absl::string_view> WithInlineValues(absl::string_view model,
                                                const std::vector<Tensor>& values,
                                                std::deque<std::string>* headers);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_INLINE_VALUES_H_
