#include "kernels/loops/bounds.h"

#include "absl/strings/str_cat.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_lowering.h"
#include "kernels/loops/loop_passes.h"

namespace lemma {
namespace {

std::string Describe(const loops::Node& node, const loops::Check& check, TensorId reader) {
  std::string range = "anywhere";
  if (check.bounds) range = absl::StrCat("in [", check.bounds->lo, ", ", check.bounds->hi, "]");
  return absl::StrCat("t", reader, " reads t", node.slot, ", dimension ", check.dim, ", at ",
                      check.source.ToString(), ", ", range, " as far as is known, not in [0, ",
                      check.size - 1, "]");
}

}  // namespace

std::vector<std::string> UnprovedReads(const Definition& definition) {
  if (absl::Status status = loops::CheckEvaluable(definition); !status.ok()) {
    return {std::string(status.message())};
  }
  std::vector<loops::Slot> slots = loops::DenseSlots(definition);
  int fresh = definition.num_vars;
  std::vector<std::string> unproved;
  for (size_t i = 0; i < definition.tensors.size(); ++i) {
    const TensorId id = definition.num_inputs() + static_cast<TensorId>(i);
    loops::NestSource source = loops::SourceOf(definition.tensors[i], id, &fresh);
    for (const loops::NestSource& piece : loops::SplitAtGuards(source, &fresh)) {
      if (loops::IsEmpty(piece)) continue;
      const loops::Nest nest = loops::Lower(piece, slots);
      for (const loops::Node& node : nest.nodes) {
        for (const loops::Check& check : node.checks) {
          if (!check.data_dependent) unproved.push_back(Describe(node, check, id));
        }
      }
    }
  }
  return unproved;
}

}  // namespace lemma
