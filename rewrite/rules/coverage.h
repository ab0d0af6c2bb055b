// Decides whether the proof of a rule covers a match.
//
// A rule is proved form by form (rewrite/rules/statement.h): for some lengths of its lists, some
// values of attributes that an operator must know, and under the operators' requirements on open
// sizes. A match may be an instance of no form. Examples: a size that is a sum or product of
// several symbols is 1 and broadcasts; a list is longer than in any form; an axis was not tried.
// The rule is not applied to a match that is an instance of no form.
#ifndef LEMMA_REWRITE_RULES_COVERAGE_H_
#define LEMMA_REWRITE_RULES_COVERAGE_H_

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewrite/rules/batch_text.h"
#include "rewrite/rules/statement.h"

namespace lemma {

// Answers for one rule. The rule must outlive the object. The first call of Covers lists the forms;
// later calls use a cache of all work that does not depend on sizes. Covers is thread-safe.
class Coverage {
 public:
  explicit Coverage(const Substitution& rule, const FormLimits& limits = {});

  // Makes Covers return false if the id of the rule's proof record is not CurrentProofId
  // (rewrite/rules/proof_check.h). The first call of Covers compares the ids, so a rule that
  // matches nowhere costs nothing. Call this function before Covers.
  void RequireCurrentRecord() { requires_record_ = true; }

  // Whether the proof covers a match. `symbols`: the values of the rule's symbols in the match.
  // `common`: the rule's common type (rewrite/rules/substitution.h) in the match.
  //
  // Makes the rule's statement for the match: list lengths and known attributes are those of the
  // match; sizes are open, but a size of 1 is fixed to 1 if an equality of sizes would otherwise
  // fail. The match is covered if
  //   * the statement of some proved form equals this statement, with or without batch dimensions
  //     (rewrite/rules/batch_text.h),
  //   * the requirements of both statements are true for the match's sizes (if these are symbolic:
  //     for all values of the symbolic dimensions), and
  //   * the values of real symbols are finite, or the rule is bit-exact.
  // Forms are proved for floats. If `common` is another type, the rule may only move, select and
  // compare values, take minima and maxima of them, and combine truth values. If `common` is i64,
  // it may also add, subtract, negate and multiply values; 64 bits are assumed not to overflow. The
  // rule's numbers must be 0 or 1 or, if `common` is i64, integers below 2^31 in magnitude. If
  // `common` is a small float (docs/architecture.md), nothing is covered.
  bool Covers(const SymbolValues& symbols, DType common);

 private:
  struct Form {  // a form that is proved
    std::vector<Guard> requirements;
    std::map<std::string, size_t> numbers;  // of symbols in the form's text
    std::set<std::string> erased;           // symbols taken to be 1
  };
  struct OpenMatch {  // a match without its sizes
    bool well_formed = false;
    RuleForm form;
    struct Text {
      std::vector<std::string> symbols;
      std::vector<Form>* forms = nullptr;
    };
    std::vector<Text> texts;
  };
  using Sizes = std::map<std::string, IndexExpr>;

  void ListForms();
  void AddForm(const Statement& statement, const StatementText& text);
  // The form with open sizes. nullopt if a value does not fit its symbol.
  std::optional<RuleForm> Open(const SymbolValues& symbols, DType common, Sizes* sizes,
                               std::string* key) const;
  OpenMatch& Find(const std::string& key, const RuleForm& form, DType common);
  static bool Holds(const Form& form, const OpenMatch::Text& text, const Sizes& sizes);

  const Substitution& rule_;
  const FormLimits limits_;
  std::vector<bool> known_;  // by symbol: whether it is not open
  std::mutex mutex_;
  bool requires_record_ = false;
  bool listed_ = false;
  std::map<std::string, std::vector<Form>> forms_;  // by text
  std::map<std::string, OpenMatch> instances_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_COVERAGE_H_
