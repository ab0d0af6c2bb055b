// Which of a source's rewrites may be used.
#ifndef LEMMA_OPTIMIZER_REWRITE_FILTER_H_
#define LEMMA_OPTIMIZER_REWRITE_FILTER_H_

#include <memory>
#include <set>
#include <string>

#include "rewrite/rewrite_source.h"

namespace lemma {

struct RewriteFilter {
  // The weakest contract that is acceptable.
  FloatContract numerics = FloatContract::kReassociates;
  std::set<std::string> disabled;
  std::set<std::string> only;  // empty: all
  bool Accepts(const std::string& name, FloatContract contract) const;
};

// The rewrites of `source`, which must outlive it, that the filter accepts.
std::unique_ptr<RewriteSource> Filtered(const RewriteSource* source, RewriteFilter filter);

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_REWRITE_FILTER_H_
