// lemma tune: measures the tiles of a model's CUDA kernels on the device at hand.
#include "api/tune.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "api/json/tune.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
absl::StatusOr<int> RunTune(Arguments arguments) {
  CommonFlags common;
  api::TuneOptions options;
  double seconds = 0;
  Flags flags("tune", "MODEL",
              "Measures which tiles make the generated CUDA kernels of a model's products fastest "
              "on this machine's GPU, and keeps them: later runs on this GPU use them, of any "
              "model with products of these sizes.");
  flags.Choice("precision", &common.precision, codegen::ProductPrecisionNames(), "of products");
  flags.String("tiles", &options.tiles, "FILE",
               "where tiles are kept; in ~/.cache/lemma/tiles, by device, unless given");
  flags.Int("most", &options.most_tiles, "tiles to measure for each size of a product");
  flags.Bool("again", &options.again, "measure sizes that the file has, too");
  flags.Real("seconds", &seconds, "begin no other size after this time; 0: no limit");
  common.AddModel(&flags);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    if (!(seconds >= 0)) {
      return absl::InvalidArgumentError("--seconds: must be a number that is not negative");
    }
    auto model = common.Load(path);
    if (!model.ok()) return model.status();
    options.precision = *codegen::ParseProductPrecision(common.precision);
    InterruptScope interrupt;
    options.deadline = Deadline::After(seconds, &interrupt.flag());
    options.on_size = [](const cuda::TunedKernel& kernel, int left) {
      std::fprintf(
          stderr, "%s: %s, %s of the time; %d left\n", kernel.size.ToString().c_str(),
          kernel.TileName().c_str(),
          absl::StrCat(absl::SixDigits(kernel.tile.microseconds / kernel.tile.model_microseconds))
              .c_str(),
          left);
    };
    auto result = api::Tune(*model, options);
    if (!result.ok()) return WithFlags(result.status(), {{"most_tiles", "--most"}});
    PrintResult(common.json, *result);
    if (options.deadline.interrupted()) return Deadline::Interruption();
    return kExitOk;
  });
}

}  // namespace lemma::cli
