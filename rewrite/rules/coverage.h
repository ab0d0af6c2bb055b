// Does the proof of a rule speak of this match?
//
// A rule is proved form by form (rewrite/rules/statement.h): for some lengths of its lists, some
// values of attributes that an operator must know, and under the requirements that its operators
// state for open sizes. A match may be an instance of none of the forms: a compound size that is 1
// and broadcasts, a longer list, an axis that was not tried. Such an instance is not applied.
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

// Answers for one rule, which must outlive it. Forms are listed when first asked, and answers
// remembered by all but the sizes. Thread-safe.
class Coverage {
 public:
  explicit Coverage(const Substitution& rule, const FormLimits& limits = {});

  // `symbols`: constants, as a match has them; `common`: the type of variables without one.
  //
  // True if the statement at the match's lists and known attributes, its sizes left open (or fixed
  // to 1, where they are 1 and an equality of sizes would fail), has requirements that hold for
  // these sizes, and is a proved form or becomes one without what it carries along
  // (rewrite/rules/batch_text.h), whose requirements hold too. Forms speak of floats; a match of
  // another type is covered if nothing is computed that the type does not hold.
  bool Covers(const SymbolValues& symbols, DType common);

 private:
  struct Form {  // a proved one
    std::vector<Guard> requirements;
    std::map<std::string, size_t> numbers;  // of symbols in the form's text
    std::set<std::string> erased;           // symbols taken to be 1
  };
  struct Instance {  // a match without its sizes
    bool well_formed = false;
    RuleForm form;
    struct Text {
      std::vector<std::string> symbols;
      std::vector<Form>* forms = nullptr;
    };
    std::vector<Text> texts;
  };
  using Sizes = std::map<std::string, int64_t>;

  void ListForms();
  void AddForm(const Statement& statement, const StatementText& text);
  // The form that leaves sizes open; nullopt if a value does not suit its symbol.
  std::optional<RuleForm> Open(const SymbolValues& symbols, DType common, Sizes* sizes,
                               std::string* key) const;
  Instance& Find(const std::string& key, const RuleForm& form, DType common);
  static bool Holds(const Form& form, const Instance::Text& text, const Sizes& sizes);

  const Substitution& rule_;
  const FormLimits limits_;
  std::vector<bool> known_;  // by symbol: it is no open one
  std::mutex mutex_;
  bool listed_ = false;
  std::map<std::string, std::vector<Form>> forms_;  // by text
  std::map<std::string, Instance> instances_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_COVERAGE_H_
