#include "api/generate.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/generation/decide.h"
#include "api/generation/generate_state.h"
#include "api/generation/result_text.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "api/rules/jobs.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "generator/run/journal.h"
#include "generator/sets/named_sets.h"
#include "graph/op_table.h"

namespace lemma::api {
namespace {

using generator::ClassFile;
using generator::Decision;
using generator::Enumerated;
using generator::Generated;
using generator::OperatorSet;
using generator::RunId;
using generator::Shard;

constexpr int64_t kLeastMemory = int64_t{16} << 20;

// One call of Generate, CountGraphs or EnumerateShard.
class Run {
 public:
  // Checks everything that can be wrong before there is work to lose.
  static absl::StatusOr<std::unique_ptr<Run>> Begin(const GenerateOptions& options,
                                                    const Shard& shard = {});

  absl::StatusOr<generator::EnumeratorStats> Count();
  absl::StatusOr<generator::EnumeratorStats> WriteShard();
  absl::StatusOr<GenerateResult> WriteRules();

 private:
  Run(const GenerateOptions& options, const Shard& shard) : options_(options), shard_(shard) {}
  absl::Status ReadShards();

  bool interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }
  void Note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }
  generator::EnumeratorOptions EnumeratorOptions() const;
  absl::StatusOr<Enumerated> Enumerate();
  absl::StatusOr<Enumerated> Classes(GenerateState* state);
  absl::StatusOr<std::vector<Decision>> Prove(const std::vector<Substitution>& rules,
                                              generator::Journal* journal);
  absl::StatusOr<GenerateResult> WriteRules(GenerateState* state);
  absl::Status WriteResults(const Generated& generated);

  const GenerateOptions options_;
  const Shard shard_;
  RunId run_;
  std::unique_ptr<OperatorSet> set_;
  std::optional<Enumerated> merged_;  // what shards enumerated
};

constexpr int64_t kMostSetBytes = int64_t{1} << 26;  // of a file with an operator set

// Whether --ops means a file: no set of the program has this name, and a file has it.
bool IsSetFile(const std::string& name) {
  std::error_code ignored;
  return !generator::IsNamedSet(name) && std::filesystem::is_regular_file(name, ignored);
}

absl::StatusOr<std::unique_ptr<OperatorSet>> SetOf(const std::vector<std::string>& names) {
  if (names.empty() || !IsSetFile(names[0])) return generator::NamedSet(names);
  auto text = ReadFile(names[0], kMostSetBytes);
  if (!text.ok()) return text.status();
  return generator::SetFromFile(*text, names[0], {names.begin() + 1, names.end()});
}

// A hash of everything that decides what a run over these operators finds: the program, operators
// that files define, and the file with the set.
absl::StatusOr<uint64_t> ProgramOf(const std::vector<std::string>& ops) {
  auto hash = ProgramHash();
  if (!hash.ok()) return hash.status();
  uint64_t all = *hash;
  for (const OpDef* op : DefinedOps()) all = HashCombine(all, HashString(op->key()));
  if (ops.empty() || !IsSetFile(ops[0])) return all;
  auto text = ReadFile(ops[0], kMostSetBytes);
  if (!text.ok()) return text.status();
  return HashCombine(all, HashString(*text));
}

absl::StatusOr<std::unique_ptr<Run>> Run::Begin(const GenerateOptions& options,
                                                const Shard& shard) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  const std::string pruned = options.output.empty() ? "" : PrunedRulesPath(options.output);
  for (const std::string& path : {options.output, options.rejected, pruned}) {
    if (path.empty()) continue;
    if (absl::Status s = CheckWritable(path); !s.ok()) return s;
  }
  auto program = ProgramOf(options.ops);
  if (!program.ok()) return program.status();
  std::unique_ptr<Run> run(new Run(options, shard));
  run->run_ = {absl::StrJoin(options.ops, ","), options.max_ops, options.seed, *program};
  if (!options.shards.empty()) {
    if (absl::Status s = run->ReadShards(); !s.ok()) return s;
  }
  auto set = SetOf(absl::StrSplit(run->run_.ops, ','));
  if (!set.ok()) {
    return OptionError(absl::StrCat("option ops: ", set.status().message()));
  }
  run->set_ = *std::move(set);
  if (run->merged_) {
    absl::Status s = CheckClasses(*run->merged_, *run->set_);
    if (!s.ok()) return Prefixed(options.shards[0], s);
  }
  return run;
}

// Takes the run's options from the shards.
absl::Status Run::ReadShards() {
  std::vector<ClassFile> files;
  for (const std::string& path : options_.shards) {
    auto file = generator::ReadClassFile(path);
    if (!file.ok()) return file.status();
    auto program = ProgramOf(absl::StrSplit(file->run.ops, ','));
    if (!program.ok()) return program.status();
    if (file->run.program != *program) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": was made by another build of lemma, or from other definitions"));
    }
    files.push_back(*std::move(file));
  }
  run_ = files[0].run;
  auto all = generator::Merged(std::move(files));
  if (!all.ok()) return all.status();
  merged_ = *std::move(all);
  return absl::OkStatus();
}

generator::EnumeratorOptions Run::EnumeratorOptions() const {
  generator::EnumeratorOptions options;
  options.max_ops = static_cast<int>(run_.max_ops);
  options.seed = static_cast<uint64_t>(run_.seed);
  options.threads = static_cast<int>(options_.threads);
  options.max_memory = options_.memory;
  options.shard = static_cast<int>(shard_.index);
  options.num_shards = static_cast<int>(shard_.count);
  options.interrupted = options_.interrupted;
  return options;
}

// The error in words for the user.
absl::Status Explained(const absl::Status& status) {
  if (absl::IsCancelled(status)) return InterruptedError();
  if (!absl::IsResourceExhausted(status)) return status;
  return MarkOptionError(
      absl::ResourceExhaustedError(absl::StrCat("option memory: ", status.message())));
}

absl::StatusOr<generator::EnumeratorStats> Run::Count() {
  generator::Enumerator enumerator(set_.get(), EnumeratorOptions());
  if (absl::Status s = enumerator.Run(); !s.ok()) return Explained(s);
  return enumerator.stats();
}

absl::StatusOr<Enumerated> Run::Enumerate() {
  auto enumerated = generator::Enumerate(set_.get(), EnumeratorOptions(), options_.progress);
  if (!enumerated.ok()) return Explained(enumerated.status());
  generator::SortClasses(&*enumerated);
  return enumerated;
}

absl::StatusOr<generator::EnumeratorStats> Run::WriteShard() {
  if (options_.resume) {
    auto file = generator::ReadClassFile(options_.output);
    if (file.ok() && Difference(file->run, run_).empty() && file->shard == shard_) {
      Note(absl::StrCat(options_.output, " is there already"));
      return file->enumerated.stats;
    }
  }
  auto enumerated = Enumerate();
  if (!enumerated.ok()) return enumerated.status();
  if (absl::Status s = WriteClassFile(options_.output, run_, shard_, *enumerated); !s.ok()) {
    return s;
  }
  return enumerated->stats;
}

absl::StatusOr<GenerateResult> Run::WriteRules() {
  auto state = GenerateState::Open(options_.output, *set_, run_, options_.resume);
  if (!state.ok()) return state.status();
  if (options_.resume && (*state)->empty()) {
    Note(absl::StrCat("nothing to resume in ", (*state)->folder(), ": the run begins"));
  }
  auto result = WriteRules(state->get());
  if (result.ok() || !absl::IsCancelled(result.status()) || (*state)->empty()) return result;
  return MarkOptionError(
      absl::CancelledError(absl::StrCat(InterruptedError().message(), "; ", (*state)->folder(),
                                        " keeps what was done, for option resume")));
}

// The classes that were enumerated before, by an earlier process or by shards; otherwise enumerates
// them now.
absl::StatusOr<Enumerated> Run::Classes(GenerateState* state) {
  if (auto kept = state->TakeClasses()) return *std::move(kept);
  absl::StatusOr<Enumerated> enumerated = merged_ ? *std::move(merged_) : Enumerate();
  if (!enumerated.ok()) return enumerated;
  if (absl::Status s = state->SaveClasses(*enumerated); !s.ok()) return s;
  return enumerated;
}

absl::StatusOr<std::vector<Decision>> Run::Prove(const std::vector<Substitution>& rules,
                                                 generator::Journal* journal) {
  std::vector<Decision> decisions(rules.size());
  std::mutex mutex;
  absl::Status status;
  const bool finished = RunJobs(
      static_cast<int>(rules.size()), static_cast<int>(options_.threads), options_.interrupted,
      [&](int i) {
        auto known = journal->Find(rules[i]);
        decisions[i] =
            known ? *known
                  : Decide(rules[i], static_cast<uint64_t>(run_.seed), options_.interrupted);
        if (!known && interrupted()) return;  // what is undecided then is not kept
        absl::Status added;
        if (!known) added = journal->Add(rules[i], decisions[i]);
        std::lock_guard<std::mutex> lock(mutex);
        status.Update(added);
        const bool proved = decisions[i].answer <= Decision::Answer::kGuarded;
        if (options_.decided) options_.decided(proved, known.has_value());
      },
      [](int) {});
  if (!status.ok()) return status;
  if (!finished || interrupted()) return InterruptedError();
  return decisions;
}

absl::StatusOr<GenerateResult> Run::WriteRules(GenerateState* state) {
  auto enumerated = Classes(state);
  if (!enumerated.ok()) return enumerated.status();
  GenerateResult result;
  result.enumerated = enumerated->stats;
  result.enumeration = ProcessUse::SoFar();
  result.resumed = state->journal().size();
  generator::GenerateOptions options;
  options.seed = static_cast<uint64_t>(run_.seed);
  options.interrupted = options_.interrupted;
  options.progress = options_.progress;
  auto generated = generator::Generate(
      set_.get(), *enumerated, options,
      [&](const std::vector<Substitution>& rules) { return Prove(rules, &state->journal()); });
  if (!generated.ok()) return Explained(generated.status());
  if (absl::Status s = WriteResults(*generated); !s.ok()) return s;
  if (absl::Status s = state->Remove(); !s.ok()) return s;
  result.decided = generated->stats;
  result.written = CountNeeded(*generated);
  return result;
}

absl::Status Run::WriteResults(const Generated& generated) {
  if (!options_.rejected.empty()) {
    absl::Status s = WriteFileAtomically(options_.rejected, {RejectedText(generated)});
    if (!s.ok()) return s;
  }
  const std::string pruned = PrunedText(run_, generated);
  const std::string path = PrunedRulesPath(options_.output);
  std::error_code error;
  if (pruned.empty()) {
    std::filesystem::remove(path, error);
  } else if (absl::Status s = WriteFileAtomically(path, {pruned}); !s.ok()) {
    return s;
  }
  return WriteFileAtomically(options_.output, {RulesText(run_, generated)});
}

absl::Status CheckShard(const Shard& shard) {
  if (shard.index >= 0 && shard.index < shard.count && shard.count <= generator::kMostShards) {
    return absl::OkStatus();
  }
  return OptionError(absl::StrCat("option shard: ", generator::ToString(shard), " is not one of 1…",
                                  generator::kMostShards, " parts, counted from 0"));
}

absl::Status NoOutput() { return OptionError("option output: where to write is missing"); }

}  // namespace

absl::Status GenerateOptions::Check() const {
  auto wrong = [](const auto&... words) { return OptionError(absl::StrCat(words...)); };
  if (max_ops < 1 || max_ops > generator::kMostOps) {
    return wrong("option max_ops: must be in 1…", generator::kMostOps);
  }
  if (memory < kLeastMemory) return wrong("option memory: at least 16M, please");
  if (threads < 1 || threads > 256) return wrong("option threads: must be in 1…256");
  return absl::OkStatus();
}

absl::StatusOr<GenerateResult> Generate(const GenerateOptions& options) {
  if (options.output.empty()) return NoOutput();
  auto run = Run::Begin(options);
  if (!run.ok()) return run.status();
  return (*run)->WriteRules();
}

absl::StatusOr<generator::EnumeratorStats> CountGraphs(const GenerateOptions& options,
                                                       const Shard& shard) {
  if (absl::Status s = CheckShard(shard); !s.ok()) return s;
  auto run = Run::Begin(options, shard);
  if (!run.ok()) return run.status();
  return (*run)->Count();
}

absl::StatusOr<generator::EnumeratorStats> EnumerateShard(const GenerateOptions& options,
                                                          const Shard& shard) {
  if (options.output.empty()) return NoOutput();
  if (absl::Status s = CheckShard(shard); !s.ok()) return s;
  auto run = Run::Begin(options, shard);
  if (!run.ok()) return run.status();
  return (*run)->WriteShard();
}

}  // namespace lemma::api
