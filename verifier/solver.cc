#include "verifier/solver.h"

#include <z3.h>

namespace lemma::verify {

Solver::Solver() = default;
Solver::~Solver() = default;

Satisfiable Solver::Check(const std::string& script, uint32_t rlimit) {
  ++queries_;
  auto [it, added] = cache_.emplace(script, Satisfiable::kUnknown);
  if (!added) {
    ++hits_;
    return it->second;
  }
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
  if (Z3_get_error_code(context) == Z3_OK) {
    const Z3_lbool answer = Z3_solver_check(context, solver);
    if (answer == Z3_L_FALSE) it->second = Satisfiable::kNo;
    if (answer == Z3_L_TRUE) it->second = Satisfiable::kYes;
  }
  Z3_params_dec_ref(context, params);
  Z3_solver_dec_ref(context, solver);
  Z3_del_context(context);
  return it->second;
}

}  // namespace lemma::verify
