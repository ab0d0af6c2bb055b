// Tests whether a difference between an engine and the definitions is a fault of Lemma's rules or
// of its export.
#ifndef LEMMA_API_HUNTING_OWN_FAULTS_H_
#define LEMMA_API_HUNTING_OWN_FAULTS_H_

#include <string>

#include "api/hunting/subject.h"

namespace lemma::hunt {

// How two subjects that should be equal differ by the definitions, as text; "" if they do not
// differ. An output counts as different only if it differs both in double and as typed
// (api/hunting/judge.h), because rounding may move a value across a discontinuity in one of the two
// evaluations. Also "" if a value of either subject is not finite, or if the definitions give no
// values.
std::string DifferByDefinition(const Subject& before, const Subject& after);

// Exports the subject to ONNX and reads the exported model again. Returns how the model that was
// read differs from the subject by the definitions, or why the exported model cannot be read. In
// both cases the export is wrong, and the engine's result on the exported model says nothing about
// the engine. "" if there is no difference, or if the two models cannot be compared.
std::string WhyExportDiffers(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_OWN_FAULTS_H_
