#include "api/refereeing/sides.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {

absl::StatusOr<Model> LoadSide(const std::string& path, const RefereeOptions& options) {
  if (options.progress) options.progress(absl::StrCat("reading ", path), 0, 0);
  LoadOptions load;
  load.dims = options.dims;
  for (const auto& [name, range] : options.ranges) {
    // One size needs no proof for all sizes.
    if (range.least == range.most) load.dims.emplace(name, range.least);
    if (range.least < range.most) load.ranges.emplace(name, range);
  }
  load.channel_block = options.channel_block;
  load.symbolic = true;
  auto model = LoadModel(path, load);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) {
    if (options.note) options.note(path, note);
  }
  return model;
}

absl::StatusOr<Model> LoadAfter(const std::string& path, const RefereeOptions& options) {
  auto model = LoadSide(path, options);
  if (model.ok() || options.dims.empty()) return model;
  RefereeOptions without = options;
  without.dims.clear();
  auto fixed = LoadSide(path, without);
  return fixed.ok() && !IsSymbolic(fixed->graph) ? fixed : model;
}

std::vector<std::string> DefaultDifferences(const Model& before, const Model& after) {
  const std::vector<std::string>&names = before.graph.input_names(),
        &others = after.graph.input_names();
  // Inputs correspond as in the interface.
  const bool by_name =
      std::is_permutation(names.begin(), names.end(), others.begin(), others.end());
  std::vector<std::string> lines;
  for (size_t i = 0; i < names.size() && i < others.size(); ++i) {
    auto a = before.info.defaults.find(names[i]);
    auto b = after.info.defaults.find(by_name ? names[i] : others[i]);
    if (a == before.info.defaults.end()) continue;
    if (b == after.info.defaults.end()) {
      lines.push_back(
          absl::StrCat("input ", names[i], " has a default value before and none after"));
      continue;
    }
    const Tensor &x = a->second, &y = b->second;
    if (x.dtype() != y.dtype()) continue;  // the interfaces differ
    if (x.shape() != y.shape()) {          // which an input with a symbolic size allows
      lines.push_back(absl::StrCat("the default value of input ", names[i], " is ",
                                   x.type().ToString(), " before and ", y.type().ToString(),
                                   " after"));
      continue;
    }
    if (x.SameBytes(y)) continue;
    const size_t known = lines.size();
    for (int64_t e = 0; e < x.size(); ++e) {
      const double p = x.AtDouble(e), q = y.AtDouble(e);
      if (p == q || (std::isnan(p) && std::isnan(q))) continue;
      lines.push_back(absl::StrCat("the default value of input ", names[i], " is ", p,
                                   " before and ", q, " after, at element ", e));
      break;
    }
    // Such as 0 and -0, or large integers that differ by 1.
    if (lines.size() == known) {
      lines.push_back(absl::StrCat("the default value of input ", names[i],
                                   " has other bytes before and after"));
    }
  }
  return lines;
}

}  // namespace lemma::api
