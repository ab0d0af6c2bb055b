#include "verifier/arithmetic/solver.h"

#include <z3.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/work.h"

namespace lemma::prover {
namespace {

// In steps of work, which take about as long.
constexpr int64_t kWorkPerQuery = 10000, kWorkPerResource = 5;

struct Answer {
  Satisfiable satisfiable = Satisfiable::kUnknown;
  int64_t resources = 0;  // as Z3 counts them
};

// A cache of answers by limit and text. It is cleared when it exceeds an amount of text.
class Memory {
 public:
  std::optional<Answer> Find(uint32_t rlimit, const std::string& script) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = answers_.find({rlimit, script});
    return it == answers_.end() ? std::nullopt : std::optional<Answer>(it->second);
  }
  void Add(uint32_t rlimit, const std::string& script, Answer answer) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes_ > kMaxBytes) {
      answers_.clear();
      bytes_ = 0;
    }
    if (answers_.emplace(std::make_pair(rlimit, script), answer).second) bytes_ += script.size();
  }

 private:
  static constexpr size_t kMaxBytes = size_t{32} << 20;

  std::mutex mutex_;
  std::map<std::pair<uint32_t, std::string>, Answer> answers_;
  size_t bytes_ = 0;
};

Memory& Remembered() {
  static Memory& memory = *new Memory;
  return memory;
}

// Resources of the only check made in `context`.
int64_t ResourcesSpent(Z3_context context, Z3_solver solver) {
  const Z3_stats stats = Z3_solver_get_statistics(context, solver);
  Z3_stats_inc_ref(context, stats);
  int64_t spent = 0;
  for (unsigned i = 0; i < Z3_stats_size(context, stats); ++i) {
    if (std::string(Z3_stats_get_key(context, stats, i)) != "rlimit count") continue;
    spent = Z3_stats_get_uint_value(context, stats, i);
  }
  Z3_stats_dec_ref(context, stats);
  return spent;
}

Answer AskZ3(const std::string& script, uint32_t rlimit) {
  Z3_config config = Z3_mk_config();
  Z3_context context = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(context, [](Z3_context, Z3_error_code) {});
  const char* logic = script.find("QF_NRA") != std::string::npos   ? "QF_NRA"
                      : script.find("QF_NIA") != std::string::npos ? "QF_NIA"
                                                                   : "QF_LIA";
  Z3_solver solver = Z3_mk_solver_for_logic(context, Z3_mk_string_symbol(context, logic));
  Z3_solver_inc_ref(context, solver);
  Z3_params params = Z3_mk_params(context);
  Z3_params_inc_ref(context, params);
  Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "rlimit"), rlimit);
  Z3_solver_set_params(context, solver, params);
  Z3_solver_from_string(context, solver, script.c_str());
  // A script that does not parse must not count as answered.
  Answer result;
  if (Z3_get_error_code(context) == Z3_OK) {
    const Z3_lbool answer = Z3_solver_check(context, solver);
    if (answer == Z3_L_FALSE) result.satisfiable = Satisfiable::kNo;
    if (answer == Z3_L_TRUE) result.satisfiable = Satisfiable::kYes;
    result.resources = ResourcesSpent(context, solver);
  }
  Z3_params_dec_ref(context, params);
  Z3_solver_dec_ref(context, solver);
  Z3_del_context(context);
  return result;
}

}  // namespace

Satisfiable Solver::Check(const std::string& script, uint32_t rlimit) {
  ++queries_;
  std::optional<Answer> answer = Remembered().Find(rlimit, script);
  if (!answer) {
    answer = AskZ3(script, rlimit);
    Remembered().Add(rlimit, script, *answer);
  }
  // Charged for cached answers too, so that work does not depend on earlier questions.
  SpendWork(kWorkPerQuery + answer->resources * kWorkPerResource);
  return answer->satisfiable;
}

}  // namespace lemma::prover
