#include "verifier/normal_form/form_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lemma::prover {
namespace {

using prover::TextOf;  // beside the functions of this name below

std::string NameOf(const Leaves& leaves, Leaf leaf) {
  const LeafInfo& info = leaves.Info(leaf);
  switch (info.kind) {
    case LeafInfo::Kind::kDiv:
      return absl::StrCat("(div ", TextOf(leaves, info.a), " ", TextOf(leaves, info.b), ")");
    case LeafInfo::Kind::kMin:
      return absl::StrCat("(min ", TextOf(leaves, info.a), " ", TextOf(leaves, info.b), ")");
    case LeafInfo::Kind::kMax:
      return absl::StrCat("(max ", TextOf(leaves, info.a), " ", TextOf(leaves, info.b), ")");
    case LeafInfo::Kind::kLoad:
      return absl::StrCat("(load ", TextOf(leaves, *info.load), ")");
    default:
      return info.name;
  }
}

std::string Axes(const Leaves& leaves, const std::vector<Leaf>& axes) {
  std::string text = "(axes";
  for (Leaf axis : axes) absl::StrAppend(&text, " ", NameOf(leaves, axis));
  return text + ")";
}

std::string Where(const Leaves& leaves, const Facts& facts) {
  std::string text = "(where";
  for (const Fact& fact : facts) absl::StrAppend(&text, " ", TextOf(leaves, fact));
  return text + ")";
}

std::string TextOf(const Leaves& leaves, const Alternative& alternative) {
  return absl::StrCat("(alt ", Axes(leaves, alternative.axes), " ",
                      Where(leaves, alternative.guards), " ", TextOf(leaves, *alternative.value),
                      ")");
}

std::string TextOf(const Leaves& leaves, const Atom& atom) {
  std::string text;
  switch (atom.kind) {
    case Atom::Kind::kRead:
      text = absl::StrCat("(read ", atom.tensor);
      break;
    case Atom::Kind::kConstant:
      text = absl::StrCat("(const ", atom.name);
      break;
    case Atom::Kind::kFn:
      text = absl::StrCat("(fn ", atom.name);
      break;
    case Atom::Kind::kInverse:
      text = "(inverse";
      break;
    case Atom::Kind::kSizeInverse:
      text = "(size-inverse";
      break;
    case Atom::Kind::kMax:
      text = absl::StrCat("(", atom.name);
      break;
    case Atom::Kind::kReduce:
      text = absl::StrCat("(reduce ", atom.name);
      break;
  }
  for (const Poly& p : atom.index) absl::StrAppend(&text, " ", TextOf(leaves, p));
  for (const NormalFormPtr& arg : atom.args) absl::StrAppend(&text, " ", TextOf(leaves, *arg));
  for (const Alternative& alternative : atom.alternatives) {
    absl::StrAppend(&text, " ", TextOf(leaves, alternative));
  }
  return text + ")";
}

}  // namespace

std::string TextOf(const Leaves& leaves, const Poly& p) {
  if (p.overflowed()) return "(overflow)";
  if (auto constant = p.AsConst()) return absl::StrCat(*constant);
  std::string text;
  for (const auto& [m, c] : p.terms()) {
    std::string factors;
    if (c != 1 || m.empty()) factors = absl::StrCat(" ", c);
    for (Leaf leaf : m) absl::StrAppend(&factors, " ", NameOf(leaves, leaf));
    const bool alone = (c == 1 && m.size() == 1) || m.empty();
    absl::StrAppend(&text, alone ? factors : absl::StrCat(" (*", factors, ")"));
  }
  return p.terms().size() == 1 ? text.substr(1) : absl::StrCat("(+", text, ")");
}

std::string TextOf(const Leaves& leaves, const Fact& fact) {
  const char* relation = fact.kind == Fact::Kind::kGe   ? ">="
                         : fact.kind == Fact::Kind::kEq ? "="
                                                        : "!=";
  return absl::StrCat("(", relation, " ", TextOf(leaves, fact.p), ")");
}

std::string TextOf(const Leaves& leaves, const Summand& term) {
  std::string text = absl::StrCat("(term ", TextOf(leaves, term.coefficient), " ", term.denominator,
                                  " ", Axes(leaves, term.axes), " ", Where(leaves, term.guards));
  for (const Atom& atom : term.atoms) absl::StrAppend(&text, " ", TextOf(leaves, atom));
  return text + ")";
}

std::string TextOf(const Leaves& leaves, const NormalForm& form) {
  std::string text = "(sum";
  for (const Summand& term : form.terms) absl::StrAppend(&text, " ", TextOf(leaves, term));
  return text + ")";
}

int StepLog::Take(const Summand& term) {
  const std::string text = TextOf(leaves_, term);
  auto it =
      std::find_if(live_.begin(), live_.end(), [&](const Live& live) { return live.text == text; });
  if (it == live_.end()) return 0;  // no summand has this number, so the checker will reject it
  const int number = it->number;
  live_.erase(it);
  return number;
}

// Adds the summand and returns " N", its number.
std::string StepLog::Add(const std::string& text) {
  live_.push_back({++last_, text});
  Line(absl::StrCat("term ", last_, " ", text));
  return absl::StrCat(" ", last_);
}

void StepLog::Difference(const std::vector<Summand>& terms) {
  live_.clear();
  last_ = 0;
  std::string numbers;
  for (const Summand& term : terms) numbers += Add(TextOf(leaves_, term));
  Line(absl::StrCat("difference", numbers));
}

void StepLog::Paired(const Summand& mine, const Summand& other, const Summand& renamed,
                     const LeafMap& map, const std::vector<Summand>& rest) {
  const int first = Take(mine), second = Take(other);
  std::string numbers, axes;
  for (const Summand& term : rest) numbers += Add(TextOf(leaves_, term));
  for (Leaf axis : renamed.axes) {
    auto it = map.find(axis);
    if (it == map.end()) continue;
    absl::StrAppend(&axes, " (", NameOf(leaves_, axis), " ", TextOf(leaves_, it->second), ")");
  }
  Line(absl::StrCat("pair ", first, " ", second, " as ", TextOf(leaves_, renamed), " (map", axes,
                    ")", " leaves", numbers));
}

void StepLog::Collected(const std::vector<Summand>& terms) {
  std::vector<std::string> made;
  std::vector<Live> before = std::move(live_);
  live_.clear();
  for (const Summand& term : terms) {
    std::string text = TextOf(leaves_, term);
    auto it = std::find_if(before.begin(), before.end(),
                           [&](const Live& live) { return live.text == text; });
    if (it == before.end()) {
      made.push_back(std::move(text));
    } else {
      live_.push_back(std::move(*it));
      before.erase(it);
    }
  }
  if (before.empty() && made.empty()) return;
  std::string gone, numbers;
  for (const Live& live : before) absl::StrAppend(&gone, " ", live.number);
  for (const std::string& text : made) numbers += Add(text);
  Line(absl::StrCat("collect", gone, " into", numbers));
}

void StepLog::ZeroByLaws(const std::vector<Summand>& terms) {
  Difference(terms);
  std::string numbers;
  for (const Live& live : live_) absl::StrAppend(&numbers, " ", live.number);
  live_.clear();
  if (!numbers.empty()) Line(absl::StrCat("laws", numbers));
}

void StepLog::Zero(const Summand& term) { Line(absl::StrCat("zero ", Take(term))); }

}  // namespace lemma::prover
