// Reads certificates.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "graph/text/lexer.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/certificate_text.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

constexpr Certificate::Result kResults[] = {
    Certificate::Result::kBest, Certificate::Result::kDescended, Certificate::Result::kCertain,
    Certificate::Result::kReplayed, Certificate::Result::kInput};

// Parses a certificate's text from front to back.
class CertificateReader {
 public:
  explicit CertificateReader(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Certificate> Run() {
    LEMMA_RETURN_IF_ERROR(Header());
    LEMMA_RETURN_IF_ERROR(Rules());
    if (absl::StartsWith(rest_, "\nmutants ")) LEMMA_RETURN_IF_ERROR(Mutants());
    LEMMA_RETURN_IF_ERROR(Steps());
    LEMMA_RETURN_IF_ERROR(Folds());
    if (absl::StartsWith(rest_, "\nbodies ")) LEMMA_RETURN_IF_ERROR(Bodies());
    if (!rest_.empty()) return Expected("the checksum");
    return std::move(result_);
  }

 private:
  absl::Status Header() {
    LEMMA_RETURN_IF_ERROR(
        Take(absl::StrCat(certificate_text::kFormat, certificate_text::kVersion, "\n")));
    LEMMA_RETURN_IF_ERROR(File("input ", &result_.input_file, &result_.input_graph));
    LEMMA_RETURN_IF_ERROR(File("output ", &result_.output_file, &result_.output_graph));
    while (absl::StartsWith(rest_, "dim ")) LEMMA_RETURN_IF_ERROR(Dim());
    while (absl::StartsWith(rest_, "symbolic ")) LEMMA_RETURN_IF_ERROR(Symbolic());
    while (absl::StartsWith(rest_, "result_size ")) LEMMA_RETURN_IF_ERROR(ResultSize());
    while (absl::StartsWith(rest_, "fixed ")) LEMMA_RETURN_IF_ERROR(Fixed());
    if (absl::ConsumePrefix(&rest_, "reseed ")) {
      int64_t seed = 0;
      LEMMA_RETURN_IF_ERROR(Integer(Until("\n"), &seed));
      LEMMA_RETURN_IF_ERROR(Take("\n"));
      result_.reseed = seed;
    }
    LEMMA_RETURN_IF_ERROR(Take("result "));
    const absl::string_view result = Until("\n");
    auto it = std::find_if(std::begin(kResults), std::end(kResults),
                           [&](Certificate::Result r) { return Name(r) == result; });
    if (it == std::end(kResults)) {
      return Expected(absl::StrJoin(kResults, ", ", [](std::string* out, Certificate::Result r) {
        absl::StrAppend(out, Name(r));
      }));
    }
    result_.result = *it;
    LEMMA_RETURN_IF_ERROR(Take("\ncontract "));
    LEMMA_RETURN_IF_ERROR(Contract(&result_.contract));
    return Take("\n");
  }

  absl::Status File(absl::string_view what, std::string* sha256, uint64_t* graph) {
    LEMMA_RETURN_IF_ERROR(Take(what));
    LEMMA_RETURN_IF_ERROR(Digest(sha256));
    LEMMA_RETURN_IF_ERROR(Take(" graph "));
    LEMMA_RETURN_IF_ERROR(Hash(graph));
    return Take("\n");
  }

  absl::Status Dim() {
    auto tokens = text::Tokenize(Until("\n"), "");
    if (!tokens.ok() || tokens->size() != 4) return Expected("dim NAME SIZE");
    const uint64_t size = (*tokens)[2].integer;
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Expected("a smaller size");
    }
    result_.dims[(*tokens)[1].text] = static_cast<int64_t>(size);
    return Take("\n");
  }

  absl::Status Symbolic() {
    auto tokens = text::Tokenize(Until("\n"), "");
    if (!tokens.ok() || tokens->size() != 5) return Expected("symbolic NAME LEAST MOST");
    const uint64_t least = (*tokens)[2].integer, most = (*tokens)[3].integer;
    if (least < 1 || least > most || most > static_cast<uint64_t>(SizeRange::kNoLimit)) {
      return Expected("a range of sizes");
    }
    result_.symbolic[(*tokens)[1].text] = {static_cast<int64_t>(least), static_cast<int64_t>(most)};
    return Take("\n");
  }

  absl::Status ResultSize() {
    auto tokens = text::Tokenize(Until("\n"), "");
    if (!tokens.ok() || tokens->size() != 4) return Expected("result_size NAME MOST");
    const uint64_t most = (*tokens)[2].integer;
    if (most > static_cast<uint64_t>(SizeRange::kNoLimit)) return Expected("a smaller size");
    result_sizes_[(*tokens)[1].text] = {0, static_cast<int64_t>(most)};
    return Take("\n");
  }

  // fixed NAME i64[2,3] 1 2 3 …
  absl::Status Fixed() {
    constexpr char kForm[] = "fixed NAME TYPE INTEGERS";
    auto tokens = text::Tokenize(Until("\n"), "");
    if (!tokens.ok()) return Expected(kForm);
    size_t at = 1;  // behind "fixed"
    auto punct = [&](absl::string_view text) {
      const bool is = at < tokens->size() && (*tokens)[at].kind == text::Token::Kind::kPunct &&
                      (*tokens)[at].text == text;
      at += is ? 1 : 0;
      return is;
    };
    auto integer = [&](int64_t* value) {
      const bool is_negative = punct("-");
      if (at >= tokens->size() || (*tokens)[at].kind != text::Token::Kind::kInt) return false;
      const uint64_t magnitude = (*tokens)[at++].integer;
      const uint64_t most = std::numeric_limits<int64_t>::max();
      *value = static_cast<int64_t>(is_negative ? 0 - magnitude : magnitude);
      return magnitude <= (is_negative ? most + 1 : most);
    };
    if (tokens->size() < 5) return Expected(kForm);
    const std::string name = (*tokens)[at++].text;
    const std::optional<DType> dtype = ParseDType((*tokens)[at++].text);
    TensorType type{dtype.value_or(DType::kF32), {}};
    bool good = dtype.has_value() && punct("[");
    int64_t number = 0;
    while (good && !punct("]")) {
      good = (type.shape.empty() || punct(",")) && integer(&number) && number >= 0 &&
             number <= kMaxFixedElements;
      type.shape.push_back(number);
    }
    if (!good || !CanBeFixed(type)) return Expected(kForm);
    std::vector<int64_t> values;
    while (integer(&number)) values.push_back(number);
    if (at + 1 != tokens->size() || static_cast<int64_t>(values.size()) != type.num_elements()) {
      return Expected(kForm);
    }
    LEMMA_ASSIGN_OR_RETURN(result_.fixed_inputs[name], Tensor::FromInts(type, values));
    return Take("\n");
  }

  // "12", or "{seq + 1}" for a symbolic size.
  absl::Status Size(int64_t* size) {
    if (!absl::ConsumePrefix(&rest_, "{")) return Integer(Digits(), size);
    auto expr = ParseSize(Until("}"), [this](const std::string& name) -> std::optional<IndexExpr> {
      for (const auto* dims : {&result_.symbolic, &result_sizes_}) {
        auto it = dims->find(name);
        if (it != dims->end()) return SymbolicDim(name, it->second);
      }
      return std::nullopt;
    });
    auto parsed = expr ? ToSize(*expr) : std::nullopt;
    if (!parsed) return Expected("a size");
    *size = *parsed;
    return Take("}");
  }

  absl::Status Rules() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("\nrules ", &count));
    for (int64_t i = 0; i < count; ++i) {
      LEMMA_RETURN_IF_ERROR(Take("proof "));
      ProofRecord record;
      record.id = std::string(Until(" "));
      LEMMA_RETURN_IF_ERROR(Take(" "));
      LEMMA_RETURN_IF_ERROR(Contract(&record.contract));
      LEMMA_RETURN_IF_ERROR(Take("\n"));
      record.verdict = ProofRecord::Verdict::kProved;
      if (record.id == certificate_text::kNoProof) record = ProofRecord();
      Substitution rule;
      LEMMA_RETURN_IF_ERROR(Rule(&rule));
      if (certificate_text::Find(result_.rules, rule.name) != nullptr) {
        return Wrong("two rules have one name");
      }
      rule.proof = std::move(record);
      result_.rules.push_back(std::move(rule));
    }
    return absl::OkStatus();
  }

  absl::Status Rule(Substitution* rule) {
    const size_t end = rest_.find("\n}\n");
    if (end == rest_.npos) return Expected("a rule");
    auto rules = ParseRules(rest_.substr(0, end + 3), "rule");
    if (!rules.ok()) return Wrong(rules.status().message());
    if (rules->size() != 1) return Expected("one rule");
    rest_.remove_prefix(end + 3);
    *rule = std::move((*rules)[0]);
    rule->doc.clear();  // a text with a comment then differs from the printed one
    return absl::OkStatus();
  }

  absl::Status Mutants() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("\nmutants ", &count));
    for (int64_t i = 0; i < count; ++i) {
      CertificateMutant& mutant = result_.mutants.emplace_back();
      LEMMA_RETURN_IF_ERROR(Rule(&mutant.rule));
      int64_t boxes = 0;
      LEMMA_RETURN_IF_ERROR(Count("differs ", &boxes));
      for (int64_t b = 0; b < boxes; ++b) {
        LEMMA_RETURN_IF_ERROR(Box(&mutant.differs.emplace_back()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Box(CertificateMutant::Box* box) {
    LEMMA_RETURN_IF_ERROR(Take("  box"));
    while (absl::ConsumePrefix(&rest_, " ")) {
      CertificateMutant::Range& range = box->emplace_back();
      for (size_t i = 0; i < range.size(); ++i) {
        if (i > 0) LEMMA_RETURN_IF_ERROR(Take(":"));
        LEMMA_RETURN_IF_ERROR(Integer(Digits(), &range[i]));
      }
    }
    return Take("\n");
  }

  absl::Status Steps() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("\nsteps ", &count));
    for (step_ = 1; step_ <= count; ++step_) {
      LEMMA_RETURN_IF_ERROR(Take(absl::StrCat("step ", step_, " ")));
      const Substitution* rule = nullptr;
      for (const Substitution& r : result_.rules) {
        if (absl::StartsWith(rest_, absl::StrCat(text::QuoteName(r.name), " proof "))) rule = &r;
      }
      if (rule == nullptr) return Expected("one of the certificate's rules");
      LEMMA_RETURN_IF_ERROR(Take(
          absl::StrCat(text::QuoteName(rule->name), " proof ", certificate_text::ProofOf(*rule))));
      LEMMA_RETURN_IF_ERROR(Take("\n  type "));
      CertificateStep step;
      step.rule = rule->name;
      auto dtype = ParseDType(Until("\n"));
      if (!dtype) return Expected("an element type");
      step.dtype = *dtype;
      LEMMA_RETURN_IF_ERROR(Match(*rule, &step));
      result_.steps.push_back(std::move(step));
    }
    step_ = 0;
    return absl::OkStatus();
  }

  absl::Status Match(const Substitution& rule, CertificateStep* step) {
    for (size_t i = 0; i < rule.vars.size(); ++i) {
      LEMMA_RETURN_IF_ERROR(
          Take(absl::StrCat(i == 0 ? "\n  " : ", ", text::QuoteName(rule.vars[i].name), " = ")));
      LEMMA_RETURN_IF_ERROR(Ref(&step->vars.emplace_back()));
    }
    LEMMA_RETURN_IF_ERROR(Take("\n  nodes"));
    for (size_t i = 0; i < rule.source.nodes.size(); ++i) {
      ValueAt ref;
      LEMMA_RETURN_IF_ERROR(Take(" "));
      LEMMA_RETURN_IF_ERROR(Ref(&ref));
      step->nodes.push_back(ref.position);
    }
    for (size_t i = 0; i < rule.symbols.size(); ++i) {
      LEMMA_RETURN_IF_ERROR(
          Take(absl::StrCat(i == 0 ? "\n  " : ", ", text::QuoteName(rule.symbols[i].name), " = ")));
      LEMMA_RETURN_IF_ERROR(Attribute(&step->symbols.emplace_back()));
    }
    LEMMA_RETURN_IF_ERROR(Take("\n  gives "));
    LEMMA_RETURN_IF_ERROR(Hash(&step->after));
    return Take("\n");
  }

  absl::Status Folds() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("\nfolds ", &count));
    for (int64_t i = 0; i < count; ++i) {
      CertificateFold fold;
      LEMMA_RETURN_IF_ERROR(Ref(&fold.value));
      LEMMA_RETURN_IF_ERROR(Take(" "));
      auto dtype = ParseDType(Until("["));
      if (!dtype) return Expected("a type");
      fold.type.dtype = *dtype;
      LEMMA_RETURN_IF_ERROR(Take("["));
      while (!absl::ConsumePrefix(&rest_, "]")) {
        if (!fold.type.shape.empty()) LEMMA_RETURN_IF_ERROR(Take(","));
        LEMMA_RETURN_IF_ERROR(Integer(Digits(), &fold.type.shape.emplace_back()));
      }
      LEMMA_RETURN_IF_ERROR(Take(" sha256 "));
      LEMMA_RETURN_IF_ERROR(Digest(&fold.sha256));
      LEMMA_RETURN_IF_ERROR(Take("\n"));
      result_.folds.push_back(std::move(fold));
    }
    return absl::OkStatus();
  }

  absl::Status Bodies() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("\nbodies ", &count));
    for (int64_t i = 0; i < count; ++i) {
      CertificateBody& body = result_.bodies.emplace_back();
      ValueAt ref;
      LEMMA_RETURN_IF_ERROR(Ref(&ref));
      body.position = ref.position;
      LEMMA_RETURN_IF_ERROR(Take(" reads"));
      while (absl::ConsumePrefix(&rest_, " ")) {
        LEMMA_RETURN_IF_ERROR(Integer(Digits(), &body.reads.emplace_back()));
      }
      LEMMA_RETURN_IF_ERROR(Take("\n"));
      while (absl::ConsumePrefix(&rest_, certificate_text::kIndent)) {
        absl::StrAppend(&body.certificate, Until("\n"), "\n");
        LEMMA_RETURN_IF_ERROR(Take("\n"));
      }
    }
    return absl::OkStatus();
  }

  // "3", "0.5", "inf", "[1, 2]", "\"same\"".
  absl::Status Attribute(AttrValue* value) {
    if (absl::StartsWith(rest_, "\"")) return String(value);
    if (absl::ConsumePrefix(&rest_, "[")) {
      Shape list;
      while (!absl::ConsumePrefix(&rest_, "]")) {
        if (!list.empty()) LEMMA_RETURN_IF_ERROR(Take(", "));
        LEMMA_RETURN_IF_ERROR(Size(&list.emplace_back()));
      }
      *value = std::move(list);
      return absl::OkStatus();
    }
    if (absl::StartsWith(rest_, "{")) {
      int64_t size = 0;
      LEMMA_RETURN_IF_ERROR(Size(&size));
      *value = size;
      return absl::OkStatus();
    }
    const absl::string_view number = rest_.substr(0, rest_.find_first_of(",\n"));
    if (number.find_first_of(".enf") == number.npos) {
      int64_t integer = 0;
      LEMMA_RETURN_IF_ERROR(Integer(Digits(), &integer));
      *value = integer;
      return absl::OkStatus();
    }
    double real = 0;
    if (!absl::SimpleAtod(number, &real)) return Expected("a number");
    *value = real;
    rest_.remove_prefix(number.size());
    return absl::OkStatus();
  }

  absl::Status String(AttrValue* value) {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    auto tokens = text::Tokenize(rest_.substr(0, end + 1), "");
    if (!tokens.ok() || tokens->size() != 2) return Expected("a string");
    *value = (*tokens)[0].text;
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return absl::OkStatus();
  }

  absl::Status Ref(ValueAt* ref) {
    LEMMA_RETURN_IF_ERROR(Take("%"));
    LEMMA_RETURN_IF_ERROR(Integer(Digits(), &ref->position));
    if (!absl::ConsumePrefix(&rest_, ".")) return absl::OkStatus();
    return Integer(Digits(), &ref->output);
  }

  absl::Status Count(absl::string_view what, int64_t* count) {
    LEMMA_RETURN_IF_ERROR(Take(what));
    LEMMA_RETURN_IF_ERROR(Integer(Digits(), count));
    return Take("\n");
  }

  absl::Status Contract(FloatContract* contract) {
    auto found = ParseFloatContract(Until("\n"));
    // A certificate is of equalities.
    if (!found || *found == FloatContract::kBounded) {
      return Expected("bit_exact, reassociates or real_only");
    }
    *contract = *found;
    return absl::OkStatus();
  }

  absl::Status Digest(std::string* digest) {
    *digest = std::string(rest_.substr(0, 64));
    if (digest->size() < 64 || digest->find_first_not_of("0123456789abcdef") != digest->npos) {
      return Expected("64 hexadecimal digits");
    }
    rest_.remove_prefix(64);
    return absl::OkStatus();
  }

  absl::Status Hash(uint64_t* hash) {
    if (!absl::SimpleHexAtoi(rest_.substr(0, 16), hash)) return Expected("16 hexadecimal digits");
    rest_.remove_prefix(std::min<size_t>(16, rest_.size()));
    return absl::OkStatus();
  }

  template <class Int>
  absl::Status Integer(absl::string_view digits, Int* value) {
    return absl::SimpleAtoi(digits, value) ? absl::OkStatus() : Expected("a number");
  }

  // Takes and returns the characters of an integer.
  absl::string_view Digits() {
    const absl::string_view digits =
        rest_.substr(0, std::min(rest_.find_first_not_of("-0123456789"), rest_.size()));
    rest_.remove_prefix(digits.size());
    return digits;
  }

  // Takes and returns the text before `end`; nothing if `end` is not on this line.
  absl::string_view Until(absl::string_view end) {
    const absl::string_view line =
        rest_.substr(0, std::min(rest_.find('\n'), rest_.size() - 1) + 1);
    const size_t at = line.find(end);
    if (at == line.npos) return "";
    rest_.remove_prefix(at);
    return line.substr(0, at);
  }

  absl::Status Take(absl::string_view expected) {
    if (absl::ConsumePrefix(&rest_, expected)) return absl::OkStatus();
    while (absl::ConsumePrefix(&expected, "\n")) {
    }
    return Expected(absl::StrCat("'", absl::StripSuffix(expected, "\n"), "'"));
  }

  absl::Status Expected(absl::string_view what) const {
    return Wrong(absl::StrCat("expected ", what, ", found '",
                              rest_.substr(0, std::min<size_t>(rest_.find('\n'), 40)), "'"));
  }
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(step_ == 0 ? std::string(what)
                                                 : absl::StrCat("step ", step_, ": ", what));
  }

  absl::string_view rest_;
  Certificate result_;
  std::map<std::string, SizeRange> result_sizes_;
  int64_t step_ = 0;
};

}  // namespace

bool IsCertificate(absl::string_view text) {
  return absl::StartsWith(text, certificate_text::kFormat);
}

absl::StatusOr<Certificate> ParseCertificate(absl::string_view text) {
  const size_t end = text.rfind(certificate_text::kChecksum);
  if (end == text.npos || text.substr(end) != absl::StrCat(certificate_text::kChecksum,
                                                           Sha256Of(text.substr(0, end)), "\n")) {
    return absl::InvalidArgumentError(
        "the certificate is not as it was written: its checksum is another");
  }
  LEMMA_ASSIGN_OR_RETURN(Certificate certificate, CertificateReader(text.substr(0, end)).Run());
  const std::string again = PrintCertificate(certificate);
  if (again == text) return certificate;
  const size_t at = static_cast<size_t>(
      std::mismatch(again.begin(), again.end(), text.begin(), text.end()).first - again.begin());
  const auto line = 1 + std::count(again.begin(), again.begin() + static_cast<long>(at), '\n');
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, " is not in the form that certificates are written in"));
}

}  // namespace lemma
