// Keeps the work of an unfinished run of the generator on disk.
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

// A hash of the running program's executable file. It is part of a run's identity: a run that
// another build began is not continued.
absl::StatusOr<uint64_t> ProgramHash();

// The folder OUTPUT.run of an unfinished run. It contains the classes of equal graphs, once the
// enumeration is complete, and a journal of decisions (generator/run/journal.h). Only one process
// at a time can have the folder open. The destructor removes a folder that has neither classes nor
// decisions.
class GenerateState {
 public:
  // Opens the folder of the run that writes `output`, or creates it. InvalidArgument if another
  // process has the folder open, or if the folder contains a file that is not Lemma's or is
  // damaged; with `resume`, also if it belongs to another run; without `resume`, also if it
  // contains classes or decisions.
  static absl::StatusOr<std::unique_ptr<GenerateState>> Open(const std::string& output,
                                                             const generator::OperatorSet& set,
                                                             const generator::RunId& run,
                                                             bool resume);
  ~GenerateState();
  GenerateState(const GenerateState&) = delete;
  GenerateState& operator=(const GenerateState&) = delete;

  const std::string& folder() const { return folder_; }
  bool empty() const { return !has_classes_ && journal_->size() == 0; }

  // The classes that an earlier process enumerated; nullopt if there are none. Call it only once.
  std::optional<generator::Enumerated> TakeClasses() { return std::move(classes_); }
  absl::Status SaveClasses(const generator::Enumerated& enumerated);
  generator::Journal& journal() { return *journal_; }

  // Removes the folder. Call it when the results are written. Afterwards only folder() and the
  // destructor may be called.
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
  std::unique_ptr<generator::Journal> journal_;  // null after Remove
};

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_GENERATE_STATE_H_
