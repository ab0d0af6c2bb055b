// Provides the values of a training step's inputs, batch by batch: values from a file, values from
// settings, or random values.
#ifndef LEMMA_API_TRAINING_BATCHES_H_
#define LEMMA_API_TRAINING_BATCHES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/safetensors.h"

namespace lemma::api {

// Keys of a state's metadata: the number of classes of the input `labels`, and the label that the
// loss ignores, if any.
constexpr char kClassesKey[] = "lemma.classes", kIgnoreKey[] = "lemma.ignore_index";

// The value of BatchOptions::data for random batches; any other value is the name of a file.
constexpr char kSynthetic[] = "synthetic";

struct BatchOptions {
  // kSynthetic, or a safetensors file. For an input of shape [a, b], the file has a tensor of shape
  // [n, a, b] with the input's name, where n is the number of batches in the file.
  std::string data = kSynthetic;
  int64_t batches = 16;               // number of different random batches, at least 1
  std::map<std::string, double> set;  // values of scalar inputs, such as the learning rate `lr`
  int64_t seed = 1;                   // of the random values
  // Random integers are in [0, int_range). Random labels are also below the number of classes.
  int64_t int_range = 2;
};

// Gives values to the graph's inputs that are not state. The value of a scalar input comes from the
// first place that has one: the option `set`, the state's metadata, the data file. Every other
// input takes its values from the data file (one row for each batch) or, without a file, gets
// random values. The same options, metadata and data file give the same values.
class Batches {
 public:
  // `metadata` is the metadata of the state's file (api/train.h). NotFound if the data file does
  // not exist. InvalidArgument, naming the option or the file, if a value is missing or has the
  // wrong type, if a scalar is not finite or is a negative learning rate, if `set` has a name that
  // is not a scalar input, or if a label is neither a class nor the ignored label.
  static absl::StatusOr<Batches> Create(const BatchOptions& options, const Graph& graph,
                                        const std::map<std::string, std::string>& metadata);

  // The number of different batches.
  int64_t count() const { return count_; }

  // Stores batch number `step` mod count() in *inputs, which has one element for each input of the
  // graph. Leaves the elements for state inputs unchanged. `step` must not be negative.
  absl::Status Load(int64_t step, std::vector<Tensor>* inputs);

 private:
  struct Source {
    int input = 0;
    TensorType type;
    std::string name;
    std::optional<Tensor> fixed;     // a scalar's value from `set` or from the metadata
    std::map<int64_t, Tensor> made;  // random values by batch, made when first used
  };

  absl::Status Add(int input, const Graph& graph, std::map<std::string, double>* settings);
  absl::Status CheckData(const Source& source, const Tensor& data, const std::string& file);
  absl::Status CheckLabels(const Source& source, const Tensor& data, const std::string& file) const;
  absl::StatusOr<Tensor> ValueOf(const Source& source, int64_t batch);

  BatchOptions options_;
  int64_t count_ = 0, kept_bytes_ = 0;
  int64_t classes_ = 0;  // 0: unknown
  std::optional<int64_t> ignored_label_;
  NamedTensors data_;
  std::vector<Source> sources_;
  std::map<std::string, std::string> metadata_;  // of the state's file
};

}  // namespace lemma::api

#endif  // LEMMA_API_TRAINING_BATCHES_H_
