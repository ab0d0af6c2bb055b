// Which ONNX operators Lemma imports by itself.
#ifndef LEMMA_GRAPH_ONNX_KNOWN_TYPES_H_
#define LEMMA_GRAPH_ONNX_KNOWN_TYPES_H_

#include <string>

namespace lemma {

// Whether `type`, such as "Gelu" or "com.microsoft.Gelu", has a meaning without a definition in a
// file.
bool IsKnownOnnxType(const std::string& type);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_KNOWN_TYPES_H_
