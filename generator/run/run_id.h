// Identifies a run of the generator: everything on which its results depend.
#ifndef LEMMA_GENERATOR_RUN_RUN_ID_H_
#define LEMMA_GENERATOR_RUN_RUN_ID_H_

#include <cstdint>
#include <string>

#include "generator/run/bytes.h"

namespace lemma::generator {

// Each file of a run contains the run's RunId, so that a run with another RunId rejects the file.
struct RunId {
  std::string ops;                // operator set, or its file, and variants, joined by commas
  int64_t max_ops = 0, seed = 0;  // as in EnumeratorOptions
  uint64_t program = 0;  // a hash of the program and of the operators and sets that files define

  // Read decodes what Write encodes. The caller of Read must check in->ok().
  void Write(ByteWriter* out) const;
  static RunId Read(ByteReader* in);
};
// The first difference between `theirs` and `ours`, for people: "--max-ops=3, not --max-ops=2"; ""
// if there is none.
std::string Difference(const RunId& theirs, const RunId& ours);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_RUN_ID_H_
