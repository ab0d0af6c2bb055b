// lemma train: makes a training step from a model.
#include "api/train.h"

#include <string>

#include "absl/strings/numbers.h"
#include "api/json/train.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

struct TrainFlags {
  CommonFlags common;
  std::string output, ignore_index;
  api::TrainingStepOptions options;

  void Add(Flags* flags) {
    TrainingOptions& o = options.details;
    flags->String("output|o", &output, "STEP",
                  "where to; .onnx, .lemma or .pb. The state goes to STEP.safetensors");
    flags->Choice("loss", &options.loss, api::LossNames(),
                  "of the output and the input `labels`; bce takes logits");
    flags->Choice("update", &options.update, api::UpdateNames(), "what becomes of the weights");
    flags->String("lr", &options.lr, "X",
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
    flags->Choice("precision", &options.precision, api::TrainingPrecisionNames(),
                  "of products; weights, sums and updates stay in f32");
    flags->String("loss-scale", &options.loss_scale, "S|dynamic",
                  "factor of the loss while gradients are computed; none: dynamic for f16, else 1");
    flags->Int("scale-interval", &o.scale_interval, "dynamic: updates until the scale doubles");
    flags->Real("batch-norm-momentum", &o.batch_norm_momentum,
                "how much of the running statistics stays");
    flags->Int("seed", &o.seed, "of dropouts, in the first step");
    common.training = true;
    common.AddModel(flags);
  }

  absl::Status Resolve() {
    if (output.empty()) return absl::InvalidArgumentError("missing -o STEP: the file to write");
    int64_t ignored = 0;
    if (!ignore_index.empty()) {
      if (!absl::SimpleAtoi(ignore_index, &ignored)) {
        return absl::InvalidArgumentError("--ignore-index: a whole number");
      }
      options.details.loss.ignore_index = ignored;
    }
    return WithFlags(api::CheckTrainingStepOptions(options));
  }
};

absl::Status Train(const TrainFlags& flags, const std::string& path) {
  auto format = api::FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  const std::string state_path = api::StatePathOf(flags.output);
  if (absl::Status s = api::CheckOutputs({flags.output, state_path}, {path}); !s.ok()) return s;
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto made = api::MakeTrainingStep(*model, flags.options);
  if (!made.ok()) return made.status();
  // Nothing may fail once the files are there.
  const std::string report = flags.common.json
                                 ? ToJson(*model, made->step, flags.output).ToString() + "\n"
                                 : TextOf(*model, flags.options, made->step, flags.output);
  if (absl::Status s = api::SaveTrainingStep(*made, flags.output); !s.ok()) return s;
  PrintText(report);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunTrain(Arguments arguments) {
  TrainFlags train;
  Flags flags("train", "MODEL -o STEP",
              "Makes a model a step of training: forward, loss, backward and weight update.");
  train.Add(&flags);
  flags.Note("lemma train model.onnx --loss=cross-entropy --update=adamw --lr=1e-3 -o step.onnx");
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = train.Resolve(); !s.ok()) return s;
    if (absl::Status s = Train(train, path); !s.ok()) return s;
    return kExitOk;
  });
}

}  // namespace lemma::cli
