// Describes an ONNX model apart from its graph: versions, declared shapes, default values.
#ifndef LEMMA_GRAPH_ONNX_MODEL_INFO_H_
#define LEMMA_GRAPH_ONNX_MODEL_INFO_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "graph/tensor.h"

namespace lemma {

struct OnnxOrigin;  // graph/onnx/origin/origin.h

// An input or output as the model declares it. If an output's declared shape contradicts the
// graph, `dims` has the graph's sizes.
struct OnnxPort {
  std::string name;
  // By axis: a number such as "3", the name of a symbolic dimension, or "?" for a size with
  // neither. Empty if the model declares no shape, and for a scalar.
  std::vector<std::string> dims;
};

// Names and metadata for an export of a graph that was changed since its import.
struct OnnxChange {
  // By label (Graph::LabelOf), the name of the rule that last replaced the value with this label.
  // New nodes are named after the rule.
  std::map<std::string, std::string> made_by;
  // By Tensor::ContentHash of a constant that was computed from weights: its name.
  std::map<uint64_t, std::string> folded;
  // Entries of the model's metadata; they replace entries with the same keys.
  std::map<std::string, std::string> metadata;
};

// An imported model's own description. The defaults describe a model that was not imported.
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
  // The files in `data_files` that are mapped into memory. Weights may share the mapped bytes.
  std::vector<std::shared_ptr<const MappedFile>> mapped_files;
  OnnxChange change;
  // The model itself, so that exports can keep its unchanged nodes; nullptr if there is none.
  std::shared_ptr<const OnnxOrigin> origin;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_MODEL_INFO_H_
