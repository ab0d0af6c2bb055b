// lemma generate: rules made by machine.
#include "generator/run/generate.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/generation/generate_state.h"
#include "api/models/model_file.h"
#include "api/rules/jobs.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/flags.h"
#include "cli/commands.h"
#include "cli/generate_progress.h"
#include "cli/generate_report.h"
#include "cli/interrupt.h"
#include "cli/verdict_text.h"
#include "generator/run/class_file.h"
#include "generator/sets/named_sets.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/rewrite_source.h"
#include "verifier/preconditions/precondition.h"

namespace lemma::cli {
namespace {

using generator::ClassFile;
using generator::Decision;
using generator::Enumerated;
using generator::Generated;
using generator::OperatorSet;
using generator::RunId;
using generator::Shard;

constexpr int64_t kLeastMemory = int64_t{16} << 20;
// Of a candidate's proof, and of the search for its guard with all proofs in it. Rules take a small
// part of it; there are hundreds of candidates that end in nothing after any work.
constexpr int64_t kProofWork = 30'000'000, kGuardWork = 40'000'000;

struct GenerateFlags {
  std::vector<std::string> ops = {"taso"};
  std::string output, rejected, shard_text;
  int64_t max_ops = 2, threads = 1, seed = 1;
  int64_t memory = generator::EnumeratorOptions().max_memory;
  bool count = false, json = false, resume = false, merge = false;
  Shard shard;
  std::vector<std::string> shards;  // to merge
};

absl::StatusOr<std::unique_ptr<OperatorSet>> SetOf(const RunId& run) {
  auto set = generator::NamedSet(absl::StrSplit(run.ops, ','));
  if (!set.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--ops: ", set.status().message()));
  }
  return set;
}

// `proved`, or a looser contract where an execution shows it: a proof is of definitions, and what
// an operator computes at once is not rounded in between.
FloatContract TestedContract(Substitution rule, FloatContract proved, uint64_t seed) {
  if (proved != FloatContract::kBitExact) return proved;
  FieldTestOptions options;
  options.instances = 20;
  options.seed = seed;
  rule.contract = proved;
  auto tested = FieldTest(rule, options);
  return tested.ok() && !tested->counterexample ? proved : FloatContract::kReassociates;
}

Decision Decide(const Substitution& candidate, uint64_t seed,
                const std::atomic<bool>* interrupted) {
  ProverOptions options;
  options.seed = seed;
  options.interrupted = interrupted;
  options.work = kProofWork;
  PreconditionOptions guards;
  guards.work = kGuardWork;
  Precondition found = SynthesizePrecondition(candidate, options, guards);
  Decision decision;
  decision.rule = candidate;
  if (!found.proved()) {
    decision.answer =
        IsRefuted(found.without) ? Decision::Answer::kRefuted : Decision::Answer::kUnknown;
    decision.reason = Explanation(found.without);
    if (IsRefuted(found.without) && !found.reason.empty()) {
      absl::StrAppend(&decision.reason, "; ", found.reason);
    }
    return decision;
  }
  const bool guarded = found.with.has_value();
  decision.rule = found.rule;
  decision.rule.contract =
      TestedContract(found.rule, std::get<Proved>(found.verdict()).contract, seed);
  decision.rule.proof = RecordOf(decision.rule, found.verdict());
  if (guarded) {
    absl::StrAppend(&decision.rule.doc, "\nFalse without its guard.");
  }
  if (auto usable = RuleSet::Create({decision.rule}); !usable.ok()) {
    decision.reason =
        absl::StrCat("proved, but nothing could look for it: ",
                     absl::StripPrefix(usable.status().message(),
                                       absl::StrCat("rule ", decision.rule.name, ": ")));
    return decision;
  }
  decision.answer = guarded ? Decision::Answer::kGuarded : Decision::Answer::kProved;
  return decision;
}

// One command at work: its progress, and Ctrl-C.
class GenerateRun {
 public:
  // `merged`: what shards enumerated.
  GenerateRun(const GenerateFlags& flags, RunId run, std::unique_ptr<OperatorSet> set,
              std::optional<Enumerated> merged)
      : flags_(flags), run_(std::move(run)), set_(std::move(set)), merged_(std::move(merged)) {}

  absl::Status Count() {
    generator::Enumerator enumerator(set_.get(), Options());
    if (absl::Status s = enumerator.Run(); !s.ok()) return Explained(s);
    PrintFigures(FiguresOf(enumerator.stats()), Usage::Now(), flags_.json);
    return absl::OkStatus();
  }

  absl::Status WriteShard() {
    if (flags_.resume) {
      auto file = generator::ReadClassFile(flags_.output);
      if (file.ok() && Difference(file->run, run_).empty() && file->shard == flags_.shard) {
        Note(absl::StrCat(flags_.output, " is there already"));
        PrintFigures(FiguresOf(file->enumerated.stats), Usage::Now(), flags_.json);
        return absl::OkStatus();
      }
    }
    auto enumerated = Enumerate();
    if (!enumerated.ok()) return Explained(enumerated.status());
    if (absl::Status s = WriteClassFile(flags_.output, run_, flags_.shard, *enumerated); !s.ok()) {
      return s;
    }
    PrintFigures(FiguresOf(enumerated->stats), Usage::Now(), flags_.json);
    return absl::OkStatus();
  }

  absl::Status WriteRules() {
    auto state = api::GenerateState::Open(flags_.output, *set_, run_, flags_.resume);
    if (!state.ok()) return state.status();
    if (flags_.resume && (*state)->empty()) {
      Note(absl::StrCat("nothing to resume in ", (*state)->folder(), ": the run begins"));
    }
    const absl::Status status = WriteRules(state->get());
    if (!absl::IsCancelled(status) || (*state)->empty()) return Explained(status);
    return absl::CancelledError(absl::StrCat(InterruptedError().message(), "; ", (*state)->folder(),
                                             " keeps what was done, for --resume"));
  }

 private:
  // As a user should read it.
  static absl::Status Explained(const absl::Status& status) {
    if (absl::IsCancelled(status)) return InterruptedError();
    if (!absl::IsResourceExhausted(status)) return status;
    return absl::ResourceExhaustedError(absl::StrCat("--memory: ", status.message()));
  }

  void Note(const std::string& text) const {
    if (!flags_.json) std::fprintf(stderr, "lemma: note: %s\n", text.c_str());
  }

  generator::EnumeratorOptions Options() const {
    generator::EnumeratorOptions options;
    options.max_ops = static_cast<int>(run_.max_ops);
    options.seed = static_cast<uint64_t>(run_.seed);
    options.threads = static_cast<int>(flags_.threads);
    options.max_memory = flags_.memory;
    options.shard = static_cast<int>(flags_.shard.index);
    options.num_shards = static_cast<int>(flags_.shard.count);
    options.interrupted = &interrupt_.flag();
    return options;
  }

  absl::StatusOr<Enumerated> Enumerate() {
    GenerateProgress progress(flags_.json);
    auto enumerated = generator::Enumerate(set_.get(), Options(), CallsTo(&progress));
    if (enumerated.ok()) generator::SortClasses(&*enumerated);
    return enumerated;
  }

  // Enumerated before, by other processes, or now.
  absl::StatusOr<Enumerated> Classes(api::GenerateState* state) {
    if (auto kept = state->TakeClasses()) return *std::move(kept);
    absl::StatusOr<Enumerated> enumerated = merged_ ? *std::move(merged_) : Enumerate();
    if (!enumerated.ok()) return enumerated;
    if (absl::Status s = state->SaveClasses(*enumerated); !s.ok()) return s;
    return enumerated;
  }

  absl::StatusOr<std::vector<Decision>> Prove(const std::vector<Substitution>& rules,
                                              generator::Journal* journal,
                                              GenerateProgress* progress) {
    std::vector<Decision> decisions(rules.size());
    std::mutex mutex;
    absl::Status status;
    const bool finished = api::RunJobs(
        static_cast<int>(rules.size()), static_cast<int>(flags_.threads), interrupt_.flag(),
        [&](int i) {
          auto known = journal->Find(rules[i]);
          decisions[i] =
              known ? *known
                    : Decide(rules[i], static_cast<uint64_t>(run_.seed), &interrupt_.flag());
          if (!known && interrupt_.flag()) return;  // what is undecided then is not kept
          absl::Status added;
          if (!known) added = journal->Add(rules[i], decisions[i]);
          std::lock_guard<std::mutex> lock(mutex);
          status.Update(added);
          progress->Decided(decisions[i].answer <= Decision::Answer::kGuarded, known.has_value());
        },
        [](int) {});
    if (!status.ok()) return status;
    if (!finished || interrupt_.flag()) return InterruptedError();
    return decisions;
  }

  absl::Status WriteRules(api::GenerateState* state) {
    auto enumerated = Classes(state);
    if (!enumerated.ok()) return enumerated.status();
    const Usage enumeration = Usage::Now();
    const int64_t resumed = state->journal().size();
    absl::StatusOr<Generated> generated;
    {
      GenerateProgress progress(flags_.json);
      generator::GenerateOptions options;
      options.seed = static_cast<uint64_t>(run_.seed);
      options.threads = static_cast<int>(flags_.threads);
      options.interrupted = &interrupt_.flag();
      options.progress = CallsTo(&progress);
      generated = generator::Generate(set_.get(), *enumerated, options,
                                      [&](const std::vector<Substitution>& rules) {
                                        return Prove(rules, &state->journal(), &progress);
                                      });
    }
    if (!generated.ok()) return generated.status();
    if (absl::Status s = WriteResults(*generated); !s.ok()) return s;
    if (absl::Status s = state->Remove(); !s.ok()) return s;
    std::vector<Figure> figures = FiguresOf(enumerated->stats);
    for (const Figure& figure : FiguresOf(*generated)) figures.push_back(figure);
    figures.push_back({"resumed", resumed});
    PrintFigures(figures, enumeration, flags_.json);
    return absl::OkStatus();
  }

  absl::Status WriteResults(const Generated& generated) {
    if (!flags_.rejected.empty()) {
      absl::Status s = WriteFileAtomically(flags_.rejected, {RejectedText(generated)});
      if (!s.ok()) return s;
    }
    const std::string pruned = PrunedText(run_, generated);
    const std::string path = api::PrunedRulesPath(flags_.output);
    std::error_code error;
    if (pruned.empty()) {
      std::filesystem::remove(path, error);
    } else if (absl::Status s = WriteFileAtomically(path, {pruned}); !s.ok()) {
      return s;
    }
    return WriteFileAtomically(flags_.output, {RulesText(run_, generated)});
  }

  static std::function<void(const std::string&, int64_t, int64_t)> CallsTo(
      GenerateProgress* progress) {
    return [progress](const std::string& what, int64_t done, int64_t all) {
      progress->Stage(what, done, all);
    };
  }

  const GenerateFlags& flags_;
  const RunId run_;
  const std::unique_ptr<OperatorSet> set_;
  std::optional<Enumerated> merged_;
  InterruptScope interrupt_;
};

absl::StatusOr<int> Generate(const GenerateFlags& flags) {
  const std::string pruned = flags.output.empty() ? "" : api::PrunedRulesPath(flags.output);
  for (const std::string& path : {flags.output, flags.rejected, pruned}) {
    if (path.empty()) continue;
    if (absl::Status s = CheckWritable(path); !s.ok()) return s;
  }
  auto program = api::ProgramHash();
  if (!program.ok()) return program.status();
  RunId run{absl::StrJoin(flags.ops, ","), flags.max_ops, flags.seed, *program};
  std::optional<Enumerated> merged;
  if (flags.merge) {
    // Shards say themselves of which run they are.
    std::vector<ClassFile> files;
    for (const std::string& path : flags.shards) {
      auto file = generator::ReadClassFile(path);
      if (!file.ok()) return file.status();
      if (file->run.program != run.program) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": was made by another build of lemma"));
      }
      files.push_back(*std::move(file));
    }
    run = files[0].run;
    auto all = generator::Merged(std::move(files));
    if (!all.ok()) return all.status();
    merged = *std::move(all);
  }
  auto set = SetOf(run);
  if (!set.ok()) return set.status();
  if (merged) {
    absl::Status s = CheckTerms(*merged, **set);
    if (!s.ok()) return api::Prefixed(flags.shards[0], s);
  }
  GenerateRun generate(flags, run, *std::move(set), std::move(merged));
  const absl::Status status = flags.count                ? generate.Count()
                              : flags.shard_text.empty() ? generate.WriteRules()
                                                         : generate.WriteShard();
  if (!status.ok()) return status;
  return kExitOk;
}

absl::StatusOr<Shard> ParseShard(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  Shard shard;
  if (!absl::SimpleAtoi(parts.first, &shard.index) ||
      !absl::SimpleAtoi(parts.second, &shard.count) || shard.index < 0 ||
      shard.index >= shard.count || shard.count > generator::kMostShards) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard: '", text, "' is not I/N with I in 0…N-1 and N in 1…", generator::kMostShards));
  }
  return shard;
}

absl::Status Check(const Flags& flags, GenerateFlags* generate) {
  auto wrong = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (generate->merge) {
    if (generate->shards.empty()) return wrong("which shards? --merge SHARD... -o RULES");
    if (generate->count || !generate->shard_text.empty()) {
      return wrong("--merge goes with neither --count nor --shard");
    }
    for (const char* flag : {"ops", "max-ops", "seed"}) {
      if (flags.Given(flag)) return wrong("--", flag, ": with --merge the shards say that");
    }
  } else if (!generate->shards.empty()) {
    return wrong("nothing is read: what is '", generate->shards[0],
                 "'? Rules go to -o RULES; shards are read with --merge");
  }
  if (generate->output.empty() && !generate->count) {
    return wrong("where to? -o RULES; or --count to enumerate only");
  }
  if (generate->count && generate->resume) return wrong("--count keeps nothing to --resume");
  if (!generate->shard_text.empty()) {
    if (!generate->rejected.empty()) {
      return wrong("--rejected: a shard decides nothing; give it with --merge");
    }
    auto shard = ParseShard(generate->shard_text);
    if (!shard.ok()) return shard.status();
    generate->shard = *shard;
  }
  if (generate->max_ops < 1 || generate->max_ops > generator::kMostOps) {
    return wrong("--max-ops: must be in 1…", generator::kMostOps);
  }
  if (generate->memory < kLeastMemory) return wrong("--memory: at least 16M, please");
  if (generate->threads < 1 || generate->threads > 256) {
    return wrong("--threads: must be in 1…256");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunGenerate(Arguments arguments) {
  GenerateFlags generate;
  Flags flags("generate", "-o RULES",
              "Enumerates all graphs over a set of operators, proves those that are equal on "
              "random values equal for all sizes, and writes the rules that are proved.");
  std::vector<std::string> ops;
  flags.List("ops", &ops, "SET|[SET,]INSTANCE,...",
             absl::StrCat("an operator set, or some of its instances: ",
                          absl::StrJoin(generator::SetNames(), ", "), "; by default taso"));
  flags.Int("max-ops", &generate.max_ops,
            absl::StrCat("operators in a graph, 1…", generator::kMostOps));
  flags.String("output|o", &generate.output, "RULES", "where to write the rules");
  flags.String("rejected", &generate.rejected, "FILE",
               "list what is refuted or undecided, with the reasons");
  flags.Bool("count", &generate.count, "enumerate and compare only; nothing is proved or written");
  flags.Bool("resume", &generate.resume,
             "go on with a run that did not end; RULES.run keeps what it had done");
  flags.String("shard", &generate.shard_text, "I/N",
               "enumerate part I of N, counted from 0, and write it to -o SHARD for --merge");
  flags.Bool("merge", &generate.merge,
             "take what --shard wrote, all N files of it: --merge SHARD... -o RULES");
  flags.Int("threads", &generate.threads, "the rules do not depend on it");
  flags.Bytes("memory", &generate.memory,
              "for the enumeration, by default 8G; with less it takes longer and finds the same");
  flags.Int("seed", &generate.seed, "of the random values");
  flags.Bool("json", &generate.json, "print one JSON object instead of text");
  flags.Note(
      "Rules that follow from those of RULES go to a file beside it: X.pruned.txt for X.txt.");
  flags.Note(
      "Ctrl-C or a kill loses only what is at work: until RULES is written, RULES.run keeps what "
      "was\nenumerated and decided, and the same command with --resume goes on.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  generate.shards = *std::move(positional);
  if (!ops.empty()) generate.ops = ops;
  if (absl::Status s = Check(flags, &generate); !s.ok()) return s;
  return Generate(generate);
}

}  // namespace lemma::cli
