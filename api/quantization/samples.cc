#include "api/quantization/samples.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/models/npz.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/models/tensor_files.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"

namespace lemma::api {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSynthetic = "synthetic";

// Elements [from, from + size) of the first axis; with `drop_axis`, size is 1 and the axis goes.
absl::StatusOr<Tensor> Part(const Tensor& array, int64_t from, int64_t size, bool drop_axis) {
  Shape shape = array.shape();
  shape[0] = size;
  if (drop_axis) shape.erase(shape.begin());
  LEMMA_ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate({array.dtype(), shape}));
  const int64_t bytes = part.type().num_bytes();
  if (bytes == 0) return part;
  std::memcpy(part.mutable_raw(), static_cast<const char*>(array.raw()) + from / size * bytes,
              static_cast<size_t>(bytes));
  return part;
}

absl::StatusOr<std::vector<Tensor>> Split(const Tensor& array, const TensorType& input,
                                          const std::string& name) {
  auto wrong = [&] {
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "' is ", input.ToString(),
                                                   ", the array is ", array.type().ToString()));
  };
  std::vector<Tensor> parts;
  const int rank = array.type().rank();
  if (array.dtype() != input.dtype || (rank != input.rank() && rank != input.rank() + 1)) {
    return wrong();
  }
  if (rank == 0 || array.shape() == input.shape) return std::vector<Tensor>{array};
  const bool drops = rank != input.rank();
  const int64_t size = drops ? 1 : input.shape[0];
  if (size == 0 || array.shape()[0] % size != 0) return wrong();
  for (int64_t i = 0; i < array.shape()[0]; i += size) {
    LEMMA_ASSIGN_OR_RETURN(Tensor part, Part(array, i, size, drops));
    parts.push_back(std::move(part));
  }
  return parts;
}

class Reader {
 public:
  explicit Reader(const ImportedModel& model) : graph_(model.graph), info_(model.info) {}

  absl::Status ReadNpz(const std::string& path) {
    LEMMA_ASSIGN_OR_RETURN(auto file, MappedFile::Open(path));
    auto arrays = ParseNpz(file->bytes());
    if (!arrays.ok()) return Prefixed(path, arrays.status());
    return Prefixed(path, AddArrays(*std::move(arrays)));
  }

  absl::Status ReadFolder(const std::string& path) {
    std::error_code error;
    std::vector<std::string> entries;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      entries.push_back(entry.path().string());
    }
    if (error) return absl::NotFoundError(absl::StrCat(path, ": ", error.message()));
    std::sort(entries.begin(), entries.end());
    if (HasInputs(path)) return ReadSample(path);
    for (const std::string& entry : entries) {
      if (HasInputs(entry)) {
        LEMMA_RETURN_IF_ERROR(ReadSample(entry));
      } else if (absl::EndsWith(entry, ".npz")) {
        LEMMA_RETURN_IF_ERROR(ReadNpz(entry));
      } else if (absl::EndsWith(entry, ".npy") || absl::EndsWith(entry, ".pb")) {
        LEMMA_RETURN_IF_ERROR(ReadArray(entry));
      }
    }
    if (!samples_.empty()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        path, ": has no samples: folders with input_0.pb, …, .npz files, or .npy files"));
  }

  std::vector<Sample> Take() { return std::move(samples_); }

 private:
  static bool HasInputs(const std::string& folder) {
    std::error_code error;
    return fs::exists(folder + "/input_0.pb", error) || fs::exists(folder + "/input_0.npy", error);
  }

  // A folder with a tensor for each input; those with default values may be left out.
  absl::Status ReadSample(const std::string& folder) {
    LEMMA_ASSIGN_OR_RETURN(Sample tensors, ReadTensors({folder}, "input_"));
    for (size_t i = 0; i < graph_.inputs().size() && tensors.size() < graph_.inputs().size(); ++i) {
      auto value = info_.defaults.find(graph_.input_names()[i]);
      if (value == info_.defaults.end() || i > tensors.size()) continue;
      tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(i), value->second);
    }
    return Add(std::move(tensors), folder);
  }

  absl::Status ReadArray(const std::string& path) {
    if (graph_.inputs().size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": one array, but the model has ",
                                                     graph_.inputs().size(),
                                                     " inputs; a .npz file has an array for each"));
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, ReadTensors({path}, "input_"));
    std::map<std::string, Tensor> arrays;
    arrays.emplace(graph_.input_names()[0], std::move(tensors[0]));
    return Prefixed(path, AddArrays(std::move(arrays)));
  }

  absl::Status AddArrays(std::map<std::string, Tensor> arrays) {
    std::vector<std::optional<std::vector<Tensor>>> parts;
    std::optional<size_t> count;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const std::string& name = graph_.input_names()[i];
      auto array = arrays.find(name);
      parts.emplace_back();
      if (array == arrays.end() && info_.defaults.count(name) > 0) continue;
      if (array == arrays.end()) {
        return absl::InvalidArgumentError(absl::StrCat("has no array for input '", name, "'"));
      }
      LEMMA_ASSIGN_OR_RETURN(parts.back(), Split(array->second, graph_.inputs()[i].type(), name));
      if (count && *count != parts.back()->size()) {
        return absl::InvalidArgumentError(absl::StrCat("has ", parts.back()->size(),
                                                       " samples of input '", name, "', but ",
                                                       *count, " of those before"));
      }
      count = parts.back()->size();
      arrays.erase(array);
    }
    if (!arrays.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has an array '", arrays.begin()->first, "', but no input has this name"));
    }
    for (size_t s = 0; s < count.value_or(1); ++s) {
      Sample sample;
      for (size_t i = 0; i < parts.size(); ++i) {
        sample.push_back(parts[i] ? (*parts[i])[s] : info_.defaults.at(graph_.input_names()[i]));
      }
      LEMMA_RETURN_IF_ERROR(Add(std::move(sample), ""));
    }
    return absl::OkStatus();
  }

  absl::Status Add(Sample sample, const std::string& file) {
    for (size_t i = 0; i < sample.size(); ++i) {
      if (!IsFloat(sample[i].dtype()) || sample[i].IsFinite()) continue;
      const std::string name = i < graph_.inputs().size() ? graph_.input_names()[i] : "";
      absl::Status error = absl::InvalidArgumentError(
          absl::StrCat("sample ", samples_.size(), " of input '", name,
                       "' has an infinite or NaN value, which gives no range"));
      return file.empty() ? error : Prefixed(file, error);
    }
    samples_.push_back(std::move(sample));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const OnnxInfo& info_;
  std::vector<Sample> samples_;
};

absl::StatusOr<std::vector<Sample>> Synthetic(const SampleOptions& options,
                                              const ImportedModel& model) {
  int64_t count = kSyntheticSamples;
  if (options.calibration != kSynthetic) {
    const std::string number = options.calibration.substr(kSynthetic.size() + 1);
    if (!absl::SimpleAtoi(number, &count) || count < 1 || count > 100000) {
      return OptionError(
          absl::StrCat("option calibration: synthetic:N takes a number from 1 to "
                       "100000, not '",
                       number, "'"));
    }
  }
  std::vector<Sample> samples;
  for (int64_t i = 0; i < count; ++i) {
    LEMMA_ASSIGN_OR_RETURN(
        Sample sample,
        RandomInputs(model.graph, static_cast<uint64_t>(options.seed + i), options.int_range));
    for (size_t k = 0; k < sample.size(); ++k) {
      auto value = model.info.defaults.find(model.graph.input_names()[k]);
      if (value != model.info.defaults.end()) sample[k] = value->second;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

bool IsSynthetic(const std::string& calibration) {
  return calibration == kSynthetic || absl::StartsWith(calibration, absl::StrCat(kSynthetic, ":"));
}

absl::StatusOr<std::vector<Sample>> ReadSamples(const SampleOptions& options,
                                                const ImportedModel& model) {
  if (options.int_range < 1) return OptionError("option int_range: must be at least 1");
  if (IsSynthetic(options.calibration)) return Synthetic(options, model);
  Reader reader(model);
  std::error_code error;
  if (fs::is_directory(options.calibration, error)) {
    LEMMA_RETURN_IF_ERROR(reader.ReadFolder(options.calibration));
  } else {
    LEMMA_RETURN_IF_ERROR(reader.ReadNpz(options.calibration));
  }
  std::vector<Sample> samples = reader.Take();
  if (samples.empty()) {
    return absl::NotFoundError(absl::StrCat(options.calibration, ": has no samples"));
  }
  return samples;
}

}  // namespace lemma::api
