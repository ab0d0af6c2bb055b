#include "verifier/checker/proof_text.h"

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lemma::checker {
namespace {

constexpr int kDeepest = 200;

class Reader {
 public:
  explicit Reader(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  absl::StatusOr<ProofText> Read() {
    if (Line() != "lemma-proof 1") Fail("a proof file begins with 'lemma-proof 1'");
    ++at_;
    for (; at_ < lines_.size() && problem_.empty(); ++at_) {
      rest_ = Line();
      if (rest_.empty() && at_ + 1 == lines_.size()) break;
      const std::string head = Word();
      if (ended_) Fail("text after the end");
      Header(head) || InForm(head) || InOutput(head) || Unknown(head);
    }
    if (problem_.empty() && !ended_) Fail("the file has no end");
    if (!problem_.empty()) return absl::InvalidArgumentError(problem_);
    return std::move(proof_);
  }

 private:
  absl::string_view Line() const { return lines_[at_]; }
  void Fail(const std::string& why) {
    if (problem_.empty()) problem_ = absl::StrCat("line ", at_ + 1, ": ", why);
  }
  bool Unknown(const std::string& head) {
    Fail(absl::StrCat("'", head, "' is not expected here"));
    return true;
  }

  // ---- Words and nodes of the line ----

  std::string Word() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != ' ' && rest_[end] != '(' && rest_[end] != ')') ++end;
    const std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }
  bool AtEnd() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return rest_.empty();
  }
  int64_t Integer() {
    int64_t value = 0;
    const std::string word = Word();
    if (!absl::SimpleAtoi(word, &value)) Fail(absl::StrCat("'", word, "' is no number"));
    return value;
  }
  int Name(const std::string& word) {
    if (word.empty()) Fail("a name is missing");
    auto [it, added] = names_.emplace(word, static_cast<int>(proof_.names.size()));
    if (added) proof_.names.push_back(word);
    return it->second;
  }
  Node Read(int depth) {
    Node node;
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    if (rest_.empty() || depth > kDeepest || rest_[0] == ')') {
      Fail("an expression is missing or too deep");
      return node;
    }
    if (rest_[0] != '(') {
      node.text = Word();
      node.is_number = absl::SimpleAtoi(node.text, &node.number);
      if (!node.is_number) node.name = Name(node.text);
      return node;
    }
    rest_.remove_prefix(1);
    node.is_list = true;
    node.text = Word();
    while (problem_.empty()) {
      if (AtEnd()) Fail("a parenthesis is not closed");
      if (!rest_.empty() && rest_[0] == ')') {
        rest_.remove_prefix(1);
        break;
      }
      if (problem_.empty()) node.items.push_back(Read(depth + 1));
    }
    return node;
  }
  Node LastNode() {
    Node node = Read(0);
    if (!AtEnd()) Fail("text after the expression");
    return node;
  }

  // ---- Parts ----

  std::string Quoted() {
    std::string text;
    while (at_ + 1 < lines_.size() && lines_[at_ + 1].substr(0, 2) == "| ") {
      absl::StrAppend(&text, lines_[++at_].substr(2), "\n");
    }
    return text;
  }

  bool Header(const std::string& head) {
    if (head == "rule") proof_.rule = Quoted();
    if (head == "id") proof_.id = Word();
    if (head == "contract") proof_.contract = Word();
    if (head == "forms") forms_ = Integer();
    if (head == "query") {
      CloseForm();
      rest_ = "";
      Quoted();
      ++queries_;
    }
    if (head == "end") {
      CloseForm();
      const int64_t steps = Integer(), queries = Integer();
      if (steps != proof_.steps) Fail(absl::StrCat(steps, " steps, but ", proof_.steps, " found"));
      if (queries != queries_) Fail(absl::StrCat(queries, " queries, but ", queries_, " found"));
      if (forms_ != static_cast<int64_t>(proof_.forms.size())) {
        Fail(absl::StrCat(forms_, " forms, but ", proof_.forms.size(), " found"));
      }
      ended_ = true;
    }
    for (const char* known : {"rule", "id", "contract", "forms", "query", "end"}) {
      if (head == known) return true;
    }
    ++proof_.steps;
    return false;
  }

  bool InForm(const std::string& head) {
    if (head == "form") {
      CloseForm();
      proof_.forms.emplace_back();
      proof_.forms.back().line = static_cast<int>(at_ + 1);
      return true;
    }
    if (proof_.forms.empty()) return false;
    Form& form = proof_.forms.back();
    if (head == "symbol" && form.cases.empty()) {
      const std::string name = Word();
      form.symbols[name] = LastNode();
      return true;
    }
    if (head == "case") {
      CloseOutput();
      form.cases.emplace_back();
      form.cases.back().line = static_cast<int>(at_ + 1);
      form.cases.back().laws = Word();
      return true;
    }
    if (form.cases.empty() || !form.cases.back().outputs.empty()) return false;
    if (head == "fact") {
      form.cases.back().facts.push_back(LastNode());
      return true;
    }
    if (head == "set") {
      const int name = Name(Word());
      form.cases.back().solved.emplace_back(name, LastNode());
      return true;
    }
    return false;
  }

  bool InOutput(const std::string& head) {
    if (proof_.forms.empty() || proof_.forms.back().cases.empty()) return false;
    Case& c = proof_.forms.back().cases.back();
    if (head == "output") {
      CloseOutput();
      c.outputs.emplace_back();
      Output& output = c.outputs.back();
      output.line = static_cast<int>(at_ + 1);
      output.number = static_cast<int>(Integer());
      while (!AtEnd() && problem_.empty()) {
        const std::string word = Word();
        if (word == "empty") output.empty = true;
        if (word != "empty") output.names.push_back(Name(word));
      }
      return true;
    }
    if (c.outputs.empty() || c.outputs.back().empty) return false;
    Output& output = c.outputs.back();
    if (head == "digits") {
      Output::Digits digits;
      digits.name = Name(Word());
      digits.base = Read(0);
      digits.high = Name(Word());
      digits.low = Name(Word());
      output.digits.push_back(std::move(digits));
    } else if (head == "source" || head == "target") {
      output.sides[head == "target"] = LastNode();
    } else if (head == "term") {
      const int number = static_cast<int>(Integer());
      if (!output.terms.emplace(number, LastNode()).second) {
        Fail(absl::StrCat("term ", number, " is there twice"));
      }
    } else if (head == "difference" || head == "pair" || head == "collect" || head == "zero" ||
               head == "laws") {
      ReadEvent(head, &output);
    } else {
      return false;
    }
    return true;
  }

  // Numbers, up to the first word that is not one.
  std::vector<int> Numbers(std::string* word) {
    std::vector<int> numbers;
    word->clear();
    while (!AtEnd() && problem_.empty() && rest_[0] != '(') {
      *word = Word();
      int number = 0;
      if (!absl::SimpleAtoi(*word, &number)) return numbers;
      numbers.push_back(number);
    }
    word->clear();
    return numbers;
  }

  void ReadEvent(const std::string& head, Output* output) {
    Event event;
    event.line = static_cast<int>(at_ + 1);
    std::string word;
    if (head == "difference") {
      event.made = Numbers(&word);
      if (!output->events.empty()) Fail("a second difference");
      if (output->sides[0].text.empty() || output->sides[1].text.empty()) Fail("a side is missing");
    } else if (output->events.empty()) {
      Fail("there is no difference yet");
    } else if (head == "pair") {
      event.kind = Event::Kind::kPair;
      event.used = Numbers(&word);
      if (word != "as" || event.used.size() != 2) Fail("a pair is 'pair A B as TERM MAP leaves …'");
      event.renamed = Read(0);
      event.map = Read(0);
      if (Word() != "leaves") Fail("what a pair leaves is missing");
      event.made = Numbers(&word);
    } else if (head == "collect") {
      event.kind = Event::Kind::kCollect;
      event.used = Numbers(&word);
      if (word != "into") Fail("'into' is missing");
      event.made = Numbers(&word);
    } else {
      event.kind = head == "zero" ? Event::Kind::kZero : Event::Kind::kLaws;
      event.used = Numbers(&word);
    }
    if (!AtEnd()) Fail("text after the step");
    for (int number : event.used) {
      if (alive_.erase(number) == 0) Fail(absl::StrCat("there is no term ", number, " any more"));
    }
    for (int number : event.made) {
      if (output->terms.count(number) == 0) Fail(absl::StrCat("term ", number, " is not given"));
      if (!ever_.insert(number).second) Fail(absl::StrCat("term ", number, " was there before"));
      alive_.insert(number);
    }
    output->events.push_back(std::move(event));
  }

  void CloseOutput() {
    if (proof_.forms.empty() || proof_.forms.back().cases.empty()) return;
    Case& c = proof_.forms.back().cases.back();
    if (!c.outputs.empty()) {
      const Output& output = c.outputs.back();
      if (!output.empty && output.events.empty()) Fail("an output has no difference");
      if (!alive_.empty()) {
        Fail(absl::StrCat("a step is missing before this line: term ", *alive_.begin(),
                          " of the output of line ", output.line, " is never used up"));
      }
    }
    alive_.clear();
    ever_.clear();
  }

  void CloseForm() {
    CloseOutput();
    if (!proof_.forms.empty() && proof_.forms.back().cases.empty()) Fail("a form has no case");
  }

  std::vector<absl::string_view> lines_;
  size_t at_ = 0;
  absl::string_view rest_;
  ProofText proof_;
  std::map<std::string, int> names_;
  std::set<int> alive_, ever_;  // terms of the current output
  int64_t forms_ = -1, queries_ = 0;
  bool ended_ = false;
  std::string problem_;
};

}  // namespace

absl::StatusOr<ProofText> ParseProof(absl::string_view text) { return Reader(text).Read(); }

}  // namespace lemma::checker
