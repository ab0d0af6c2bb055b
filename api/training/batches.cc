#include "api/training/batches.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "base/hash.h"
#include "runtime/stepper.h"

namespace lemma::api {
namespace {

constexpr char kLabels[] = "labels", kRate[] = "lr";
constexpr int64_t kMaxKeptBytes = int64_t{1} << 28;

std::string BatchesOf(const TensorType& type) {
  return absl::StrCat(Name(type.dtype), "[batches", type.shape.empty() ? "" : ",",
                      absl::StrJoin(type.shape, ","), "]");
}

// Refuses settings that make every step useless.
absl::Status CheckSetting(absl::string_view from, absl::string_view name, double value) {
  if (!std::isfinite(value)) {
    return OptionError(absl::StrCat(from, ": ", name, "=", value, " is no finite number"));
  }
  if (name == kRate && value < 0) {
    return OptionError(
        absl::StrCat(from, ": ", name, "=", value, ": a learning rate is not negative"));
  }
  return absl::OkStatus();
}

std::optional<int64_t> NumberOf(const std::map<std::string, std::string>& metadata,
                                const char* key) {
  int64_t number = 0;
  auto it = metadata.find(key);
  if (it == metadata.end() || !absl::SimpleAtoi(it->second, &number)) return std::nullopt;
  return number;
}

}  // namespace

absl::StatusOr<Batches> Batches::Create(const BatchOptions& options, const Graph& graph,
                                        const std::map<std::string, std::string>& metadata) {
  Batches batches;
  batches.options_ = options;
  batches.count_ = options.batches;
  batches.classes_ = NumberOf(metadata, kClassesKey).value_or(0);
  batches.ignored_label_ = NumberOf(metadata, kIgnoreKey);
  if (options.data != kSynthetic) {
    auto data = ReadSafetensors(options.data);
    if (!data.ok()) return data.status();
    batches.data_ = *std::move(data);
    batches.count_ = 0;
  }
  std::vector<bool> is_state(graph.inputs().size(), false);
  for (const StatePair& pair : StatePairs(graph)) is_state[pair.input] = true;
  batches.metadata_ = metadata;
  std::map<std::string, double> settings = options.set;
  for (const auto& [name, value] : settings) {
    if (absl::Status s = CheckSetting("option set", name, value); !s.ok()) return s;
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (is_state[i]) continue;
    absl::Status added = batches.Add(static_cast<int>(i), graph, &settings);
    if (!added.ok()) return added;
  }
  for (const auto& [name, value] : settings) {
    return OptionError(absl::StrCat("option set: the step takes no scalar '", name,
                                    "' besides its state and data"));
  }
  if (batches.count_ == 0) batches.count_ = 1;
  return batches;
}

absl::Status Batches::Load(int64_t step, std::vector<Tensor>* inputs) {
  const int64_t batch = step % count_;
  for (Source& source : sources_) {
    auto known = source.made.find(batch);
    if (known != source.made.end()) {
      (*inputs)[source.input] = known->second;
      continue;
    }
    auto tensor = ValueOf(source, batch);
    if (!tensor.ok()) return tensor.status();
    kept_bytes_ += source.type.num_bytes();
    if (kept_bytes_ <= kMaxKeptBytes) source.made[batch] = *tensor;
    (*inputs)[source.input] = *std::move(tensor);
  }
  return absl::OkStatus();
}

absl::Status Batches::Add(int input, const Graph& graph, std::map<std::string, double>* settings) {
  Source source;
  source.input = input;
  source.type = graph.inputs()[input].type();
  source.name = graph.input_names()[input];
  auto setting = settings->find(source.name);
  auto known = metadata_.find(source.name);
  double value_in_file = 0;
  if (setting == settings->end() && known != metadata_.end() &&
      absl::SimpleAtod(known->second, &value_in_file)) {
    absl::Status s = CheckSetting("the state's metadata", source.name, value_in_file);
    if (!s.ok()) return s;
    setting = settings->emplace(source.name, value_in_file).first;
  }
  auto given = data_.tensors.find(source.name);
  if (setting != settings->end() && source.type.rank() == 0) {
    auto value = Tensor::Filled(source.type, setting->second);
    if (!value.ok()) return value.status();
    source.fixed = *std::move(value);
    settings->erase(setting);
  } else if (given != data_.tensors.end()) {
    if (absl::Status s = CheckData(source, given->second, options_.data); !s.ok()) return s;
    if (absl::Status s = CheckLabels(source, given->second, options_.data); !s.ok()) return s;
  } else if (source.type.rank() == 0) {
    return OptionError(absl::StrCat("the step needs a value of ", source.name,
                                    ": give it with option set ", source.name, "=…"));
  } else if (options_.data != kSynthetic) {
    return absl::InvalidArgumentError(absl::StrCat(options_.data, ": has no tensor ", source.name,
                                                   "; it needs ", BatchesOf(source.type),
                                                   ", one row for each batch"));
  }
  sources_.push_back(std::move(source));
  return absl::OkStatus();
}

absl::Status Batches::CheckData(const Source& source, const Tensor& data, const std::string& file) {
  const Shape& shape = data.shape();
  const bool fits = data.dtype() == source.type.dtype && !shape.empty() && shape[0] > 0 &&
                    Shape(shape.begin() + 1, shape.end()) == source.type.shape;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", source.name, " is ",
                                                   data.type().ToString(), ", the step needs ",
                                                   BatchesOf(source.type)));
  }
  if (count_ != 0 && count_ != shape[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", source.name, " has ", shape[0], " batches, others have ", count_));
  }
  count_ = shape[0];
  return absl::OkStatus();
}

// A label that is no class would count as a class of probability 1.
absl::Status Batches::CheckLabels(const Source& source, const Tensor& data,
                                  const std::string& file) const {
  if (source.name != kLabels || classes_ == 0 || IsFloat(data.dtype())) return absl::OkStatus();
  const int64_t row = std::max<int64_t>(1, source.type.num_elements());
  for (int64_t i = 0; i < data.size(); ++i) {
    const int64_t label = data.AtInt(i);
    if ((label >= 0 && label < classes_) || label == ignored_label_) continue;
    return OptionError(
        absl::StrCat(file, ": label ", label, " (number ", i % row, " of batch ", i / row,
                     ") is none of the classes 0 to ", classes_ - 1,
                     ignored_label_ ? absl::StrCat(", nor ", *ignored_label_, ", which is ignored")
                                    : "; option ignore_index names one that does not count"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Batches::ValueOf(const Source& source, int64_t batch) {
  if (source.fixed) return *source.fixed;
  auto given = data_.tensors.find(source.name);
  if (given == data_.tensors.end()) {
    const auto seed = static_cast<uint64_t>(options_.seed);
    const int64_t range = options_.int_range;
    const bool chooses = source.name == kLabels && classes_ > 0;
    return RandomInput(source.type, HashCombine(HashCombine(seed, batch), source.input),
                       chooses ? std::min(range, classes_) : range);
  }
  auto row = Tensor::Allocate(source.type);
  if (!row.ok()) return row.status();
  const int64_t bytes = source.type.num_bytes();
  const char* rows = static_cast<const char*>(given->second.raw());
  std::copy_n(rows + batch * bytes, bytes, static_cast<char*>(row->mutable_raw()));
  return row;
}

}  // namespace lemma::api
