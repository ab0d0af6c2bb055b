#include "verifier/referee/certificate/certificate.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "graph/text/lexer.h"

namespace lemma::referee {
namespace {

constexpr absl::string_view kFormat = "lemma referee certificate ";
constexpr int kVersion = 1;
constexpr absl::string_view kChecksum = "\nsha256 ";
constexpr Known kAllKnown[] = {Known::kAny, Known::kZeroOrOne, Known::kNotNegative,
                               Known::kNotPositive, Known::kElements};
constexpr absl::string_view kGraphs = "bfa";  // by ValueName::Graph

class Reader {
 public:
  // `text` without its checksum.
  explicit Reader(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  absl::StatusOr<RefereeCertificate> Run() {
    if (Line() != absl::StrCat(kFormat, kVersion)) {
      return absl::InvalidArgumentError("the certificate has another version than this program");
    }
    ++at_;
    LEMMA_RETURN_IF_ERROR(Text("before ", &result_.before_file));
    LEMMA_RETURN_IF_ERROR(Text("after ", &result_.after_file));
    while (absl::StartsWith(Line(), "dim ")) LEMMA_RETURN_IF_ERROR(Dim());
    while (absl::StartsWith(Line(), "symbolic ")) LEMMA_RETURN_IF_ERROR(Symbolic());
    LEMMA_RETURN_IF_ERROR(Number("channel_block ", &result_.channel_block));
    std::string contract;
    LEMMA_RETURN_IF_ERROR(Text("contract ", &contract));
    const auto known = ParseFloatContract(contract);
    if (!known) return Expected("a contract", -1);
    result_.contract = *known;
    LEMMA_RETURN_IF_ERROR(Formulas());
    LEMMA_RETURN_IF_ERROR(Weights());
    LEMMA_RETURN_IF_ERROR(Regions());
    return std::move(result_);
  }

 private:
  absl::string_view Line() const { return at_ < lines_.size() ? lines_[at_] : absl::string_view(); }

  absl::Status Expected(absl::string_view what, int line = 0) const {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", at_ + 1 + static_cast<size_t>(line), ": expected ", what));
  }

  absl::Status Text(absl::string_view prefix, std::string* text) {
    absl::string_view line = Line();
    if (!absl::ConsumePrefix(&line, prefix)) return Expected(absl::StrCat("\"", prefix, "…\""));
    *text = std::string(line);
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Number(absl::string_view prefix, int64_t* number) {
    std::string text;
    LEMMA_RETURN_IF_ERROR(Text(prefix, &text));
    if (absl::SimpleAtoi(text, number) && *number >= 0) return absl::OkStatus();
    return Expected("a number", -1);
  }

  // The same behind an empty line.
  absl::Status Count(absl::string_view prefix, int64_t* count) {
    if (!Line().empty()) return Expected("an empty line");
    ++at_;
    return Number(prefix, count);
  }

  // The name and `count` numbers behind the first word of the line.
  absl::Status NameAndNumbers(size_t count, std::string* name, std::vector<int64_t>* numbers) {
    auto tokens = text::Tokenize(Line(), "");
    if (!tokens.ok() || tokens->size() != count + 3) return Expected("a name and sizes");
    *name = (*tokens)[1].text;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = (*tokens)[2 + i].integer;
      if (number < 1 || number > static_cast<uint64_t>(SizeRange::kNoLimit)) {
        return Expected("a size");
      }
      numbers->push_back(static_cast<int64_t>(number));
    }
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Dim() {
    std::string name;
    std::vector<int64_t> size;
    LEMMA_RETURN_IF_ERROR(NameAndNumbers(1, &name, &size));
    result_.dims[name] = size[0];
    return absl::OkStatus();
  }

  absl::Status Symbolic() {
    std::string name;
    std::vector<int64_t> range;
    LEMMA_RETURN_IF_ERROR(NameAndNumbers(2, &name, &range));
    if (range[0] > range[1]) return Expected("a range of sizes", -1);
    result_.symbolic[name] = {range[0], range[1]};
    return absl::OkStatus();
  }

  absl::Status Formulas() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("formulas ", &count));
    if (count > static_cast<int64_t>(lines_.size() - at_)) return Expected("fewer lines", -1);
    for (int64_t i = 0; i < count; ++i) absl::StrAppend(&result_.formulas, lines_[at_++], "\n");
    return absl::OkStatus();
  }

  absl::Status Weights() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("weights ", &count));
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<absl::string_view> sides = absl::StrSplit(Line(), " = ");
      if (sides.size() != 2) return Expected("a weight and a value");
      auto& [after, before] = result_.weights.emplace_back();
      if (!Value(sides[0], &after) || !Value(sides[1], &before)) return Expected("two values");
      ++at_;
    }
    return absl::OkStatus();
  }

  absl::Status Regions() {
    int64_t count = 0;
    LEMMA_RETURN_IF_ERROR(Count("regions ", &count));
    for (int64_t i = 0; i < count; ++i) {
      CertifiedRegion& region = result_.regions.emplace_back();
      absl::string_view line = Line();
      if (absl::ConsumePrefix(&line, "output ")) {
        const size_t end = std::min(line.find(' '), line.size());
        if (!absl::SimpleAtoi(line.substr(0, end), &region.output) || region.output < 0) {
          return Expected("an output's number");
        }
        line.remove_prefix(std::min(end + 1, line.size()));
      } else if (!absl::ConsumePrefix(&line, "region ")) {
        return Expected("a region");
      }
      const std::vector<absl::string_view> sides = absl::StrSplit(line, " = ");
      if (sides.size() != 2 || !Value(sides[0], &region.after) ||
          !Value(sides[1], &region.before)) {
        return Expected("two values");
      }
      ++at_;
      while (absl::StartsWith(Line(), "  ")) LEMMA_RETURN_IF_ERROR(Cut(&region));
    }
    return absl::OkStatus();
  }

  absl::Status Cut(CertifiedRegion* region) {
    const std::vector<absl::string_view> words = absl::StrSplit(Line().substr(2), ' ');
    auto& [value, known] = region->cuts.emplace_back();
    if (words.size() != 2 || !Value(words[0], &value)) return Expected("a value");
    for (const Known one : kAllKnown) {
      if (words[1] != Name(one)) continue;
      known = one;
      ++at_;
      return absl::OkStatus();
    }
    return Expected("any, zero_or_one, not_negative, not_positive or elements");
  }

  static bool Value(absl::string_view text, ValueName* value) {
    auto name = ParseValueName(text);
    if (name.ok()) *value = *name;
    return name.ok();
  }

  const std::vector<absl::string_view> lines_;
  size_t at_ = 0;
  RefereeCertificate result_;
};

std::string PrintWithoutChecksum(const RefereeCertificate& c) {
  std::string out =
      absl::StrCat(kFormat, kVersion, "\nbefore ", c.before_file, "\nafter ", c.after_file, "\n");
  for (const auto& [name, size] : c.dims) {
    absl::StrAppend(&out, "dim ", text::QuoteName(name), " ", size, "\n");
  }
  for (const auto& [name, range] : c.symbolic) {
    absl::StrAppend(&out, "symbolic ", text::QuoteName(name), " ", range.least, " ", range.most,
                    "\n");
  }
  absl::StrAppend(&out, "channel_block ", c.channel_block, "\ncontract ", Name(c.contract), "\n");
  absl::StrAppend(&out, "\nformulas ", std::count(c.formulas.begin(), c.formulas.end(), '\n'), "\n",
                  c.formulas);
  absl::StrAppend(&out, "\nweights ", c.weights.size(), "\n");
  for (const auto& [after, before] : c.weights) {
    absl::StrAppend(&out, Print(after), " = ", Print(before), "\n");
  }
  absl::StrAppend(&out, "\nregions ", c.regions.size(), "\n");
  for (const CertifiedRegion& region : c.regions) {
    out += region.output < 0 ? "region " : absl::StrCat("output ", region.output, " ");
    absl::StrAppend(&out, Print(region.after), " = ", Print(region.before), "\n");
    for (const auto& [value, known] : region.cuts) {
      absl::StrAppend(&out, "  ", Print(value), " ", Name(known), "\n");
    }
  }
  return out;
}

}  // namespace

std::string Print(const ValueName& name) {
  std::string text =
      absl::StrCat(kGraphs.substr(static_cast<size_t>(name.graph), 1), name.position);
  if (name.output != 0) absl::StrAppend(&text, ".", name.output);
  return text;
}

absl::StatusOr<ValueName> ParseValueName(absl::string_view text) {
  ValueName value;
  const size_t graph = text.empty() ? absl::string_view::npos : kGraphs.find(text[0]);
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(text.empty() ? text : text.substr(1), '.');
  if (graph == absl::string_view::npos || numbers.size() > 2 ||
      !absl::SimpleAtoi(numbers[0], &value.position) ||
      (numbers.size() == 2 && !absl::SimpleAtoi(numbers[1], &value.output))) {
    return absl::InvalidArgumentError(absl::StrCat(text, " names no value"));
  }
  value.graph = static_cast<ValueName::Graph>(graph);
  return value;
}

std::string Print(const RefereeCertificate& certificate) {
  const std::string text = PrintWithoutChecksum(certificate);
  return absl::StrCat(text, kChecksum, Sha256Of(text), "\n");
}

bool IsRefereeCertificate(absl::string_view text) { return absl::StartsWith(text, kFormat); }

absl::StatusOr<RefereeCertificate> ParseRefereeCertificate(absl::string_view text) {
  const size_t end = text.rfind(kChecksum);
  if (end == absl::string_view::npos) {
    return absl::InvalidArgumentError("the certificate has no checksum: its end is missing");
  }
  const absl::string_view checked = text.substr(0, end);
  if (text.substr(end) != absl::StrCat(kChecksum, Sha256Of(checked), "\n")) {
    return absl::InvalidArgumentError("the checksum is wrong: the certificate was changed");
  }
  LEMMA_ASSIGN_OR_RETURN(RefereeCertificate certificate, Reader(checked).Run());
  // One text for each content.
  if (Print(certificate) != text) {
    return absl::InvalidArgumentError("the certificate is not written as Lemma writes it");
  }
  return certificate;
}

}  // namespace lemma::referee
