// lemma train: a model as a step of training.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/batches.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "graph/grad/training_step.h"
#include "graph/safetensors.h"

namespace lemma::cli {
namespace {

struct TrainFlags {
  CommonFlags common;
  std::string output, loss = "cross-entropy", update = "sgd", ignore_index, lr;
  TrainingOptions options;

  void Add(Flags* flags) {
    TrainingOptions& o = options;
    flags->String("output|o", &output, "STEP",
                  "where to; .onnx, .lemma or .pb. The state goes to STEP.safetensors");
    flags->Choice("loss", &loss, {"cross-entropy", "mse", "bce"},
                  "of the output and the input `labels`; bce takes logits");
    flags->Choice("update", &update, {"sgd", "adam", "adamw"}, "what becomes of the weights");
    flags->String("lr", &lr, "X",
                  "learning rate to note in the state; `run --set lr=X` can say another");
    flags->Real("momentum", &o.update.momentum, "sgd");
    flags->Bool("nesterov", &o.update.nesterov, "sgd: Nesterov's momentum");
    flags->Real("weight-decay", &o.update.weight_decay,
                "added to gradients; adamw: to the weights");
    flags->Real("beta1", &o.update.beta1, "adam, adamw: of the gradients' average");
    flags->Real("beta2", &o.update.beta2, "adam, adamw: of their squares' average");
    flags->Real("epsilon", &o.update.epsilon, "adam, adamw");
    flags->String("loss-of", &o.output, "OUTPUT", "the model's output; none: the first");
    flags->Int("class-axis", &o.loss.class_axis, "cross-entropy: the axis of the classes");
    flags->String("ignore-index", &ignore_index, "N", "cross-entropy: a label that does not count");
    flags->List("freeze", &o.frozen, "WEIGHT,...", "weights that stay as they are");
    flags->Real("clip-norm", &o.clip_norm, "largest norm of all gradients together; 0: any");
    flags->Int("accumulate", &o.accumulate, "steps whose gradients make one update");
    flags->Real("loss-scale", &o.loss_scale, "for gradients in f16");
    flags->Real("batch-norm-momentum", &o.batch_norm_momentum,
                "how much of the running statistics stays");
    flags->Int("seed", &o.seed, "of dropouts, in the first step");
    common.training = true;
    common.AddModel(flags);
  }

  absl::Status Resolve() {
    static const std::map<std::string, LossKind> kLosses = {
        {"cross-entropy", LossKind::kSoftmaxCrossEntropy},
        {"mse", LossKind::kMeanSquaredError},
        {"bce", LossKind::kBinaryCrossEntropyLogits}};
    static const std::map<std::string, UpdateKind> kUpdates = {
        {"sgd", UpdateKind::kSgd}, {"adam", UpdateKind::kAdam}, {"adamw", UpdateKind::kAdamW}};
    options.loss.kind = kLosses.at(loss);
    options.update.kind = kUpdates.at(update);
    auto bad = [](const char* what) { return absl::InvalidArgumentError(what); };
    if (output.empty()) return bad("where to? give -o STEP");
    int64_t ignored = 0;
    if (!ignore_index.empty()) {
      if (!absl::SimpleAtoi(ignore_index, &ignored)) return bad("--ignore-index: a whole number");
      options.loss.ignore_index = ignored;
    }
    double rate = 0;
    if (!lr.empty() && (!absl::SimpleAtod(lr, &rate) || !std::isfinite(rate))) {
      return bad("--lr: must be a number");
    }
    const Update& u = options.update;
    auto outside = [](double x, double low, double high) { return !(x >= low && x <= high); };
    constexpr double kMost = std::numeric_limits<float>::max();
    if (rate < 0) return bad("--lr: must not be negative");
    if (outside(u.momentum, 0, kMost)) return bad("--momentum: must be finite and not negative");
    if (outside(u.weight_decay, 0, kMost)) {
      return bad("--weight-decay: must be finite and not negative");
    }
    if (outside(u.beta1, 0, 1) || u.beta1 == 1) return bad("--beta1: must be at least 0, below 1");
    if (outside(u.beta2, 0, 1) || u.beta2 == 1) return bad("--beta2: must be at least 0, below 1");
    if (outside(u.epsilon, 0, kMost)) return bad("--epsilon: must be finite and not negative");
    if (outside(options.batch_norm_momentum, 0, 1)) {
      return bad("--batch-norm-momentum: must be from 0 to 1");
    }
    if (options.accumulate < 1) return bad("--accumulate: must be at least 1");
    if (outside(options.clip_norm, 0, kMost)) {
      return bad("--clip-norm: must be finite and not negative");
    }
    if (!(options.loss_scale > 0 && options.loss_scale <= kMost)) {
      return bad("--loss-scale: must be finite and positive");
    }
    if (u.nesterov && u.momentum == 0) return bad("--nesterov: needs --momentum");
    if (u.counts_steps() && u.momentum != 0) return bad("--momentum: is sgd's");
    return absl::OkStatus();
  }
};

int64_t StateBytes(const TrainingStep& step) {
  int64_t bytes = 0;
  for (const auto& entry : step.state) bytes += entry.second.type().num_bytes();
  return bytes;
}

void Report(const TrainFlags& flags, const api::Model& model, const TrainingStep& step,
            const std::string& state_path) {
  const int before = model.graph.num_ops(), after = step.graph.num_ops();
  if (flags.common.json) {
    Json json = Json::Object();
    json.Set("step", flags.output).Set("state", state_path);
    json.Set("operators_before", before).Set("operators", after);
    json.Set("variables", static_cast<int64_t>(step.state.size()));
    json.Set("state_bytes", StateBytes(step));
    Json untrained = Json::Array();
    for (const auto& one : step.untrained) untrained.Add(Json(one.name));
    json.Set("untrained", std::move(untrained));
    std::puts(json.ToString().c_str());
    return;
  }
  std::printf("%s: %d operators, of %d in the model\n", flags.output.c_str(), after, before);
  std::printf("%s: %zu variables, %s\n", state_path.c_str(), step.state.size(),
              FormatBytes(static_cast<double>(StateBytes(step))).c_str());
  for (const auto& one : step.untrained) {
    std::printf("not trained: %s (%s)\n", one.name.c_str(), one.reason.c_str());
  }
}

absl::Status Train(const TrainFlags& flags, const std::string& path) {
  auto format = api::FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  const std::string state_path = flags.output + ".safetensors";
  if (absl::Status s = api::CheckOutputs({flags.output, state_path}, {path}); !s.ok()) return s;
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto step = BuildTrainingStep(model->graph, flags.options);
  if (!step.ok()) return api::Prefixed(path, step.status());
  NamedTensors state;
  state.tensors = step->state;
  state.metadata = {{"model", path}, {"loss", flags.loss}, {"update", flags.update}};
  if (!flags.lr.empty()) state.metadata["lr"] = flags.lr;
  if (step->classes > 0) state.metadata[kClassesKey] = absl::StrCat(step->classes);
  if (const auto ignored = flags.options.loss.ignore_index) {
    state.metadata[kIgnoreKey] = absl::StrCat(*ignored);
  }
  api::Model out;
  out.graph = step->graph;
  auto files = api::StageModel(out, flags.output, *format);
  if (!files.ok()) return files.status();
  auto state_file = StageSafetensors(state_path, state);
  if (!state_file.ok()) return state_file.status();
  files->push_back(*std::move(state_file));
  if (absl::Status s = CommitAll(*std::move(files)); !s.ok()) return s;
  Report(flags, *model, *step, state_path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunTrain(Arguments arguments) {
  TrainFlags train;
  Flags flags("train", "MODEL -o STEP",
              "Makes a model a step of training: forward, loss, backward and weight update.");
  train.Add(&flags);
  flags.Note("lemma train model.onnx --loss=cross-entropy --update=adamw --lr=1e-3 -o step.onnx");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (absl::Status s = train.Resolve(); !s.ok()) return s;
  if (absl::Status s = Train(train, *path); !s.ok()) return s;
  return kExitOk;
}

}  // namespace lemma::cli
