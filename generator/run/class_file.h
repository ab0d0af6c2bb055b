// Reads and writes class files. A class file holds the result of an enumeration, or of one of its
// shards if several processes share the enumeration.
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

constexpr int64_t kMostShards = kMostKeyRanges;
// Part number `index`, counted from 0, of `count` parts of an enumeration.
struct Shard {
  int64_t index = 0, count = 1;
  friend bool operator==(const Shard& a, const Shard& b) {
    return a.index == b.index && a.count == b.count;
  }
};
// "INDEX/COUNT", such as "1/3".
std::string ToString(const Shard& shard);
// The shard with this text. InvalidArgument unless 0 <= INDEX < COUNT <= kMostShards.
absl::StatusOr<Shard> ParseShard(const std::string& text);

struct ClassFile {
  std::string path;  // for messages
  RunId run;
  Shard shard;
  Enumerated enumerated;
};

// Writes the complete file or nothing. Only the same build of the program can use the file.
absl::Status WriteClassFile(const std::string& path, const RunId& run, const Shard& shard,
                            const Enumerated& enumerated);
// NotFound if there is no file; InvalidArgument if it is not a class file or is damaged. The
// message has the path. The caller must compare ClassFile::run with its own run (Difference), and
// check the classes by CheckClasses.
absl::StatusOr<ClassFile> ReadClassFile(const std::string& path);
// InvalidArgument if a class has fewer than two members, or a member that is not a graph over the
// set's variants and inputs.
absl::Status CheckClasses(const Enumerated& enumerated, const OperatorSet& set);

// The enumeration that a single process would have made, with its classes in the order of
// SortClasses. InvalidArgument unless the files are all shards of one run; the message names
// missing shards.
absl::StatusOr<Enumerated> Merged(std::vector<ClassFile> shards);

// Sorts classes in an order that does not depend on the shards, and merges equal classes.
void SortClasses(Enumerated* enumerated);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_CLASS_FILE_H_
