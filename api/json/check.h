// Writes the results of checks as JSON.
#ifndef LEMMA_API_JSON_CHECK_H_
#define LEMMA_API_JSON_CHECK_H_

#include <string>

#include "api/check.h"
#include "base/json.h"

namespace lemma::api {

// An object with ok, step and problem (with `advice`, a text of the caller, behind it). If ok, also
// steps, rules, folds (numbers), result, contract, dims, symbolic, fixed_inputs, reseed, mutants,
// seed, samples, elements and laws, as in Certificate and CertificateCheck.
Json ToJson(const CheckResult& answer, const std::string& advice = "");

// An object with the fields of PlanCheck, and ok. `backend`: whose plan was checked; for "cuda"
// with launches, their number, instead of proved.
Json ToJson(const PlanCheck& check, const std::string& backend);
// An object with ok, problem, seed, kernels and agree (numbers), and programs: a list with the
// fields of CheckedProgram except uses, where kernels counts all uses.
Json ToJson(const KernelCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_CHECK_H_
