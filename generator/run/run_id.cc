#include "generator/run/run_id.h"

#include "absl/strings/str_cat.h"

namespace lemma::generator {

void RunId::Write(ByteWriter* out) const {
  out->Bytes(ops);
  out->Signed(max_ops);
  out->Signed(seed);
  out->Fixed(program);
}

RunId RunId::Read(ByteReader* in) {
  RunId run;
  run.ops = std::string(in->Bytes());
  run.max_ops = in->Signed();
  run.seed = in->Signed();
  run.program = in->Fixed();
  return run;
}

std::string Difference(const RunId& theirs, const RunId& ours) {
  auto differs = [](const char* flag, const auto& a, const auto& b) {
    return absl::StrCat("--", flag, "=", a, ", not --", flag, "=", b);
  };
  if (theirs.ops != ours.ops) return differs("ops", theirs.ops, ours.ops);
  if (theirs.max_ops != ours.max_ops) return differs("max-ops", theirs.max_ops, ours.max_ops);
  if (theirs.seed != ours.seed) return differs("seed", theirs.seed, ours.seed);
  if (theirs.program != ours.program) return "another build of lemma, or other definitions";
  return "";
}

}  // namespace lemma::generator
