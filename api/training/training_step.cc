// Makes a training step from a model.
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/models/option_error.h"
#include "api/train.h"
#include "base/file.h"

namespace lemma::api {
namespace {

constexpr std::pair<const char*, LossKind> kLosses[] = {
    {"cross-entropy", LossKind::kSoftmaxCrossEntropy},
    {"mse", LossKind::kMeanSquaredError},
    {"bce", LossKind::kBinaryCrossEntropyLogits}};
constexpr std::pair<const char*, UpdateKind> kUpdates[] = {
    {"sgd", UpdateKind::kSgd}, {"adam", UpdateKind::kAdam}, {"adamw", UpdateKind::kAdamW}};
constexpr std::pair<const char*, DType> kPrecisions[] = {
    {"f32", DType::kF32}, {"bf16", DType::kBF16}, {"f16", DType::kF16}};
constexpr char kDynamic[] = "dynamic";

template <class Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : table) names.push_back(name);
  return names;
}

// Sets *kind to the entry of the table that is named `wanted`.
template <class Table, class Kind>
absl::Status Find(const char* option, const Table& table, const std::string& wanted, Kind* kind) {
  for (const auto& [name, its_kind] : table) {
    if (wanted != name) continue;
    *kind = its_kind;
    return absl::OkStatus();
  }
  return OptionError(absl::StrCat("option ", option, ": '", wanted, "' is none of ",
                                  absl::StrJoin(NamesOf(table), ", ")));
}

absl::Status CheckRate(const std::string& lr) {
  double rate = 0;
  if (!lr.empty() && (!absl::SimpleAtod(lr, &rate) || !std::isfinite(rate))) {
    return OptionError("option lr: must be a number");
  }
  if (rate < 0) return OptionError("option lr: must not be negative");
  return absl::OkStatus();
}

absl::Status ReadLossScale(const std::string& text, TrainingOptions* details) {
  details->loss_scale = 1;
  details->dynamic_loss_scale =
      text == kDynamic || (text.empty() && details->precision == DType::kF16);
  if (text.empty() || details->dynamic_loss_scale) return absl::OkStatus();
  constexpr double kMost = std::numeric_limits<float>::max();
  double& scale = details->loss_scale;
  if (!absl::SimpleAtod(text, &scale) || !(scale > 0) || scale > kMost) {
    return OptionError(absl::StrCat("option loss_scale: '", text, "' is neither ", kDynamic,
                                    " nor a finite positive number"));
  }
  if (scale >= 1 / kMost) return absl::OkStatus();
  return OptionError(absl::StrCat("option loss_scale: gradients are multiplied by the inverse of ",
                                  text, ", which is infinite in f32"));
}

// The options with the kinds of loss, update and precision that are named.
absl::StatusOr<TrainingOptions> Checked(const TrainingStepOptions& options) {
  TrainingOptions details = options.details;
  Update& u = details.update;
  if (absl::Status s = Find("loss", kLosses, options.loss, &details.loss.kind); !s.ok()) return s;
  if (absl::Status s = Find("update", kUpdates, options.update, &u.kind); !s.ok()) return s;
  absl::Status precision = Find("precision", kPrecisions, options.precision, &details.precision);
  if (!precision.ok()) return precision;
  if (absl::Status s = ReadLossScale(options.loss_scale, &details); !s.ok()) return s;
  if (absl::Status s = CheckRate(options.lr); !s.ok()) return s;
  auto outside = [](double x, double low, double high) { return !(x >= low && x <= high); };
  auto below_0 = [](const char* option) {
    return OptionError(absl::StrCat("option ", option, ": must be finite and not negative"));
  };
  constexpr double kMost = std::numeric_limits<float>::max();
  if (outside(u.momentum, 0, kMost)) return below_0("momentum");
  if (outside(u.weight_decay, 0, kMost)) return below_0("weight_decay");
  for (auto [option, beta] : {std::pair("beta1", u.beta1), std::pair("beta2", u.beta2)}) {
    if (!outside(beta, 0, 1) && beta != 1) continue;
    return OptionError(absl::StrCat("option ", option, ": must be at least 0, below 1"));
  }
  if (outside(u.epsilon, 0, kMost)) return below_0("epsilon");
  if (outside(details.batch_norm_momentum, 0, 1)) {
    return OptionError("option batch_norm_momentum: must be from 0 to 1");
  }
  if (details.accumulate < 1) return OptionError("option accumulate: must be at least 1");
  if (outside(details.clip_norm, 0, kMost)) return below_0("clip_norm");
  if (details.scale_interval < 1) return OptionError("option scale_interval: must be at least 1");
  if (details.scale_interval != TrainingOptions().scale_interval && !details.dynamic_loss_scale) {
    return OptionError("option scale_interval: belongs to a dynamic loss scale");
  }
  if (u.nesterov && u.momentum == 0) return OptionError("option nesterov: needs option momentum");
  if (u.counts_steps() && u.momentum != 0) return OptionError("option momentum: is sgd's");
  return details;
}

}  // namespace

std::vector<std::string> LossNames() { return NamesOf(kLosses); }
std::vector<std::string> UpdateNames() { return NamesOf(kUpdates); }
std::vector<std::string> TrainingPrecisionNames() { return NamesOf(kPrecisions); }

absl::Status CheckTrainingStepOptions(const TrainingStepOptions& options) {
  return Checked(options).status();
}

absl::StatusOr<TrainingStepModel> MakeTrainingStep(const Model& model,
                                                   const TrainingStepOptions& options) {
  auto details = Checked(options);
  if (!details.ok()) return details.status();
  auto step = BuildTrainingStep(model.graph, *details);
  if (!step.ok()) return Prefixed(model.path, step.status());
  TrainingStepModel made;
  made.step = *std::move(step);
  made.state.tensors = made.step.state;
  auto& metadata = made.state.metadata;
  metadata = {{"model", model.path}, {"loss", options.loss}, {"update", options.update}};
  if (IsHalfFloat(details->precision)) metadata["precision"] = options.precision;
  if (!options.lr.empty()) metadata["lr"] = options.lr;
  if (made.step.classes > 0) metadata[kClassesKey] = absl::StrCat(made.step.classes);
  if (const auto ignored = details->loss.ignore_index) {
    metadata[kIgnoreKey] = absl::StrCat(*ignored);
  }
  return made;
}

std::string StatePathOf(const std::string& step) { return absl::StrCat(step, ".safetensors"); }

absl::Status SaveTrainingStep(const TrainingStepModel& made, const std::string& path) {
  auto format = FormatOfPath(path);
  if (!format.ok()) return format.status();
  Model model;
  model.graph = made.step.graph;
  auto files = StageModel(model, path, *format);
  if (!files.ok()) return files.status();
  auto state_file = StageSafetensors(StatePathOf(path), made.state);
  if (!state_file.ok()) return state_file.status();
  files->push_back(*std::move(state_file));
  return CommitAll(*std::move(files));
}

int64_t StateBytes(const TrainingStep& step) {
  int64_t bytes = 0;
  for (const auto& entry : step.state) bytes += entry.second.type().num_bytes();
  return bytes;
}

}  // namespace lemma::api
