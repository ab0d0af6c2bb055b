#include "api/generation/generate_state.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "base/file.h"
#include "base/hash.h"
#include "generator/run/class_file.h"

namespace lemma::api {
namespace {

namespace fs = std::filesystem;
using generator::Journal;
using generator::RunId;

absl::Status FolderError(const std::string& folder, const std::error_code& error) {
  return absl::InvalidArgumentError(
      absl::StrCat(folder, ": cannot be written (", error.message(), ")"));
}

// The file that has this code. It is not always /proc/self/exe: the archive starts the program by a
// loader that lies beside it, and /proc/self/exe is then that loader.
std::string ProgramPath() {
  const auto here = reinterpret_cast<uintptr_t>(&ProgramPath);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 5));
    const std::pair<std::string, std::string> range = absl::StrSplit(words[0], '-');
    uint64_t begin = 0, end = 0;
    if (words.size() == 6 && absl::SimpleHexAtoi(range.first, &begin) &&
        absl::SimpleHexAtoi(range.second, &end) && begin <= here && here < end) {
      return std::string(absl::StripAsciiWhitespace(words[5]));
    }
  }
  return "/proc/self/exe";
}

}  // namespace

absl::StatusOr<uint64_t> ProgramHash() {
  auto bytes = ReadFile(ProgramPath(), int64_t{1} << 32);
  if (!bytes.ok()) return bytes.status();
  return HashString(*bytes);
}

absl::StatusOr<std::unique_ptr<GenerateState>> GenerateState::Open(
    const std::string& output, const generator::OperatorSet& set, const RunId& run, bool resume) {
  std::unique_ptr<GenerateState> state(new GenerateState(output + ".run", run));
  const std::string& folder = state->folder_;
  if (absl::Status s = state->MakeFolder(); !s.ok()) return s;
  auto journal = Journal::Open(state->JournalPath(), run);
  if (!journal.ok()) return journal.status();
  state->journal_ = *std::move(journal);
  std::error_code error;
  state->has_classes_ = fs::exists(state->ClassesPath(), error);
  if (!resume && !state->empty()) {
    return OptionError(absl::StrCat(
        folder, " keeps a run that did not end; go on with it by option resume, or delete it"));
  }
  if (const std::string differs = Difference(state->journal_->run(), run); !differs.empty()) {
    // If nothing is resumed, the journal begins anew.
    if (!resume) {
      if (absl::Status s = state->Remove(); !s.ok()) return s;
      return Open(output, set, run, resume);
    }
    return OptionError(absl::StrCat(folder, " keeps a run of ", differs,
                                    "; option resume goes on with the same run only: repeat its "
                                    "flags, or delete the folder"));
  }
  if (state->has_classes_) {
    if (absl::Status s = state->ReadClasses(set); !s.ok()) return s;
  }
  return state;
}

absl::Status GenerateState::MakeFolder() {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder_, ": is in the way: a folder of that name keeps the run's state"));
  }
  fs::create_directory(folder_, error);
  if (error) return FolderError(folder_, error);
  // The folder is deleted in the end, so it must contain no other files. classes.XXXXXX is left by
  // a process that was killed while writing the file.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name != "journal" && name != "classes" && !absl::StartsWith(name, "classes.")) {
      return absl::InvalidArgumentError(absl::StrCat(folder_, ": is in the way: it holds ", name,
                                                     ", which lemma generate did not write"));
    }
  }
  return error ? FolderError(folder_, error) : absl::OkStatus();
}

absl::Status GenerateState::ReadClasses(const generator::OperatorSet& set) {
  auto file = generator::ReadClassFile(ClassesPath());
  if (!file.ok()) return file.status();
  // Both files belong to one run, unless someone put them together.
  if (const std::string differs = Difference(file->run, run_); !differs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(ClassesPath(), ": is of ", differs));
  }
  if (absl::Status s = CheckClasses(file->enumerated, set); !s.ok()) {
    return Prefixed(ClassesPath(), s);
  }
  classes_ = std::move(file->enumerated);
  return absl::OkStatus();
}

absl::Status GenerateState::SaveClasses(const generator::Enumerated& enumerated) {
  absl::Status status =
      generator::WriteClassFile(ClassesPath(), run_, generator::Shard(), enumerated);
  has_classes_ = has_classes_ || status.ok();
  return status;
}

absl::Status GenerateState::Remove() {
  journal_.reset();
  std::error_code error;
  fs::remove_all(folder_, error);
  return error ? FolderError(folder_, error) : absl::OkStatus();
}

GenerateState::~GenerateState() {
  if (journal_ != nullptr && empty()) Remove().IgnoreError();
}

}  // namespace lemma::api
