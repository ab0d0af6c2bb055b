#include "optimizer/rewrite_filter.h"

#include <utility>

namespace lemma {
namespace {

class FilteredSource : public RewriteSource {
 public:
  FilteredSource(const RewriteSource* source, RewriteFilter filter)
      : source_(source), filter_(std::move(filter)) {}

  void ForEach(const MatchIndex& index,
               absl::FunctionRef<bool(const Rewrite&)> visit) const override {
    source_->ForEach(index, [&](const Rewrite& rewrite) {
      return !filter_.Accepts(rewrite.name(), rewrite.contract()) || visit(rewrite);
    });
  }

 private:
  const RewriteSource* const source_;
  const RewriteFilter filter_;
};

}  // namespace

bool RewriteFilter::Accepts(const std::string& name, FloatContract contract) const {
  return contract <= numerics && disabled.count(name) == 0 &&
         (only.empty() || only.count(name) > 0);
}

std::unique_ptr<RewriteSource> Filtered(const RewriteSource* source, RewriteFilter filter) {
  return std::make_unique<FilteredSource>(source, std::move(filter));
}

}  // namespace lemma
