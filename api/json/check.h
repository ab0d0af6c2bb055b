// Writes the results of checks as JSON.
#ifndef LEMMA_API_JSON_CHECK_H_
#define LEMMA_API_JSON_CHECK_H_

#include <string>

#include "api/check.h"
#include "base/json.h"

namespace lemma::api {

// An object with ok, step and problem. `advice`, a text of the caller, is appended to problem. If
// ok is true, also steps, rules and folds (how many of each), result, contract, dims (with the
// sizes of CheckResult::assumed), symbolic (least and most for each name), fixed_inputs, reseed,
// mutants, seed, samples, elements, laws (the number CertificateCheck::steps_in_double), by_steps
// and bodies, as in Certificate and CertificateCheck.
Json ToJson(const CheckResult& answer, const std::string& advice = "");

// An object with the fields of PlanCheck, and ok. `backend` is the back end whose plan was checked;
// for "cuda" the object has launches (the number of launches) instead of proved and in_blocks.
Json ToJson(const PlanCheck& check, const std::string& backend);
// An object with ok, problem, seed, kernels (the number of all kernels), agree (the number of
// kernels that agree), and programs: a list of objects with the fields of CheckedProgram except
// uses. In them, kernels is the number of kernels times the number of uses.
Json ToJson(const KernelCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_CHECK_H_
