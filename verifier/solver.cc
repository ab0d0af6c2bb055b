#include "verifier/solver.h"

#include <z3.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace lemma::verify {
namespace {

// Answers by limit and text, up to an amount of text; then from the beginning.
class Memory {
 public:
  std::optional<Satisfiable> Find(uint32_t rlimit, const std::string& script) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = answers_.find({rlimit, script});
    return it == answers_.end() ? std::nullopt : std::optional<Satisfiable>(it->second);
  }
  void Add(uint32_t rlimit, const std::string& script, Satisfiable answer) {
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
  std::map<std::pair<uint32_t, std::string>, Satisfiable> answers_;
  size_t bytes_ = 0;
};

Memory& Remembered() {
  static Memory& memory = *new Memory;
  return memory;
}

Satisfiable AskZ3(const std::string& script, uint32_t rlimit) {
  Z3_config config = Z3_mk_config();
  Z3_context context = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(context, [](Z3_context, Z3_error_code) {});
  const bool nonlinear = script.find("QF_NIA") != std::string::npos;
  Z3_solver solver = Z3_mk_solver_for_logic(
      context, Z3_mk_string_symbol(context, nonlinear ? "QF_NIA" : "QF_LIA"));
  Z3_solver_inc_ref(context, solver);
  Z3_params params = Z3_mk_params(context);
  Z3_params_inc_ref(context, params);
  Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "rlimit"), rlimit);
  Z3_solver_set_params(context, solver, params);
  Z3_solver_from_string(context, solver, script.c_str());
  // A script that does not parse must not look like an easy question.
  Satisfiable result = Satisfiable::kUnknown;
  if (Z3_get_error_code(context) == Z3_OK) {
    const Z3_lbool answer = Z3_solver_check(context, solver);
    if (answer == Z3_L_FALSE) result = Satisfiable::kNo;
    if (answer == Z3_L_TRUE) result = Satisfiable::kYes;
  }
  Z3_params_dec_ref(context, params);
  Z3_solver_dec_ref(context, solver);
  Z3_del_context(context);
  return result;
}

}  // namespace

Satisfiable Solver::Check(const std::string& script, uint32_t rlimit) {
  ++queries_;
  if (auto known = Remembered().Find(rlimit, script)) return *known;
  const Satisfiable answer = AskZ3(script, rlimit);
  Remembered().Add(rlimit, script, answer);
  return answer;
}

}  // namespace lemma::verify
