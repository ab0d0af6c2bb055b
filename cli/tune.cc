// lemma tune: measures the tiles of a model's CUDA kernels on the device at hand.
#include "api/tune.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/json/tune.h"
#include "base/interrupt.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

std::string Microseconds(double us) { return absl::StrCat(absl::SixDigits(us)); }

void Print(const api::TuneResult& result) {
  TextTable table({"size", "operators", "steps", "tried", "tile", "us", "model's tile", "us"});
  double before = 0, now = 0;
  for (const cuda::TunedKernel& kernel : result.tuned.kernels) {
    table.Row({kernel.size.ToString(), kernel.operators, absl::StrCat(kernel.steps),
               absl::StrCat(kernel.tried), kernel.TileName(),
               Microseconds(kernel.tile.microseconds), kernel.ModelTileName(),
               Microseconds(kernel.tile.model_microseconds)});
    before += kernel.steps * kernel.tile.model_microseconds;
    now += kernel.steps * kernel.tile.microseconds;
  }
  if (!result.tuned.kernels.empty()) std::fputs(table.ToString().c_str(), stdout);
  std::printf("device   %s\n", result.device.c_str());
  std::printf("file     %s (%s before)\n", result.file.c_str(),
              FormatCount(result.known, "size").c_str());
  if (before > 0) {
    std::printf("these kernels take %.1f us, %.3f of the time with the model's tiles\n", now,
                now / before);
  }
  if (result.tuned.left > 0) {
    std::printf("%s not measured: the time is over\n",
                FormatCount(result.tuned.left, "size").c_str());
  }
}

}  // namespace

absl::StatusOr<int> RunTune(Arguments arguments) {
  CommonFlags common;
  api::TuneOptions options;
  double seconds = 0;
  Flags flags("tune", "MODEL",
              "Measures which tiles make the generated CUDA kernels of a model's products fastest "
              "on this machine's GPU, and keeps them: later runs on this GPU use them, of any "
              "model with products of these sizes.");
  flags.Choice("precision", &common.precision, PrecisionNames(), "of products");
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
    options.precision = PrecisionOf(common.precision);
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
    common.json ? PrintJson(ToJson(*result)) : Print(*result);
    if (options.deadline.interrupted()) return Deadline::Interruption();
    return kExitOk;
  });
}

}  // namespace lemma::cli
