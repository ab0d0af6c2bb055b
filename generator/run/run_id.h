// What a run of the generator is: everything that its results depend on.
#ifndef LEMMA_GENERATOR_RUN_RUN_ID_H_
#define LEMMA_GENERATOR_RUN_RUN_ID_H_

#include <cstdint>
#include <string>

#include "generator/run/bytes.h"

namespace lemma::generator {

// The files of a run begin with it: they are of no use to a run that would find something else.
struct RunId {
  std::string ops;  // operator set and instances, joined by commas
  int64_t max_ops = 0, seed = 0;
  uint64_t program = 0;  // a hash of the program, so of operators, enumeration and prover

  void Write(ByteWriter* out) const;
  static RunId Read(ByteReader* in);
};
// The first thing that tells `theirs` from `ours`: "--max-ops=3, not --max-ops=2"; "" if nothing.
std::string Difference(const RunId& theirs, const RunId& ours);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_RUN_ID_H_
