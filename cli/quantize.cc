// lemma quantize: computes a model's operators on integers or rounded floats, with measured errors.
#include "api/quantize.h"

#include "api/json/quantize.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {

absl::StatusOr<int> RunQuantize(Arguments arguments) {
  CommonFlags common;
  api::QuantizeOptions options;
  std::string output;
  bool per_tensor = false, asymmetric_weights = false, verbose = false;
  std::string alone = "on";
  Flags flags("quantize", "MODEL -o OUT",
              "Computes operators of an ONNX model on integers of 8 bits, or products on rounded "
              "floats. Exit status 1: none keeps to the budget of --max-error.");
  flags.String("output|o", &output, "OUT", "the quantized model (.onnx)");
  flags.String("calibration", &options.calibration, "DIR|FILE.npz|synthetic[:N]",
               "samples of the inputs, for ranges and errors; synthetic: N random ones");
  flags.Choice(
      "form", &options.form, {"static", "dynamic", "weights", "bf16", "f16", "tf32"},
      "static: ranges from samples; dynamic: found in each run; weights: only weights are "
      "integers; bf16, f16, tf32: products read operands that are rounded to these floats");
  flags.Choice("ranges", &options.ranges, {"minmax", "percentile", "mse", "entropy"},
               "how the range of a value is chosen");
  flags.Real("percentile", &options.percentile, "of a value's elements lie in its range");
  flags.Int("bits", &options.bits,
            "of weights: 8; 7 for processors without VNNI; 4 with --form=weights");
  flags.Int("block", &options.block,
            "weights of a channel that share a scale, with --form=weights; 0: all; 32 with 4 bits "
            "unless given");
  flags.Bool("per-tensor", &per_tensor, "one scale for a weight, not one for each channel");
  flags.Bool("asymmetric-weights", &asymmetric_weights,
             "weights are u8 with a zero point, not i8; needs --per-tensor");
  flags.Bool("symmetric", &options.symmetric, "activations are i8 with zero point 0, not u8");
  flags.Bool("equalize", &options.equalize,
             "make the ranges of two successive weights alike in each channel, by powers of two; "
             "needs --form=static");
  flags.OptionalReal("smooth", &options.smooth, 0.5,
                     "move powers of two from activations into weights (SmoothQuant); X from 0 to "
                     "1 says how much; needs --form=static or dynamic");
  flags.Bool("correct-bias", &options.correct_bias,
             "subtract the mean error of each channel from biases; needs --form=static");
  flags.List("keep", &options.keep, "NAME,...", "nodes, or types of operators, that stay in f32");
  flags.Real("max-error", &options.max_error,
             "operators stay in f32 until no output has a larger relative error on the samples; "
             "negative: no limit");
  flags.Choice("alone", &alone, {"on", "off"},
               "off: without the error of each operator alone, which takes most of the time");
  flags.Int("runs", &options.runs, "timed executions; 0: none");
  flags.Bool("verbose", &verbose, "list the range of every value too");
  common.AddRandom(&flags);
  flags.Sizes("dim", &options.dims, "size of a symbolic dimension");
  AddJson(&flags, &common.json);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    if (output.empty()) return absl::InvalidArgumentError("-o OUT is needed: where to write");
    InterruptScope interrupt;
    options.interrupted = &interrupt.flag();
    if (options.bits == 4 && !flags.Given("block")) options.block = 32;
    options.per_channel = !per_tensor;
    options.symmetric_weights = !asymmetric_weights;
    options.alone = alone == "on";
    options.seed = common.seed;
    options.int_range = common.int_range;
    options.execution = common.Execution();
    ProgressLine progress(common.json);
    options.progress = [&](const std::string& what) { progress.Show(what); };
    auto result = api::Quantize(path, output, options);
    progress.Clear();
    if (!result.ok()) {
      return WithFlags(result.status(), {{"symmetric_weights", "--asymmetric-weights"},
                                         {"per_channel", "--per-tensor"}});
    }
    for (const std::string& note : result->notes) PrintNote(common.json, note);
    common.json ? PrintJson(ToJson(path, output, *result)) : PrintText(TextOf(*result, verbose));
    return result->written ? kExitOk : kExitNo;
  });
}

}  // namespace lemma::cli
