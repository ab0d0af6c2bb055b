// Tests whether a difference between an engine and the definitions is a fault of Lemma's rules or
// of its export.
#ifndef LEMMA_API_HUNTING_OWN_FAULTS_H_
#define LEMMA_API_HUNTING_OWN_FAULTS_H_

#include <string>

#include "api/hunting/subject.h"

namespace lemma::hunt {

// How two subjects that should be equal differ by the definitions. "" unless an output differs both
// in double and as typed (api/hunting/judge.h): rounding may take a value across a discontinuity in
// one of them. "" also if a value of either is not finite, or if the definitions give none.
std::string DifferByDefinition(const Subject& before, const Subject& after);

// How the subject, exported to ONNX and read again, differs from itself by the definitions. If it
// does, the exported model is not the subject, and an engine's result says nothing. "" if it does
// not, or if the definitions give no values.
std::string WhyExportDiffers(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_OWN_FAULTS_H_
