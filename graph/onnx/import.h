// Imports ONNX models as graphs.
//
// Import determines all shapes: it binds symbolic dimensions to numbers, or keeps them as symbolic
// sizes, and evaluates shape arithmetic. An initializer becomes a weight of the same name if it has
// floats and rank 1 or more, or if it has more than 65536 elements. Other initializers become
// constants. There are two exceptions: an initializer that Lemma's export marked as a weight or a
// constant becomes what the mark says, and an initializer of an opaque type becomes an opaque node.
// From IR version 4 on, an initializer that is also an input is that input's default value. The
// input stays an input, since callers may give it another value. Before version 4, all initializers
// had to be listed as inputs, so in such a model an initializer is always a weight or a constant.
// An operator without a definition in Lemma becomes an opaque node if its output types are declared
// or can be inferred.
#ifndef LEMMA_GRAPH_ONNX_IMPORT_H_
#define LEMMA_GRAPH_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"

namespace lemma {

struct ImportOptions {
  // Sizes of symbolic dimensions by name; an unnamed dimension is called "INPUT.AXIS".
  std::map<std::string, int64_t> dims;
  // If true, dimensions that `dims` does not bind stay symbolic (graph/sizes/symbolic_size.h);
  // `ranges` gives ranges of their sizes, by name. If false, the given values (below) and the
  // default values of inputs bind such dimensions, and all other dimensions get the size
  // `default_dim`. A note reports each dimension that `dims` does not bind.
  bool symbolic = false;
  std::map<std::string, SizeRange> ranges;
  int64_t default_dim = 1;
  // With `symbolic`: ImportOnnx may restrict dimensions if it cannot import an operator. Notes
  // report the restrictions. There are two steps:
  //   1. Longer dimensions. If an operator cannot be imported because sizes that it reads may be
  //      too short, ImportOnnx raises the least lengths of the dimensions in these sizes, except
  //      for dimensions in `ranges`. A size is too short if the operator is invalid at this size.
  //      If the import without longer dimensions fails, a size is also too short if the operator
  //      means something else at this size than at longer ones.
  //   2. Fixed dimensions. If longer dimensions do not help, and the import fails because an
  //      operator reads symbolic sizes, ImportOnnx fixes the dimensions in these sizes to numbers.
  //      It does not do so if one of these dimensions is in `ranges`. If values of inputs are
  //      given, it takes the sizes of these values. Otherwise it tries UsualSize
  //      (graph/sizes/symbolic_size.h), 256, 512, 1024 and 2048, each also with some dimensions set
  //      to 1, and takes the sizes with the fewest opaque operators. It stops at sizes without
  //      opaque operators, after about 2 seconds if an import has succeeded by then, and after
  //      about 10 seconds in any case.
  bool fixes_sizes = false;
  // By dimension, a size at which the model will be used. The least length of the dimension is not
  // raised above this size, nor above the dimension's size in given or default values of inputs.
  std::map<std::string, int64_t> used_sizes;
  // Values of inputs by name. Unless `symbolic`, the shapes of these values bind symbolic
  // dimensions that `dims` does not bind. If an operator needs an input's value to determine
  // shapes, the value is taken from here, and a note says that the graph holds only for this value.
  std::map<std::string, Tensor> input_values;
  // Values of inputs by position: one value for each input, or for each input without a default
  // value. Any other number of values is ignored. A value that does not fit its input is left out,
  // and so is a value for an input that `input_values` names.
  std::vector<Tensor> inputs;
  // Whether the values of inputs may also decide the sizes of results, as for NonZero. If false,
  // such sizes are result sizes (graph/sizes/symbolic_size.h), and so are the sizes of the results
  // of a Loop whose number of iterations depends on floats.
  bool computes_result_sizes = false;
  // Whether given values of inputs leave open how often a Loop is executed. If false, a Loop whose
  // number of iterations is given is unrolled, and the graph holds for this number only. With
  // `symbolic` and `fixes_sizes`, ImportOnnx first imports the model as if `keeps_loops` were true;
  // it uses the value of `keeps_loops` only if this import fails.
  bool keeps_loops = false;
  // Channels in a block of the layout NCHWc (com.microsoft.nchwc): 16 or 8. ONNX Runtime chooses it
  // by the processor and does not save it. 0: 8 if a convolution's number of output channels is not
  // a multiple of 16, else 16.
  int64_t channel_block = 0;
  // For training: imports each Dropout as the operator `dropout`, which returns its operand, and
  // notes the parameters that cannot be trained. If all elements of a weight are equal, each
  // Identity of the weight becomes a new weight, so that training can change both weights
  // independently.
  bool training = false;
};

struct ImportedModel {
  Graph graph;
  OnnxInfo info;
  // Decisions of the import, one line each, such as bound dimensions and fixed inputs.
  std::vector<std::string> notes;
  // By name: the sizes of symbolic dimensions that given values of inputs determined, or that were
  // fixed (fixes_sizes).
  std::map<std::string, int64_t> bound_dims;
  // Symbolic dimensions of inputs that have the size `default_dim`, because nothing gave a size.
  std::vector<std::string> default_dims;
  // Inputs whose given values became part of the graph, with these values.
  std::map<std::string, Tensor> fixed_inputs;
  // Whether the model uses the layout NCHWc, and neither ImportOptions::channel_block nor the model
  // says whether a block has 8 or 16 channels.
  bool guesses_channel_block = false;
  // Reasons for opaque operators, one line each:
  // "node 'a' (TopK of operator set 17): unsupported: TopK (…)".
  std::vector<std::string> opaque;
};

// NotFound if there is no such file; InvalidArgument if the model is damaged or contradicts itself,
// or if `dims` or `ranges` names a dimension that the model does not have;
// Unimplemented ("unsupported: OP (reason)") if the model uses something that Lemma lacks;
// FailedPrecondition if an operator needs numbers for sizes that are symbolic. The message is one
// line with path, node and reason.
absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path,
                                         const ImportOptions& options = {});
// Imports from memory: external data are refused, and ImportOptions::fixes_sizes has no effect.
absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes,
                                              const ImportOptions& options = {});

// How often the graph contains each kind of opaque operator, by its name in ONNX:
// "com.microsoft.Foo".
std::map<std::string, int> UnknownOperators(const Graph& graph);

// Whether `bytes`, the beginning of a file, may be an ONNX model.
bool LooksLikeOnnx(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_IMPORT_H_
