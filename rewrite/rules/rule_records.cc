// Changes proof records in a text of rules, in place.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/text/lexer.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

// The offset of a position in `text`.
size_t OffsetOf(absl::string_view text, text::Position position) {
  size_t line = 0;
  for (int i = 1; i < position.line; ++i) line = text.find('\n', line) + 1;
  return line + static_cast<size_t>(position.column) - 1;
}

}  // namespace

absl::StatusOr<FloatContract> ReadFloatContract(const text::Name& name, absl::string_view file) {
  if (auto contract = ParseFloatContract(name.text)) return *contract;
  return ErrorAt(file, name.position,
                 absl::StrCat("the float contract must be bit_exact, reassociates, real_only or "
                              "bounded, not ",
                              text::QuoteName(name.text)));
}

absl::StatusOr<ProofRecord> BuildRecord(const text::Record& record, absl::string_view file) {
  ProofRecord result;
  for (auto verdict : {ProofRecord::Verdict::kProved, ProofRecord::Verdict::kRefuted,
                       ProofRecord::Verdict::kUnknown}) {
    if (record.verdict.text == Name(verdict)) result.verdict = verdict;
  }
  if (result.verdict == ProofRecord::Verdict::kProved) {
    LEMMA_ASSIGN_OR_RETURN(result.contract, ReadFloatContract(record.contract, file));
  }
  result.id = record.id;
  result.detail = record.detail;
  return result;
}

std::string PrintRecord(const ProofRecord& record) {
  if (record.verdict == ProofRecord::Verdict::kNone) return "";
  const bool proved = record.verdict == ProofRecord::Verdict::kProved;
  return absl::StrCat(Name(record.verdict), " ", proved ? Name(record.contract) : "",
                      proved ? " " : "", text::Quote(record.id), " ", text::Quote(record.detail));
}

absl::StatusOr<std::string> WithRecords(absl::string_view text, absl::string_view file,
                                        const std::map<std::string, ProofRecord>& records) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<text::Block> blocks, text::ParseBlocks(text, file));
  std::string result;
  size_t copied = 0, set = 0;
  for (const text::Block& block : blocks) {
    if (!block.is_rule) continue;
    auto record = records.find(block.name.text);
    if (record == records.end()) continue;
    ++set;
    const size_t begin = OffsetOf(text, block.end);
    const std::string printed = PrintRecord(record->second);
    absl::StrAppend(&result, text.substr(copied, begin - copied), printed.empty() ? "" : "\n",
                    printed);
    copied = block.record ? OffsetOf(text, block.record->end) : begin;
  }
  if (set < records.size()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": lacks a rule that has a record"));
  }
  return absl::StrCat(result, text.substr(copied));
}

absl::StatusOr<std::string> WithContracts(absl::string_view text, absl::string_view file,
                                          const std::map<std::string, FloatContract>& contracts) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<text::Block> blocks, text::ParseBlocks(text, file));
  std::string result;
  size_t copied = 0, set = 0;
  for (const text::Block& block : blocks) {
    auto contract = block.is_rule ? contracts.find(block.name.text) : contracts.end();
    if (contract == contracts.end()) continue;
    ++set;
    const size_t begin = OffsetOf(text, block.contract.position);
    absl::StrAppend(&result, text.substr(copied, begin - copied), Name(contract->second));
    copied = begin + block.contract.text.size();
  }
  if (set < contracts.size()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": lacks a rule that has a contract"));
  }
  return absl::StrCat(result, text.substr(copied));
}

}  // namespace lemma
