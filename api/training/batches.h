// Where the values of a training step's inputs come from.
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

// Keys of a state's metadata: the number of classes that the input `labels` chooses among, and the
// label that does not count, if there is one.
constexpr char kClassesKey[] = "lemma.classes", kIgnoreKey[] = "lemma.ignore_index";

// The data of batches that are made up; any other is a file's name.
constexpr char kSynthetic[] = "synthetic";

struct BatchOptions {
  std::string data = kSynthetic;      // safetensors with [batches, …] of each input
  int64_t batches = 16;               // different ones that are made up
  std::map<std::string, double> set;  // values of scalar inputs, such as the learning rate `lr`
  int64_t seed = 1;                   // of what is made up
  int64_t int_range = 2;              // integers that are made up are below this
};

// The graph's inputs that are no state, and their values: of the option set, of the state's
// metadata, of the file of data, which has a row for each batch, or made up. Equal options and
// metadata give equal values.
class Batches {
 public:
  // InvalidArgument, with the option or the file, if a value is missing, of another type, no finite
  // number, or a label that is none of the classes.
  static absl::StatusOr<Batches> Create(const BatchOptions& options, const Graph& graph,
                                        const std::map<std::string, std::string>& metadata);

  int64_t count() const { return count_; }

  // Puts batch `step` mod count() in its places.
  absl::Status Load(int64_t step, std::vector<Tensor>* inputs);

 private:
  struct Source {
    int input = 0;
    TensorType type;
    std::string name;
    std::optional<Tensor> fixed;
    std::map<int64_t, Tensor> made;  // by batch, as far as they were asked for
  };

  absl::Status Add(int input, const Graph& graph, std::map<std::string, double>* settings);
  absl::Status CheckData(const Source& source, const Tensor& data, const std::string& file);
  absl::Status CheckLabels(const Source& source, const Tensor& data, const std::string& file) const;
  absl::StatusOr<Tensor> ValueOf(const Source& source, int64_t batch);

  BatchOptions options_;
  int64_t count_ = 0, kept_bytes_ = 0;
  int64_t classes_ = 0;  // 0: not known
  std::optional<int64_t> ignored_label_;
  NamedTensors data_;
  std::vector<Source> sources_;
  std::map<std::string, std::string> metadata_;  // of the state's file
};

}  // namespace lemma::api

#endif  // LEMMA_API_TRAINING_BATCHES_H_
