#include "pet/mutants/split_mutant.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/mutants/layout_move.h"
#include "pet/mutants/recipe.h"
#include "pet/regions/region.h"

namespace lemma::pet {
namespace {

class SplitEnumeration {
 public:
  SplitEnumeration(const Graph& original, Samples* samples,
                   const std::function<bool(Mutant)>& found)
      : original_(original), samples_(samples), found_(found) {
    for (const NodePtr& node : original.nodes()) {
      if (!node->is_op() && node->kind() != Node::Kind::kConstant) leaves_.emplace_back(node, 0);
    }
    dims_.assign(leaves_.size(), -1);
  }

  absl::Status Run() {
    std::set<int64_t> sizes;
    for (const Value& leaf : leaves_) sizes.insert(leaf.shape().begin(), leaf.shape().end());
    for (int64_t size : sizes) {
      for (int64_t first : FirstParts(size)) LEMMA_RETURN_IF_ERROR(Choose(0, size, first));
    }
    return absl::OkStatus();
  }

 private:
  static std::set<int64_t> FirstParts(int64_t size) {
    std::set<int64_t> parts;
    for (int64_t digit : {2, 3, 4}) {
      if (size % digit != 0) parts.insert(size - size % digit);
    }
    if (size % 2 == 0) parts.insert(size / 2);
    parts.erase(0);
    return parts;
  }

  // Chooses a dimension of this size, or none (-1), for each leaf from number `at` on.
  absl::Status Choose(size_t at, int64_t size, int64_t first) {
    if (done_) return absl::OkStatus();
    if (at == leaves_.size()) return Try(size, first);
    const Shape& shape = leaves_[at].shape();
    for (int dim = static_cast<int>(shape.size()) - 1; dim >= -1; --dim) {
      if (dim >= 0 && shape[static_cast<size_t>(dim)] != size) continue;
      dims_[at] = dim;
      LEMMA_RETURN_IF_ERROR(Choose(at + 1, size, first));
    }
    return absl::OkStatus();
  }

  // The original, restricted to [start, start + count) of the chosen dimensions.
  absl::StatusOr<Value> Over(int64_t start, int64_t count) const {
    LeafMap now;
    for (const NodePtr& node : original_.nodes()) {
      if (!node->is_op()) now[Value(node, 0)] = Value(node, 0);
    }
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (dims_[i] < 0) continue;
      Shape starts(leaves_[i].shape().size(), 0), sizes = leaves_[i].shape();
      starts[static_cast<size_t>(dims_[i])] = start;
      sizes[static_cast<size_t>(dims_[i])] = count;
      LEMMA_ASSIGN_OR_RETURN(now[leaves_[i]], SliceOf(leaves_[i], starts, sizes));
    }
    return Rebuilt(original_, now, {}, 1);
  }

  absl::Status Try(int64_t size, int64_t first) {
    const Value& wanted = original_.outputs()[0];
    auto part = Over(0, first), rest = Over(first, size - first);
    if (!part.ok() || !rest.ok() || *part == wanted) return absl::OkStatus();
    if (part->type() != wanted.type() || rest->type() != wanted.type()) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(const Value sum, Apply1("add", {*part, *rest}));
    LEMMA_ASSIGN_OR_RETURN(const bool agrees, samples_->AgreeWith(sum));
    if (!agrees || !AgreeEverywhere(sum, wanted).value_or(false)) return absl::OkStatus();
    std::string how = absl::StrCat(first, " of ", size, " of");
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (dims_[i] >= 0) absl::StrAppend(&how, " dim ", dims_[i], " of leaf ", i, ",");
    }
    how.pop_back();
    done_ = !found_({original_.WithOutputs({*part}), std::nullopt, std::move(how), *rest});
    return absl::OkStatus();
  }

  const Graph& original_;
  Samples* const samples_;
  const std::function<bool(Mutant)>& found_;
  std::vector<Value> leaves_;
  std::vector<int> dims_;  // by leaf
  bool done_ = false;
};

}  // namespace

absl::Status ForEachSplitMutant(const Graph& original, Samples* samples,
                                const std::function<bool(Mutant)>& found) {
  return SplitEnumeration(original, samples, found).Run();
}

}  // namespace lemma::pet
