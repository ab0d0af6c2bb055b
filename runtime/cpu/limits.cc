#include "runtime/cpu/limits.h"

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma::cpu {
namespace {

// The attributes of convolutions and poolings. The library computes with them, and adds them, in 32
// bits.
constexpr const char* kWindows[] = {"strides", "dilations", "pads", "kernel"};
constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;

}  // namespace

absl::Status CheckLimits(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    for (const char* name : kWindows) {
      auto attr = node->attrs().find(name);
      if (attr == node->attrs().end()) continue;
      const auto* values = std::get_if<std::vector<int64_t>>(&attr->second);
      if (values == nullptr) continue;
      for (int64_t v : *values) {
        if (v >= -kMost && v <= kMost) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(node->op().name, ": ", name, " of ", v, " on the back end cpu; at most ",
                         kMost, " can be run, --backend=reference runs others"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace lemma::cpu
