// Files of what was enumerated: by a run that may be interrupted, or by one of several processes.
#ifndef LEMMA_GENERATOR_RUN_CLASS_FILE_H_
#define LEMMA_GENERATOR_RUN_CLASS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "generator/run/generate.h"
#include "generator/run/run_id.h"

namespace lemma::generator {

// Part `index` of `count`, counted from 0.
constexpr int64_t kMostShards = kMostKeyRanges;
struct Shard {
  int64_t index = 0, count = 1;
  friend bool operator==(const Shard& a, const Shard& b) {
    return a.index == b.index && a.count == b.count;
  }
};
// "1/3".
std::string ToString(const Shard& shard);

struct ClassFile {
  std::string path;  // for messages
  RunId run;
  Shard shard;
  Enumerated enumerated;
};

// Complete, or nothing is written.
absl::Status WriteClassFile(const std::string& path, const RunId& run, const Shard& shard,
                            const Enumerated& enumerated);
// NotFound, or InvalidArgument if it is no such file or is damaged; with the path.
absl::StatusOr<ClassFile> ReadClassFile(const std::string& path);
// InvalidArgument if the classes name what `set` lacks.
absl::Status CheckTerms(const Enumerated& enumerated, const OperatorSet& set);

// What one process would have enumerated. InvalidArgument if the files are not all of the shards of
// one run; the message names those that are missing.
absl::StatusOr<Enumerated> Merged(std::vector<ClassFile> shards);

// The order of classes that does not depend on how the work was shared out; equal ones become one.
void SortClasses(Enumerated* enumerated);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_CLASS_FILE_H_
