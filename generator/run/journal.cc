#include "generator/run/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "generator/run/bytes.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::generator {
namespace {

// The first record holds this and the run; each other record holds a candidate and its decision.
constexpr char kJournalMagic[] = "lemma journal, format 1";
constexpr int64_t kMostJournalBytes = int64_t{1} << 36;
// A record: the length of its payload, a check of the length and the record's position, a check of
// the payload, the payload.
constexpr size_t kHeadBytes = 24;

uint64_t LengthCheck(uint64_t length, uint64_t place) { return HashCombine(place, length); }

absl::Status SystemError(const std::string& path, const char* action) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": cannot ", action, " (", std::strerror(errno), ")"));
}

std::string TextOf(const Substitution& candidate) {
  Substitution nameless = candidate;
  nameless.name = "candidate";
  return PrintRule(nameless);
}

std::string BytesOf(const Decision& decision) {
  ByteWriter out;
  out.Number(static_cast<uint64_t>(decision.answer));
  out.Bytes(PrintRule(decision.rule));
  out.Bytes(decision.reason);
  return out.bytes();
}

std::optional<Decision> DecisionOf(absl::string_view bytes) {
  ByteReader in(bytes);
  Decision decision;
  const uint64_t answer = in.Number();
  auto rules = ParseRules(in.Bytes());
  decision.reason = std::string(in.Bytes());
  if (!in.ok() || !in.rest().empty() || !rules.ok() || rules->size() != 1 ||
      answer > static_cast<uint64_t>(Decision::Answer::kUnknown)) {
    return std::nullopt;
  }
  decision.answer = static_cast<Decision::Answer>(answer);
  decision.rule = std::move(rules->front());
  return decision;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path, const RunId& run) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return SystemError(path, "write");
  std::unique_ptr<Journal> journal(new Journal(path, file));
  LEMMA_RETURN_IF_ERROR(journal->Lock());
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMostJournalBytes));
  LEMMA_RETURN_IF_ERROR(journal->Read(bytes));
  if (journal->end_ < static_cast<int64_t>(bytes.size()) && ftruncate(file, journal->end_) != 0) {
    return SystemError(path, "write");
  }
  if (journal->end_ > 0) return journal;
  journal->run_ = run;
  ByteWriter head;
  head.Bytes(kJournalMagic);
  run.Write(&head);
  LEMMA_RETURN_IF_ERROR(journal->AddRecord(head.bytes()));
  return journal;
}

Journal::~Journal() {
  if (is_dirty_) fdatasync(file_);
  close(file_);
}

int64_t Journal::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(decided_.size());
}

absl::Status Journal::Lock() {
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return SystemError(path_, "lock");
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": another lemma generate is at work on it"));
}

absl::Status Journal::Read(const std::string& bytes) {
  const absl::Status damaged = absl::InvalidArgumentError(
      absl::StrCat(path_, ": is damaged; if you delete it, what it holds is decided again"));
  absl::string_view rest = bytes;
  while (rest.size() >= kHeadBytes) {
    ByteReader head(rest);
    const uint64_t length = head.Fixed();
    if (head.Fixed() != LengthCheck(length, end_)) {
      // A machine crash may leave zeros after the written data.
      if (rest.find_first_not_of('\0') == absl::string_view::npos) break;
      return damaged;
    }
    const uint64_t check = head.Fixed();
    if (head.rest().size() < length) break;
    const absl::string_view payload = head.rest().substr(0, length);
    const bool is_last = head.rest().size() == length;
    if (HashString(payload) != check) {
      if (is_last) break;
      return damaged;
    }
    ByteReader in(payload);
    if (end_ == 0) {
      if (in.Bytes() != kJournalMagic) return damaged;
      run_ = RunId::Read(&in);
      if (!in.ok()) return damaged;
    } else {
      const absl::string_view candidate = in.Bytes();
      if (!in.ok()) return damaged;
      decided_.emplace(candidate, in.rest());
    }
    rest.remove_prefix(kHeadBytes + length);
    end_ += static_cast<int64_t>(kHeadBytes + length);
  }
  // Not the begin of a first record, whose length takes less than five bytes: another file.
  const bool has_numbers = rest.find_first_not_of('\0') != absl::string_view::npos;
  if (end_ == 0 && has_numbers && (rest.size() < 5 || rest[4] != '\0')) return damaged;
  return absl::OkStatus();
}

std::optional<Decision> Journal::Find(const Substitution& candidate) const {
  std::string bytes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = decided_.find(TextOf(candidate));
    if (it == decided_.end()) return std::nullopt;
    bytes = it->second;
  }
  std::optional<Decision> decision = DecisionOf(bytes);
  if (decision) decision->rule.name = candidate.name;
  return decision;
}

absl::Status Journal::Add(const Substitution& candidate, const Decision& decision) {
  const std::string text = TextOf(candidate), rest = BytesOf(decision);
  ByteWriter payload;
  payload.Bytes(text);
  std::lock_guard<std::mutex> lock(mutex_);
  LEMMA_RETURN_IF_ERROR(AddRecord(absl::StrCat(payload.bytes(), rest)));
  decided_.emplace(text, rest);
  return absl::OkStatus();
}

absl::Status Journal::AddRecord(const std::string& payload) {
  if (!failure_.ok()) return failure_;
  ByteWriter head;
  head.Fixed(payload.size());
  head.Fixed(LengthCheck(payload.size(), end_));
  head.Fixed(HashString(payload));
  const std::string record = absl::StrCat(head.bytes(), payload);
  absl::string_view left = record;
  while (!left.empty()) {
    const ssize_t n = write(file_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure_ = SystemError(path_, "write");
    left.remove_prefix(static_cast<size_t>(n));
  }
  end_ += static_cast<int64_t>(record.size());
  const auto now = std::chrono::steady_clock::now();
  is_dirty_ = now - synced_ <= std::chrono::seconds(1);
  if (!is_dirty_) {
    if (fdatasync(file_) != 0) return failure_ = SystemError(path_, "write");
    synced_ = now;
  }
  return absl::OkStatus();
}

}  // namespace lemma::generator
