// What an ONNX model says besides its graph: versions, declared shapes, default values.
#ifndef LEMMA_GRAPH_ONNX_MODEL_INFO_H_
#define LEMMA_GRAPH_ONNX_MODEL_INFO_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace lemma {

struct OnnxOrigin;  // graph/onnx/origin/origin.h

// An input or output as the model declares it.
struct OnnxPort {
  std::string name;
  // "3", the name of a symbolic dimension, or "?"; empty if the model declares no shape.
  std::vector<std::string> dims;
};

struct OnnxInfo {
  int64_t ir_version = 0;
  int opset = 17;                     // of the default domain
  std::map<std::string, int> opsets;  // by domain; "" is the default domain
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::map<std::string, std::string> metadata;
  std::vector<OnnxPort> inputs, outputs;
  // Default values of optional inputs, by name (since IR version 4).
  std::map<std::string, Tensor> defaults;
  // Files with the values of weights, relative to the model's folder; each once.
  std::vector<std::string> data_files;
  // The model itself, for exports to keep what did not change; nullptr if there is none.
  std::shared_ptr<const OnnxOrigin> origin;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_MODEL_INFO_H_
