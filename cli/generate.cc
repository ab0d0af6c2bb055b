// lemma generate: rules made by machine.
#include "api/generate.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/generation/figures.h"
#include "api/generation/progress.h"
#include "api/json/generate.h"
#include "api/models/model_file.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/process_use.h"
#include "base/progress_line.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "generator/sets/named_sets.h"

namespace lemma::cli {
namespace {

struct GenerateFlags {
  api::GenerateOptions options;
  std::string shard_text;
  bool count = false, json = false, merge = false;
  generator::Shard shard;
};

// Prints the figures, with the time and memory used until the enumeration was done and in all.
int PrintFigures(const std::vector<api::Figure>& figures, const ProcessUse& enumeration,
                 bool json) {
  PrintResult(json, figures, enumeration, ProcessUse::SoFar());
  return kExitOk;
}

absl::StatusOr<int> Generate(const GenerateFlags& flags) {
  InterruptScope interrupt;
  ProgressLine line(flags.json);
  api::GenerateProgress progress([&](const std::string& text) { line.Show(text); });
  api::GenerateOptions options = flags.options;
  options.interrupted = &interrupt.flag();
  options.progress = [&](const std::string& stage, int64_t done, int64_t all) {
    progress.Stage(stage, done, all);
  };
  options.decided = [&](bool proved, bool known) { progress.Decided(proved, known); };
  options.note = [&](const std::string& text) { PrintNote(flags.json, text); };
  if (flags.count || !flags.shard_text.empty()) {
    auto stats = flags.count ? api::CountGraphs(options, flags.shard)
                             : api::EnumerateShard(options, flags.shard);
    line.Clear();
    if (!stats.ok()) return WithFlags(stats.status());
    return PrintFigures(api::FiguresOf(*stats), ProcessUse::SoFar(), flags.json);
  }
  auto result = api::Generate(options);
  line.Clear();
  if (!result.ok()) return WithFlags(result.status());
  return PrintFigures(api::FiguresOf(*result), result->enumeration, flags.json);
}

// Checks which flags go together.
absl::Status Check(const Flags& flags, GenerateFlags* generate) {
  auto wrong = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  const api::GenerateOptions& options = generate->options;
  if (generate->merge) {
    if (options.shards.empty()) return wrong("which shards? --merge SHARD... -o RULES");
    if (generate->count || !generate->shard_text.empty()) {
      return wrong("--merge goes with neither --count nor --shard");
    }
    for (const char* flag : {"ops", "max-ops", "seed"}) {
      if (flags.Given(flag)) return wrong("--", flag, ": with --merge the shards say that");
    }
  } else if (!options.shards.empty()) {
    return wrong("nothing is read: what is '", options.shards[0],
                 "'? Rules go to -o RULES; shards are read with --merge");
  }
  if (options.output.empty() && !generate->count) {
    return wrong("where to? -o RULES; or --count to enumerate only");
  }
  if (generate->count && options.resume) return wrong("--count keeps nothing to --resume");
  if (!generate->shard_text.empty()) {
    if (!options.rejected.empty()) {
      return wrong("--rejected: a shard decides nothing; give it with --merge");
    }
    auto shard = generator::ParseShard(generate->shard_text);
    if (!shard.ok()) return api::Prefixed("--shard", shard.status());
    generate->shard = *shard;
  }
  return WithFlags(options.Check());
}

}  // namespace

absl::StatusOr<int> RunGenerate(Arguments arguments) {
  GenerateFlags generate;
  api::GenerateOptions& options = generate.options;
  Flags flags("generate", "-o RULES",
              "Enumerates all graphs over a set of operators, proves those that are equal on "
              "random values equal for all sizes, and writes the rules that are proved.");
  std::vector<std::string> ops;
  flags.List("ops", &ops, "SET|FILE|[SET,]VARIANT,...",
             absl::StrCat("an operator set, or some of its variants: ",
                          absl::StrJoin(generator::SetNames(), ", "),
                          "; by default taso. Or a file with a set, as "
                          "docs/operators-of-your-own.md describes"));
  flags.Int("max-ops", &options.max_ops,
            absl::StrCat("operators in a graph, 1…", generator::kMostOps));
  flags.String("output|o", &options.output, "RULES", "where to write the rules");
  flags.String("rejected", &options.rejected, "FILE",
               "list what is refuted or undecided, with the reasons");
  flags.Bool("count", &generate.count, "enumerate and compare only; nothing is proved or written");
  flags.Bool("resume", &options.resume,
             "go on with a run that did not end; RULES.run keeps what it had done");
  flags.String("shard", &generate.shard_text, "I/N",
               "enumerate part I of N, counted from 0, and write it to -o SHARD for --merge");
  flags.Bool("merge", &generate.merge,
             "take what --shard wrote, all N files of it: --merge SHARD... -o RULES");
  flags.Int("threads", &options.threads, "the rules do not depend on it");
  flags.Bytes("memory", &options.memory,
              "for the enumeration, by default 8G; with less it takes longer and finds the same");
  flags.Int("seed", &options.seed, "of the random values");
  AddJson(&flags, &generate.json);
  flags.Note(
      "Rules that follow from those of RULES go to a file beside it: X.pruned.txt for X.txt.");
  flags.Note(
      "Ctrl-C or a kill loses only what is at work: until RULES is written, RULES.run keeps what "
      "was\nenumerated and decided, and the same command with --resume goes on.");
  return ParseAndRun(&flags, arguments, [&](const Positional& shards) -> absl::StatusOr<int> {
    options.shards = shards;
    if (!ops.empty()) options.ops = ops;
    if (absl::Status s = Check(flags, &generate); !s.ok()) return s;
    return Generate(generate);
  });
}

}  // namespace lemma::cli
