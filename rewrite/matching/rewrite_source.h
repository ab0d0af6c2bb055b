// Sources of rewrites: they propose the steps that apply to a graph.
#ifndef LEMMA_REWRITE_MATCHING_REWRITE_SOURCE_H_
#define LEMMA_REWRITE_MATCHING_REWRITE_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rewrite/matching/match.h"
#include "rewrite/rules/coverage.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// "merge(x = input, a = %3.0; n = 4)": the rule's variables, with the names of their values
// (`vars`, by variable), and its symbols.
std::string Describe(const Substitution& rule, const std::vector<std::string>& vars,
                     const SymbolValues& symbols);
// The name of a value for Describe: its label or, if it has none, its position and output.
std::string NameInSteps(absl::string_view label, int position, int output);

// One applicable step. Refers to its source and to the index in which it was found; both must
// outlive it.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  virtual const std::string& name() const = 0;
  virtual FloatContract contract() const = 0;
  virtual const ProofRecord& proof() const = 0;
  // Position, in the indexed graph, of a node that is replaced.
  virtual int anchor() const = 0;
  // A text that tells steps of the same name apart, for people; equal in every run.
  virtual std::string Describe() const = 0;
  // The graph after the step. FailedPrecondition if the step turns out not to be applicable.
  virtual absl::StatusOr<Graph> Apply() const = 0;
};

// Nodes of a graph, identified by MatchView::Head().
using FixedNodes = absl::flat_hash_set<const Node*>;

// A rule prepared for matching. The rule must outlive the object.
struct PreparedRule {
  explicit PreparedRule(Matcher m) : matcher(std::move(m)), coverage(matcher.rule()) {}
  const Substitution& rule() const { return matcher.rule(); }
  Matcher matcher;
  mutable Coverage coverage;
  // Nodes that no match may bind. May be null.
  std::shared_ptr<const FixedNodes> fixed;
  // Whether a search uses the rule only when the other rules lead no further.
  bool is_late = false;
};

class RewriteSource {
 public:
  virtual ~RewriteSource() = default;
  // The rules of this source, in order, for searches that match on their own. They live as long as
  // the source.
  virtual std::vector<const PreparedRule*> Rules() const = 0;
  // Calls `visit` with each step that applies to the indexed graph, until `visit` returns false.
  // The order depends only on the source and the graph's structure. A step is valid only during the
  // call of `visit`.
  virtual void ForEach(const MatchIndex& index,
                       absl::FunctionRef<bool(const Rewrite&)> visit) const = 0;
};

// When the id of a rule's proof record is compared with the current id
// (Coverage::RequireCurrentRecord in rewrite/rules/coverage.h).
enum class RecordCheck {
  kBefore,    // the caller has compared the ids, or asks for no proof
  kWhenUsed,  // at the rule's first match; if the ids differ, the rule has no matches
};

struct RuleSetOptions {
  std::shared_ptr<const FixedNodes> fixed = nullptr;  // PreparedRule::fixed of all rules
  RecordCheck records = RecordCheck::kBefore;
  // The rules with numbers in [late.first, late.second) are late (PreparedRule::is_late).
  std::pair<size_t, size_t> late = {0, 0};
};

// Rules in a given order. Steps are ordered by position of the anchor, then by rule. Matches that
// the rule's proof does not cover (rewrite/rules/coverage.h) are skipped.
class RuleSet : public RewriteSource {
 public:
  // InvalidArgument if a rule cannot be matched (Matcher::Create).
  static absl::StatusOr<std::unique_ptr<RuleSet>> Create(std::vector<Substitution> rules,
                                                         const RuleSetOptions& options = {});
  // Reads rules in text form from a file. NotFound if the file cannot be read; otherwise the errors
  // of ParseRules (rewrite/rules/rule_text.h) and of Create.
  static absl::StatusOr<std::unique_ptr<RuleSet>> Load(const std::string& path);

  const std::vector<Substitution>& rules() const { return rules_; }
  std::vector<const PreparedRule*> Rules() const override;
  void ForEach(const MatchIndex& index,
               absl::FunctionRef<bool(const Rewrite&)> visit) const override;

 private:
  RuleSet() = default;
  std::vector<Substitution> rules_;
  std::vector<std::unique_ptr<const PreparedRule>> prepared_;
  // By anchor operator, in the order of the rules.
  absl::flat_hash_map<const OpDef*, std::vector<const PreparedRule*>> by_op_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_REWRITE_SOURCE_H_
