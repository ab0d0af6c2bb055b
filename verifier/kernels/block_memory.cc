#include "verifier/kernels/block_memory.h"

#include <algorithm>

namespace lemma::kernels {

namespace {
// The copy engine is none of the threads.
constexpr int kNoThread = -2;
}  // namespace

BlockMemory::BlockMemory(int64_t bytes, int roles, int threads)
    : bytes_(bytes),
      roles_(roles),
      cells_((bytes + kCellBytes - 1) / kCellBytes),
      clock_(roles),
      met_(roles),
      passed_(roles),
      committed_at_(roles),
      begins_(roles),
      warp_begins_((threads + 31) / 32),
      groups_(roles),
      done_(roles),
      turn_(roles),
      turn_clock_(roles),
      turn_met_(roles),
      turn_passed_(roles),
      took_(roles) {
  Begin();
}

void BlockMemory::Begin() {
  ++block_;
  block_begins_ = ++moment_;
  for (int r = 0; r < roles_; ++r) {
    clock_[r] = met_[r] = passed_[r] = {};
    clock_[r][r] = 1;
    groups_[r] = 0;
    done_[r].clear();
    committed_at_[r].clear();
    turn_[r] = false;
    turn_clock_[r] = turn_met_[r] = turn_passed_[r] = {};
    took_[r] = 0;
  }
  barrier_at_.clear();
  barriers_.clear();
}

void BlockMemory::Join(Clock* to, const Clock& from) const {
  for (int r = 0; r < roles_; ++r) (*to)[r] = std::max((*to)[r], from[r]);
}

bool BlockMemory::PhaseIsKnown(int role, const Barrier& barrier, int64_t phase) const {
  if (phase >= static_cast<int64_t>(barrier.waited.size())) return false;
  for (int r = 0; r < roles_; ++r) {
    const int64_t waited = barrier.waited[phase][r];
    if (waited > 0 && Knows(role, r, waited)) return true;
  }
  return false;
}

const char* BlockMemory::CheckWrite(const Access& who, const Cell& cell, int64_t number) const {
  if (cell.is_barrier) return "writes the memory of a barrier";
  if (cell.kind != Kind::kNone) {
    const bool known = cell.barrier >= 0
                           ? PhaseIsKnown(who.role, barriers_[cell.barrier], cell.phase)
                           : Ordered(who, cell.written);
    if (!known) return "writes shared memory that is being written, without a barrier between";
  }
  if (!Ordered(who, cell.read)) {
    return "a thread writes shared memory that another one reads, without a barrier between";
  }
  for (int r = 0; cell.has_products && r < roles_; ++r) {
    const int64_t group = products_[number][r] - 1;
    if (group < 0) continue;
    const bool over =
        group < static_cast<int64_t>(done_[r].size()) && Knows(who.role, r, done_[r][group]);
    if (!over) return "writes shared memory that a product may still read";
  }
  return "";
}

void BlockMemory::Meet(const std::vector<int>& roles) {
  Clock all = {}, met = {}, passed = {};
  for (int r : roles) {
    met_[r][r] = passed_[r][r] = clock_[r][r];
    Join(&all, clock_[r]);
    Join(&met, met_[r]);
    Join(&passed, passed_[r]);
  }
  for (int r : roles) {
    Join(&clock_[r], all);
    Join(&met_[r], met);
    Join(&passed_[r], passed);
    ++clock_[r][r];
    begins_[r] = ++moment_;
  }
}

BlockMemory::Barrier* BlockMemory::Find(int64_t at) {
  const auto found = barrier_at_.find(at);
  if (found == barrier_at_.end() || !barriers_[found->second].published) return nullptr;
  return &barriers_[found->second];
}

const char* BlockMemory::InitBarrier(const Access& who, int64_t at, int64_t count) {
  constexpr int64_t kBytes = 8, kMostArrivals = (1 << 20) - 1;
  if (at % kBytes != 0 || at < 0 || at + kBytes > bytes_) return "a barrier outside its memory";
  if (count < 1 || count > kMostArrivals) return "a barrier with another count";
  for (int64_t cell = at / kCellBytes; cell < (at + kBytes) / kCellBytes; ++cell) {
    Cell& c = At(cell);
    if (c.is_barrier || c.kind != Kind::kNone) return "a barrier in memory that is in use";
    c.is_barrier = true;
  }
  barrier_at_[at] = static_cast<int>(barriers_.size());
  barriers_.emplace_back();
  barriers_.back().count = count;
  barriers_.back().made_by = who.role;
  barriers_.back().thread = who.thread;
  return "";
}

void BlockMemory::PublishBarriers(const Access& who) {
  for (Barrier& barrier : barriers_) {
    if (barrier.published || barrier.thread != who.thread) continue;
    barrier.published = true;
    barrier.made_at = clock_[who.role][who.role];
  }
}

const char* BlockMemory::EndPhase(Barrier* barrier) {
  if (barrier->arrivals > barrier->count) return "too many arrivals at a barrier";
  if (barrier->arrivals < barrier->count || barrier->bytes != 0) return "";
  const int64_t phase = barrier->phase;
  // A role that has not seen the phase before would take this one's end for that one's.
  for (int r = 0; phase > 0 && r < roles_; ++r) {
    const bool waits = barrier->waits[r] > 0;
    const int64_t waited = barrier->waited[phase - 1][r];
    if (waits && (waited == 0 || barrier->passed[r] < waited)) {
      return "a phase of a barrier ends before all have seen the one before";
    }
  }
  barrier->released.push_back(barrier->release);
  barrier->released_passed.push_back(barrier->passed);
  barrier->waited.emplace_back();
  barrier->copied.push_back(barrier->copies);
  barrier->waited.back() = {};
  barrier->release = barrier->passed = {};
  barrier->arrivals = 0;
  barrier->copies = false;
  ++barrier->phase;
  return "";
}

const char* BlockMemory::Arrive(int role, int64_t at, int64_t bytes, bool all) {
  Barrier* barrier = Find(at);
  if (barrier == nullptr) return "a barrier that is not made and published";
  if (!Knows(role, barrier->made_by, barrier->made_at)) return "a barrier that is not known yet";
  if (bytes < 0) return "a barrier that waits for fewer bytes than none";
  if (barrier->phase > 0 && !PhaseIsKnown(role, *barrier, barrier->phase - 1)) {
    return "arrives at a barrier before the phase before is known to be over";
  }
  Join(&barrier->release, clock_[role]);
  Join(&barrier->passed, passed_[role]);
  if (all) barrier->passed[role] = clock_[role][role];
  ++clock_[role][role];
  barrier->bytes += bytes;
  ++barrier->arrivals;
  return EndPhase(barrier);
}

const char* BlockMemory::Wait(int role, int64_t at, int64_t parity, bool* ready) {
  *ready = false;
  Barrier* barrier = Find(at);
  if (barrier == nullptr) return "a barrier that is not made and published";
  if (!Knows(role, barrier->made_by, barrier->made_at)) return "a barrier that is not known yet";
  const int64_t phase = barrier->waits[role];
  if (parity != phase % 2) return "waits for another phase of a barrier than the next one";
  if (barrier->phase <= phase) return "";
  if (barrier->phase > phase + 1)
    return "a phase of a barrier ends before all have seen the one before";
  Join(&clock_[role], barrier->released[phase]);
  Join(&passed_[role], barrier->released_passed[phase]);
  ++clock_[role][role];
  barrier->waited[phase][role] = clock_[role][role];
  ++barrier->waits[role];
  *ready = true;
  return "";
}

const char* BlockMemory::End() const {
  for (const Barrier& barrier : barriers_) {
    if (barrier.bytes != 0 || barrier.copies) return "a copy is under way when the block ends";
    for (size_t phase = 0; phase < barrier.waited.size(); ++phase) {
      const Clock& waited = barrier.waited[phase];
      const bool seen = std::any_of(waited.begin(), waited.end(), [](int64_t w) { return w > 0; });
      if (barrier.copied[phase] && !seen) return "nobody waits for a copy";
    }
  }
  return "";
}

const char* BlockMemory::Copy(int role, int64_t cell, int64_t barrier, int64_t value) {
  const auto found = barrier_at_.find(barrier);
  if (Find(barrier) == nullptr) return "a barrier that is not made and published";
  Cell& c = At(cell);
  const char* what = CheckWrite({role, kNoThread, kNoThread}, c, cell);
  if (*what != 0) return what;
  if (c.kind != Kind::kNone && c.barrier < 0) {
    return "the copy engine writes where threads wrote, without a fence between";
  }
  Barrier& b = barriers_[found->second];
  // Else its bytes may count for that phase.
  if (b.phase > 0 && !PhaseIsKnown(role, b, b.phase - 1)) {
    return "a copy begins before the phase before is known to be over";
  }
  c.kind = Kind::kHalf;
  c.value = value;
  c.barrier = found->second;
  c.phase = static_cast<int32_t>(b.phase);
  c.has_products = false;
  b.copies = true;
  return "";
}

const char* BlockMemory::EndCopy(int64_t barrier, int64_t bytes) {
  Barrier* b = Find(barrier);
  if (b == nullptr) return "a barrier that is not made and published";
  b->bytes -= bytes;
  return EndPhase(b);
}

const char* BlockMemory::ReadForProduct(int role, int64_t cell, int64_t* value) {
  Cell& c = At(cell);
  if (c.kind == Kind::kNone) return "a product reads shared memory that nothing wrote";
  if (c.kind != Kind::kHalf || c.barrier < 0) {
    return "a product reads shared memory that the copy engine did not write";
  }
  const Barrier& b = barriers_[c.barrier];
  const bool waited =
      c.phase < static_cast<int64_t>(b.waited.size()) && b.waited[c.phase][role] > 0;
  if (!waited) return "a product reads what a copy may still write";
  if (products_.empty()) products_.resize(cells_.size());
  if (!c.has_products) products_[cell] = {};
  c.has_products = true;
  products_[cell][role] = static_cast<int32_t>(groups_[role]) + 1;
  *value = c.value;
  return "";
}

void BlockMemory::CompleteProducts(int role, int64_t groups) {
  while (static_cast<int64_t>(done_[role].size()) < groups_[role] - groups) {
    int64_t& passed = passed_[role][role];
    passed = std::max(passed, committed_at_[role][done_[role].size()]);
    done_[role].push_back(clock_[role][role]);
  }
}

const char* BlockMemory::PassTurn(int role, int to) {
  if (to < 0 || to >= roles_) return "a turn of no role";
  if (turn_[to]) return "a turn is passed on twice";
  // Else two turns may be passed before one is taken.
  if (!Knows(role, to, took_[to])) return "a turn is passed on before the one before is taken";
  turn_[to] = true;
  turn_clock_[to] = clock_[role];
  met_[role][role] = clock_[role][role];
  turn_met_[to] = met_[role];
  turn_passed_[to] = passed_[role];
  turn_passed_[to][role] = clock_[role][role];
  ++clock_[role][role];
  return "";
}

const char* BlockMemory::TakeTurn(int role, bool* ready) {
  *ready = turn_[role];
  if (!*ready) return "";
  turn_[role] = false;
  Join(&clock_[role], turn_clock_[role]);
  Join(&met_[role], turn_met_[role]);
  Join(&passed_[role], turn_passed_[role]);
  passed_[role][role] = clock_[role][role];
  took_[role] = clock_[role][role];
  return "";
}

}  // namespace lemma::kernels
