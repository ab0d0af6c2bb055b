// The files of a run of the generator that is not done.
#ifndef LEMMA_API_GENERATION_GENERATE_STATE_H_
#define LEMMA_API_GENERATION_GENERATE_STATE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "generator/run/generate.h"
#include "generator/run/journal.h"
#include "generator/run/run_id.h"
#include "generator/sets/operator_set.h"

namespace lemma::api {

// A hash of the program that runs, read from its file.
absl::StatusOr<uint64_t> ProgramHash();

// A folder, RULES.run: the classes that were enumerated, once they all are, and a journal of what
// was decided. One process at a time can have it open. Where nothing was kept, the folder goes with
// this object.
class GenerateState {
 public:
  // For the run whose results go to `output`. InvalidArgument if there is something that is not
  // ours, that is damaged, or that another run keeps; without `resume`, if anything is kept.
  static absl::StatusOr<std::unique_ptr<GenerateState>> Open(const std::string& output,
                                                             const generator::OperatorSet& set,
                                                             const generator::RunId& run,
                                                             bool resume);
  ~GenerateState();
  GenerateState(const GenerateState&) = delete;
  GenerateState& operator=(const GenerateState&) = delete;

  const std::string& folder() const { return folder_; }
  bool empty() const { return !has_classes_ && journal_->size() == 0; }

  // The classes that an earlier process enumerated; once.
  std::optional<generator::Enumerated> TakeClasses() { return std::move(classes_); }
  absl::Status SaveClasses(const generator::Enumerated& enumerated);
  generator::Journal& journal() { return *journal_; }

  // When the results are written: there is nothing to continue.
  absl::Status Remove();

 private:
  GenerateState(std::string folder, const generator::RunId& run)
      : folder_(std::move(folder)), run_(run) {}
  std::string ClassesPath() const { return folder_ + "/classes"; }
  std::string JournalPath() const { return folder_ + "/journal"; }
  absl::Status MakeFolder();
  absl::Status ReadClasses(const generator::OperatorSet& set);

  const std::string folder_;
  const generator::RunId run_;
  bool has_classes_ = false;
  std::optional<generator::Enumerated> classes_;
  std::unique_ptr<generator::Journal> journal_;  // absent once removed
};

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_GENERATE_STATE_H_
